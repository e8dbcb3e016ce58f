//! An MCP server as a source. It connects when it is first needed and again when the connection ended.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use futures_util::future::join_all;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue};
use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::Notify;
use toolmux_core::BoxFuture;
use toolmux_core::arguments::Arguments;
use toolmux_core::call::Call;
use toolmux_core::json_text::{RawJson, raw_of};
use toolmux_core::outcome::{Outcome, Output, ToolError};
use toolmux_core::ports::source::{Listing, Relay, Relayed, Source, SourceError};
use toolmux_core::progress::Progress;
use toolmux_core::requirements::{self, Grants};
use toolmux_core::secret::Secret;
use toolmux_core::tool::Passthrough;
use toolmux_http::client::credential_headers;

use super::authorization::{AUTHORIZE, Authorization};
use super::connecting::Connecting;
use super::connection::{Broken, Channel, Connection, UpstreamRequest};
use super::decode::{self, Called};
use super::follow::Following;
use super::outgoing_params::OutgoingParams;
use super::own_lists::OwnLists;
use super::settings::ServerAddress;
use super::{changes, listing, subscribed};
use crate::mcp::wire::{Capabilities, INTERNAL_ERROR, Params};
use crate::mcp::{LISTEN, MCP, mirror};

/// How often a server may ask for more input within one call.
const MOST_ROUNDS: usize = 16;

pub(super) struct Upstream {
    place: Arc<ServerAddress>,
    connecting: Connecting,
    /// Wakes when a user's token showed that the list is another.
    relist: Notify,
    listed: ArcSwapOption<(Listing, Passthrough)>,
    own_lists: OwnLists,
}

impl Source for Upstream {
    fn tools(&self) -> BoxFuture<'_, Result<Listing, SourceError>> {
        Box::pin(self.list())
    }

    fn call<'a>(
        &'a self,
        call: &'a Call,
        progress: &'a Progress,
    ) -> BoxFuture<'a, Result<Outcome, SourceError>> {
        Box::pin(self.run(call, progress))
    }

    fn authorization(&self) -> Option<requirements::Authorization> {
        self.place.authorization().map(|authorization| authorization.needed_by_all())
    }

    fn beside(&self) -> Passthrough {
        self.listed.load().as_ref().map(|listed| listed.1.clone()).unwrap_or_default()
    }

    fn beside_for<'a>(&'a self, grants: &'a Grants) -> BoxFuture<'a, Result<Passthrough, SourceError>> {
        Box::pin(async move {
            let Some(authorization) = self.place.authorization() else { return Ok(self.beside()) };
            let token = authorization.token(grants);
            let owner = Secret::new(token.as_ref().and_then(|token| token.to_str().ok()).unwrap_or_default());
            if let Some(known) = self.own_lists.find(&owner.sha256()) {
                return Ok(known);
            }
            let credentials = bearing(HeaderMap::new(), token);
            let read = async {
                let connection = self.connected(&credentials).await?;
                listing::beside(&connection, &credentials).await
            };
            let said = self.unless_refused(read.await, "prompts and resources", grants)?;
            self.own_lists.keep(owner.sha256(), said.clone());
            Ok(said)
        })
    }

    fn relay<'a>(
        &'a self,
        relay: &'a Relay,
        grants: &'a Grants,
        progress: &'a Progress,
    ) -> BoxFuture<'a, Result<Relayed, SourceError>> {
        Box::pin(async move {
            let params = Params::read(Some(&relay.params)).unwrap_or_default();
            let name = params.name.or(params.uri).map(Into::into);
            let capabilities = Capabilities::new(params.meta.unwrap_or_default().capabilities);
            let following = Following::new(progress, capabilities, &relay.caller);
            let token = self.place.authorization().and_then(|authorization| authorization.token(grants));
            let credentials = bearing(HeaderMap::new(), token);
            let asking = UpstreamCall {
                method: &relay.method,
                name,
                schema: None,
                credentials,
                following: &following,
            };
            let answer = async {
                if relay.method == LISTEN && self.is_legacy(&asking).await? {
                    subscribed::listen(self, &relay.params, &asking).await
                } else {
                    self.relayed(&asking, &relay.params).await
                }
            };
            self.unless_refused(answer.await, &relay.method, grants)
        })
    }

    fn changed(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.wait_for_change())
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.connecting.close())
    }
}

/// A request, whichever connection it will go by.
pub(super) struct UpstreamCall<'a> {
    pub(super) method: &'a str,
    pub(super) name: Option<String>,
    /// Of a tool whose parameters may be mirrored as headers, and its arguments.
    pub(super) schema: Option<(&'a serde_json::Value, &'a Arguments)>,
    pub(super) credentials: HeaderMap,
    pub(super) following: &'a Following<'a>,
}

impl Upstream {
    pub(super) fn new(name: &str, place: ServerAddress) -> Self {
        let place = Arc::new(place);
        Upstream {
            connecting: Connecting::new(name, Arc::clone(&place)),
            relist: Notify::new(),
            listed: ArcSwapOption::empty(),
            own_lists: OwnLists::default(),
            place,
        }
    }

