//! The operations of one source, by the names of their tools, and how a call of one of them is sent.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use bytes::Bytes;
use http::{HeaderMap, StatusCode, header};
use toolmux_core::call::Call;
use toolmux_core::message::Message;
use toolmux_core::outcome::Outcome;
use toolmux_core::ports::figures::ConnectionFigures;
use toolmux_core::ports::source::SourceError;
use toolmux_core::refusal::Refusal;
use toolmux_core::requirements::Authorization;
use toolmux_http::client::{
    Answer, ClientTls, HttpClient, HttpLimits, Target, credential_headers, redirect_of, remove_credentials,
};
use toolmux_http::network_zone::Reach;
use url::Url;

use super::argument_text::ObjectMembers;
use super::credentials::{CarriedCredentials, carried, token_of};
use super::files::FileAccess;
use super::operation::{NamedBy, Operation};
use super::prepared::{PreparedOperation, add_cookie};
use super::response;

/// How many redirects one call follows.
const MOST_REDIRECTS: usize = 5;

/// The operations of one source. Calls take no lock: the list is swapped whole.
#[derive(Debug)]
pub(crate) struct OperationSet {
    /// For addresses that the configuration names, with its client certificate.
    configured: HttpClient,
    /// For those that a document names: public ones alone, and any.
    named: [(Reach, HttpClient); 2],
    files: FileAccess,
    operations: ArcSwap<HashMap<Arc<str>, Arc<PreparedOperation>>>,
}

/// Whether a request has the credentials of its source and of its call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SentCredentials {
    All,
    /// It goes where an answer pointed.
    None,
}

/// A request to send.
struct OutgoingRequest {
    target: Target,
    headers: HeaderMap,
    body: Bytes,
}

impl OperationSet {
    /// No operations yet. `tls` is for servers that the configuration names: a certificate is shown to no other.
    pub(crate) fn new(limits: HttpLimits, files: FileAccess, tls: Option<&ClientTls>) -> Self {
        let counters = Arc::default();
        let configured = HttpClient::new(limits).with_tls(tls.cloned()).counted_by(&counters);
        let named = [Reach::Public, Reach::Anywhere]
            .map(|reach| (reach, HttpClient::reaching(reach, limits).counted_by(&counters)));
        OperationSet { configured, named, files, operations: ArcSwap::default() }
    }

    /// What was counted of the connections to all servers.
    pub(crate) fn connections(&self) -> ConnectionFigures {
        self.configured.connections()
    }

    /// Which files of this machine calls may send.
    pub(crate) fn files(&self) -> &FileAccess {
        &self.files
    }

    /// Takes these operations in place of those there were. Gives back which of them cannot be called, with the reason.
    pub(crate) fn replace(&self, operations: Vec<(Arc<str>, Operation)>) -> Vec<(Arc<str>, String)> {
        let mut prepared = HashMap::with_capacity(operations.len());
        let mut unusable = Vec::new();
        for (name, operation) in operations {
            let client = self.client(operation.named_by);
            match PreparedOperation::new(operation, client) {
                Ok(operation) => drop(prepared.insert(name, Arc::new(operation))),
                Err(reason) => unusable.push((name, reason)),
            }
        }
        self.operations.store(Arc::new(prepared));
        unusable
    }

    fn client(&self, named_by: NamedBy) -> &HttpClient {
        match named_by {
            NamedBy::Configuration => &self.configured,
            NamedBy::Document(reach) => {
                let found = self.named.iter().find(|(known, _)| *known == reach);
                &found.unwrap_or(&self.named[0]).1
            }
        }
    }

    /// Sends the request of a call. Dropping the future closes the exchange.
    pub(crate) async fn call(&self, call: &Call) -> Result<Outcome, SourceError> {
        let operation = self.operations.load().get(call.tool_name()).map(Arc::clone);
        let operation = operation.ok_or_else(|| {
            SourceError::NotReached(Message::public(format!("There is no operation `{}`", call.tool_name())))
        })?;
        let OutgoingRequest { target, headers, body } =
            self.request(&operation, call, SentCredentials::All).await?;
        let client = self.client(operation.named_by);
        let answer = client.send_to(operation.method.clone(), &target, headers, body).await?;
        if answer.status() == StatusCode::UNAUTHORIZED
            && let Some(needed) = token_wanted(&operation, call)
        {
            return Err(SourceError::WantsToken(needed));
        }
        if answer.status().is_redirection() {
            let url = target.url(&operation.base);
            return Box::pin(self.follow(&operation, call, answer, url)).await;
        }
        response::read(answer, &operation.output, || target.url(&operation.base), call).await
    }

