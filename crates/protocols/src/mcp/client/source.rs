//! An MCP server as a source. It connects when it is first needed and again when the connection ended.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue};
use serde_json::json;
use tokio::sync::Notify;
use toolmux_core::BoxFuture;
use toolmux_core::call::Call;
use toolmux_core::json_text::raw_of;
use toolmux_core::outcome::{Outcome, Output, ToolError};
use toolmux_core::plural::counted;
use toolmux_core::ports::figures::SourceFigures;
use toolmux_core::ports::source::{Listing, Relay, Relayed, Source, SourceError};
use toolmux_core::progress::Progress;
use toolmux_core::requirements::{self, Grants};
use toolmux_core::secret::Secret;
use toolmux_core::tool::Passthrough;
use toolmux_http::client::credential_headers;

use crate::mcp::client::auth::authorization::{AUTHORIZE, Authorization};
use crate::mcp::client::auth::own_lists::OwnLists;
use crate::mcp::client::connect::changes::lists_changed;
use crate::mcp::client::connect::connecting::Connecting;
use crate::mcp::client::connect::connection::Connection;
use crate::mcp::client::connect::listing;
use crate::mcp::client::decode::{self, Called};
use crate::mcp::client::exchange::{UpstreamCall, connected, exchange};
use crate::mcp::client::input_rounds::{self, MOST_ROUNDS};
use crate::mcp::client::legacy_listen;
use crate::mcp::client::settings::ServerAddress;
use crate::mcp::client::transport::{Broken, Following, OutgoingParams};
use crate::mcp::methods::TOOLS_CALL;
use crate::mcp::wire::{Capabilities, Params};
use crate::mcp::{LISTEN, MCP};

pub(super) struct Upstream {
    place: Arc<ServerAddress>,
    connecting: Connecting,
    /// Wakes when a user's token showed that the list is another.
    relist: Notify,
    listed: ArcSwapOption<(Listing, Passthrough)>,
    own_lists: OwnLists,
}

impl Source for Upstream {
    fn figures(&self) -> SourceFigures {
        self.place.figures()
    }

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

    fn offered(&self) -> Passthrough {
        self.listed.load().as_ref().map(|listed| listed.1.clone()).unwrap_or_default()
    }

    fn offered_to<'a>(&'a self, grants: &'a Grants) -> BoxFuture<'a, Result<Passthrough, SourceError>> {
        Box::pin(async move {
            let Some(authorization) = self.place.authorization() else { return Ok(self.offered()) };
            let token = authorization.token(grants);
            let owner = Secret::new(token.as_ref().and_then(|token| token.to_str().ok()).unwrap_or_default());
            if let Some(known) = self.own_lists.find(&owner.sha256()) {
                return Ok(known);
            }
            let credentials = bearing(HeaderMap::new(), token);
            let read = async {
                let connection = connected(&self.connecting, &credentials).await?;
                listing::prompts_and_resources(&connection, &credentials).await
            };
            let lists = self.unless_refused(read.await, "prompts and resources", grants)?;
            self.own_lists.keep(owner.sha256(), lists.clone());
            Ok(lists)
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
            let call = UpstreamCall {
                method: &relay.method,
                name,
                schema: None,
                credentials,
                following: &following,
            };
            let answer = async {
                if relay.method == LISTEN && self.is_legacy(&call).await? {
                    legacy_listen::listen(&self.connecting, &relay.params, &call).await
                } else {
                    input_rounds::relay(&self.connecting, &call, &relay.params).await
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
            // A list runs nothing, so it may be asked for again also where the status alone suggests it.
            Err(broken) if broken.suggests_new_session() => {
                self.connecting.forget(&connection);
                let anew = match credentials {
                    Some(credentials) => connected(&self.connecting, credentials).await?,
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
        let read = async {
            let connection = connected(&self.connecting, &credentials).await?;
            self.read_all(connection, Some(&credentials)).await
        };
        let mut listed = self.unless_refused(read.await, call.tool_name(), call.grants())?;
        let text =
            format!("Access was granted: {} can be called now.", counted(listed.0.tools.len(), "tool"));
        if !is_kept {
            listed.0.tools.iter_mut().for_each(|tool| authorization.require(tool));
            self.listed.store(Some(Arc::new(listed)));
        }
        self.wake();
        Ok(Outcome::Returned(Output::value(raw_of(&json!(text)))))
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
                self.wake();
                Err(authorization.refused(asked, grants, wanted))
            }
            (answer, _) => Ok(answer?),
        }
    }

    /// Has the gateway list again. It waits for one of the two in `wait_for_change`: for a change at the connection, or
    /// for a connection where there is none. Whichever it is, the permit that is left over only costs one list more.
    fn wake(&self) {
        self.relist.notify_one();
        self.connecting.opened.notify_one();
    }

    async fn is_legacy(&self, call: &UpstreamCall<'_>) -> Result<bool, Broken> {
        let connection = connected(&self.connecting, &call.credentials).await?;
        Ok(!connection.greeting.revision.is_modern())
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
        let params = OutgoingParams::by(call.extra().of_protocol(MCP))
            .with("name", serde_json::to_string(call.tool_name()).expect("a text is writable"))
            .with("arguments", call.arguments().text().get());
        let following = Following::new(progress, params.capabilities(), call.caller().shared_name());
        let upstream_call = UpstreamCall {
            method: TOOLS_CALL,
            name: Some(call.tool_name().to_owned()),
            schema: Some((call.entry().tool.input.value(), call.arguments())),
            credentials,
            following: &following,
        };
        self.call_in_rounds(call, &upstream_call, params).await
    }

    /// Sends a call, and sends it again with the caller's answers as often as the server asks for more.
    async fn call_in_rounds(
        &self,
        call: &Call,
        upstream_call: &UpstreamCall<'_>,
        mut params: OutgoingParams<'_>,
    ) -> Result<Outcome, SourceError> {
        for _ in 0..MOST_ROUNDS {
            let answer = exchange(&self.connecting, upstream_call, &params).await;
            let answer = self.unless_refused(answer, call.tool_name(), call.grants())?;
            if let Some(authorization) = self.place.authorization() {
                authorization.used(call.grants());
            }
            let (whole, requests, state) = match answer.map(decode::result) {
                Err(error) => return Ok(decode::error(error)),
                Ok(Called::Ended(outcome)) => return Ok(outcome),
                Ok(Called::InputRequired { whole, requests, state }) => (whole, requests, state),
            };
            if params.is_modern() {
                // A caller of the same era answers in the same way, with a request of its own.
                let extra = Passthrough::asking(MCP, whole);
                return Ok(Outcome::Returned(Output { extra, ..Output::value(raw_of(&json!(null))) }));
            }
            match input_rounds::answers(&requests, upstream_call.following).await {
                Some(answers) => params.answer(&answers, state.as_deref()),
                None => {
                    return Ok(Outcome::Failed(ToolError::new(
                        "The tool asks for input that its caller cannot give",
                    )));
                }
            }
        }
        Ok(Outcome::Failed(ToolError::new(format!("The tool asked for input more than {MOST_ROUNDS} times"))))
    }

    /// Ends when the server tells of changed lists, or ends itself.
    async fn wait_for_change(&self) {
        // A connection that ended must not be held: it may have files open.
        let Some(connection) = self.connecting.current() else {
            return self.connecting.opened.notified().await;
        };
        tokio::select! {
            () = lists_changed(&connection) => {
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