    async fn list(&self) -> Result<Listing, SourceError> {
        // A child that rests because nobody calls is not woken to be asked what it has.
        let resting = self.connecting.current().is_some_and(|connection| connection.is_resting());
        if let Some(listed) = self.listed.load_full().filter(|_| resting) {
            return Ok(listed.0.clone());
        }
        let authorization = self.place.authorization();
        let read = async { self.read_all(self.connecting.connected_for_lists().await?, None).await };
        let mut listed = match (read.await, authorization) {
            (Err(Broken::Unauthorized(wanted)), Some(authorization)) => {
                authorization.list_with(None);
                match self.listed.load_full() {
                    // Whoever calls next brings a token that lists can be read with again.
                    Some(listed) => (*listed).clone(),
                    None => {
                        authorization.learn(&wanted);
                        return Ok(authorization.only_authorize());
                    }
                }
            }
            (listed, _) => listed?,
        };
        for tool in &mut listed.0.tools {
            if let Some(authorization) = authorization {
                authorization.require(tool);
            }
        }
        let listing = listed.0.clone();
        self.listed.store(Some(Arc::new(listed)));
        Ok(listing)
    }

    async fn read_all(
        &self,
        connection: Arc<Connection>,
        credentials: Option<&HeaderMap>,
    ) -> Result<(Listing, Passthrough), Broken> {
        match listing::everything(&connection, credentials).await {
            Err(Broken::SessionGone) => {
                self.connecting.forget(&connection);
                let anew = match credentials {
                    Some(credentials) => self.connected(credentials).await?,
                    None => self.connecting.connected_for_lists().await?,
                };
                listing::everything(&anew, credentials).await
            }
            listed => listed,
        }
    }

    /// Lists with the token of whoever calls. One that the broker keeps is used for later lists too. One that came
    /// with the request is not, so that what it shows now is all there is.
    async fn authorize(
        &self,
        call: &Call,
        authorization: &Arc<Authorization>,
    ) -> Result<Outcome, SourceError> {
        let token = authorization.token(call.grants());
        let is_kept = authorization.keeps(call.grants());
        if is_kept {
            authorization.list_with(token.clone());
        }
        let credentials = bearing(HeaderMap::new(), token);
        let read =
            async { self.read_all(self.connected(&credentials).await?, Some(&credentials)).await }.await;
        let mut listed = self.unless_refused(read, call.tool_name(), call.grants())?;
        let words = format!("Access was given: {} tools are there now.", listed.0.tools.len());
        if !is_kept {
            listed.0.tools.iter_mut().for_each(|tool| authorization.require(tool));
            self.listed.store(Some(Arc::new(listed)));
        }
        self.relist.notify_one();
        self.connecting.opened.notify_one();
        Ok(Outcome::Returned(Output::value(raw_of(&json!(words)))))
    }

    /// An answer, or what the server says of the token that it was shown. What it listed may be another then.
    fn unless_refused<T>(
        &self,
        answer: Result<T, Broken>,
        asked: &str,
        grants: &Grants,
    ) -> Result<T, SourceError> {
        match (answer, self.place.authorization()) {
            (Err(Broken::Unauthorized(wanted)), Some(authorization)) => {
                self.relist.notify_one();
                self.connecting.opened.notify_one();
                Err(authorization.refused(asked, grants, wanted))
            }
            (answer, _) => Ok(answer?),
        }
    }

    async fn is_legacy(&self, asking: &UpstreamCall<'_>) -> Result<bool, Broken> {
        Ok(!self.connected(&asking.credentials).await?.greeting.revision.is_modern())
    }

    /// Dropping the future cancels the call at the server.
    async fn run(&self, call: &Call, progress: &Progress) -> Result<Outcome, SourceError> {
        let authorization = self.place.authorization();
        if let Some(authorization) = authorization
            && self.listed.load().is_none()
            && call.tool_name() == AUTHORIZE
        {
            return Box::pin(self.authorize(call, authorization)).await;
        }
        let token = authorization.and_then(|authorization| authorization.token(call.grants()));
        let credentials = bearing(credential_headers(call)?, token);
        let mut told = OutgoingParams::by(call.extra().said_by(MCP))
            .with("name", serde_json::to_string(call.tool_name()).expect("a text is writable"))
            .with("arguments", call.arguments().text().get());
        let following = Following::new(progress, told.capabilities(), call.caller().shared_name());
        let asking = UpstreamCall {
            method: "tools/call",
            name: Some(call.tool_name().to_owned()),
            schema: Some((call.entry().tool.input.value(), call.arguments())),
            credentials,
            following: &following,
        };
        for _ in 0..MOST_ROUNDS {
            let answer = self.exchange(&asking, &told).await;
            let answer = self.unless_refused(answer, call.tool_name(), call.grants())?;
            if let Some(authorization) = authorization {
                authorization.used(call.grants());
            }
            let (whole, requests, state) = match answer.map(decode::result) {
                Err(error) => return Ok(decode::error(error)),
                Ok(Called::Ended(outcome)) => return Ok(outcome),
                Ok(Called::InputRequired { whole, requests, state }) => (whole, requests, state),
            };
            if told.is_modern() {
                // A caller of the same era answers in the same way, with a request of its own.
                let extra = Passthrough::asking(MCP, whole);
                return Ok(Outcome::Returned(Output { extra, ..Output::value(raw_of(&json!(null))) }));
            }
            match answers(&requests, &following).await {
                Some(answers) => told.answer(&answers, state.as_deref()),
                None => {
                    return Ok(Outcome::Failed(ToolError::new(
                        "The tool asks for what its caller cannot answer",
                    )));
                }
            }
        }
        Ok(Outcome::Failed(ToolError::new(format!("The tool asked for input more than {MOST_ROUNDS} times"))))
    }