    async fn request(
        &self,
        operation: &PreparedOperation,
        call: &Call,
        credentials: SentCredentials,
    ) -> Result<OutgoingRequest, SourceError> {
        let arguments = call.arguments().text();
        let members = ObjectMembers::of(arguments);
        let mut headers = operation.headers(&members)?;
        let mut query: Vec<(&str, Cow<'_, str>)> = Vec::new();
        match credentials {
            SentCredentials::All => {
                let CarriedCredentials { headers: more, query: pairs, cookies } =
                    carried(&operation.credentials, call.grants())?;
                headers.extend(more);
                headers.extend(delivered(operation, call)?);
                add_cookie(&mut headers, &cookies);
                query = pairs;
            }
            SentCredentials::None => remove_credentials(&mut headers),
        }
        let target = operation.target(&members, &query)?;
        let body = match &operation.body {
            Some(body) => body.encode(arguments, &members, &self.files).await?,
            None => None,
        };
        let Some(body) = body else { return Ok(OutgoingRequest { target, headers, body: Bytes::new() }) };
        headers.insert(header::CONTENT_TYPE, body.content_type);
        Ok(OutgoingRequest { target, headers, body: body.bytes })
    }

    /// Goes where answers point, on the same host alone and without credentials.
    async fn follow(
        &self,
        operation: &PreparedOperation,
        call: &Call,
        mut answer: Answer,
        mut url: Url,
    ) -> Result<Outcome, SourceError> {
        let client = self.client(operation.named_by);
        let mut method = operation.method.clone();
        let mut has_run = false;
        for _ in 0..MOST_REDIRECTS {
            let Some((next_method, next)) = redirect_of(&answer, &url, &method) else { break };
            // "See other": the request was taken, its result is there.
            has_run |= next_method != method;
            let mut request = self.request(operation, call, SentCredentials::None).await?;
            let target = client.target(&next, HeaderMap::new())?;
            if next_method != operation.method {
                request.body = Bytes::new();
                request.headers.remove(header::CONTENT_TYPE);
            }
            (method, url) = (next_method, next);
            let sent = client.send_to(method.clone(), &target, request.headers, request.body).await;
            let sent = sent.map_err(SourceError::from);
            answer = sent.map_err(|error| if has_run { may_have_run(&error) } else { error })?;
        }
        let read = response::read(answer, &operation.output, || url, call).await;
        read.map_err(|error| if has_run { may_have_run(&error) } else { error })
    }
}

/// The credentials that the configuration delivers to the tool, which do not go where only a document leads.
fn delivered(operation: &PreparedOperation, call: &Call) -> Result<HeaderMap, SourceError> {
    let headers = credential_headers(call)?;
    match operation.named_by {
        NamedBy::Document(_) if !headers.is_empty() => {
            let words = format!(
                "The credentials of `{}` are not sent to a server that only the document names; add its address as `url` to the source",
                call.tool_name()
            );
            Err(SourceError::Refused(Refusal::Internal(Message::public(words))))
        }
        NamedBy::Document(_) | NamedBy::Configuration => Ok(headers),
    }
}

/// What became of the result says nothing about the call itself.
fn may_have_run(error: &SourceError) -> SourceError {
    SourceError::Lost(error.message())
}

/// The token that the server turned down, where it is one that can be replaced.
fn token_wanted(operation: &PreparedOperation, call: &Call) -> Option<Authorization> {
    let requires = &call.entry().requires.authorization;
    let provider = operation.credentials.iter().find_map(token_of)?;
    let needed = requires.iter().find(|needed| needed.id == provider)?;
    needed.server.as_ref()?.reject(call.grants().token(provider)?);
    Some(needed.clone())
}