    /// What a source is asked beside calls. A caller of the server's era answers questions in the same way,
    /// with a request of its own; any other is asked.
    async fn relayed(&self, asking: &UpstreamCall<'_>, params: &RawValue) -> Result<Relayed, Broken> {
        let mut told = OutgoingParams::by(Some(params));
        for _ in 0..MOST_ROUNDS {
            let answer = self.exchange(asking, &told).await?;
            let asked =
                answer.as_ref().ok().filter(|_| !told.is_modern()).and_then(|result| decode::asked(result));
            let Some((requests, state)) = asked else { return Ok(answer) };
            let Some(answers) = answers(&requests, asking.following).await else { break };
            told.answer(&answers, state.as_deref());
        }
        Ok(Err(raw_of(
            &json!({ "code": INTERNAL_ERROR, "message": "The server asks for what its caller cannot answer" }),
        )))
    }

    /// One request and its answer. A session that the server forgot is begun anew, once.
    pub(super) async fn exchange(
        &self,
        asking: &UpstreamCall<'_>,
        told: &OutgoingParams<'_>,
    ) -> Result<Relayed, Broken> {
        let connection = self.connected(&asking.credentials).await?;
        match once(&connection, asking, told).await {
            Err(Broken::SessionGone) => {
                self.connecting.forget(&connection);
                let anew = async { once(&*self.connected(&asking.credentials).await?, asking, told).await };
                Box::pin(anew).await
            }
            answer => answer,
        }
    }

    /// The connection there is, or a new one; many who ask at once wait for the same.
    pub(super) async fn connected(&self, credentials: &HeaderMap) -> Result<Arc<Connection>, Broken> {
        let token = credentials.get(AUTHORIZATION);
        self.connecting.connected(token).await.map_err(Broken::before_call)
    }

    /// Ends when the server tells of changed lists, or ends itself.
    async fn wait_for_change(&self) {
        // A connection that ended must not be held: it may have files open.
        let Some(connection) = self.connecting.current() else {
            return self.connecting.opened.notified().await;
        };
        tokio::select! {
            () = changes::told(&connection) => {
                connection.note_list_change();
                self.own_lists.clear();
            }
            () = self.relist.notified() => {}
        }
        if connection.is_resting() {
            drop(connection);
            self.connecting.opened.notified().await;
        }
    }
}

/// Headers with the user's token among them, where there is one.
fn bearing(mut headers: HeaderMap, token: Option<HeaderValue>) -> HeaderMap {
    if let Some(token) = token {
        headers.insert(AUTHORIZATION, token);
    }
    headers
}

async fn once(
    connection: &Connection,
    asking: &UpstreamCall<'_>,
    told: &OutgoingParams<'_>,
) -> Result<Relayed, Broken> {
    let id = connection.channel.next_id();
    let params = told.text(connection.greeting.revision, id, asking.following);
    let headers = match asking.schema.filter(|_| matches!(connection.channel, Channel::Http(_))) {
        Some((schema, arguments)) if mirror::mirrors(schema) => mirror::headers(schema, arguments.map()),
        _ => Vec::new(),
    };
    let headers = headers.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
    let ask = UpstreamRequest {
        id,
        method: asking.method,
        params,
        name: asking.name.as_deref(),
        headers,
        credentials: Some(&asking.credentials),
    };
    let answer = connection.channel.request(ask, asking.following).await;
    if answer.is_ok() {
        connection.answered();
    }
    Ok(match answer? {
        Ok(result) if connection.greeting.revision.is_modern() => Ok(decode::unsigned(result)),
        answer => answer,
    })
}

/// Puts every question to the caller, all at a time; none when one of them cannot be answered.
async fn answers(requests: &serde_json::Value, following: &Following<'_>) -> Option<RawJson> {
    let asked = requests.as_object()?.iter().map(async |(key, request)| {
        let params = request.get("params").map(raw_of);
        let answer = following.asked(request["method"].as_str()?, params.as_deref()).await.ok()?;
        Some((key.clone(), serde_json::from_str(answer.get()).ok()?))
    });
    let answers: Option<serde_json::Map<_, _>> = join_all(asked).await.into_iter().collect();
    answers.map(|answers| raw_of(&serde_json::Value::Object(answers)))
}
