//! A connection to a server, whatever carries it, after both sides have found out what they speak.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use http::{HeaderMap, HeaderValue, StatusCode};
use tokio::sync::broadcast;
use toolmux_core::json_text::RawJson;
use toolmux_core::message::Message;
use toolmux_core::ports::source::{Relayed, SourceError};
use toolmux_core::refusal::Refusal;
use toolmux_http::client::{HttpClient, HttpError, HttpLimits, StatusAnswer};

use super::authorization::TokenWanted;
use super::authorization_remedy;
use super::backoff::{Life, STEADY};
use super::follow::Following;
use super::greet::{Greeting, greet};
use super::message_channel::MessageChannel;
use super::outgoing::Cut;
use super::settings::{Address, EraSetting, ServerAddress};
use super::sse_line::SseLine;
use super::stdio::Child;
use super::streamable::Streamable;
use crate::jsonrpc;

/// Statuses by which MCP itself says that a request was not executed: 406 is the answer to an `Accept` that lacks one
/// of the two forms. 404 is that to a session which is not known any more, and handled before.
const NOT_EXECUTED: [StatusCode; 1] = [StatusCode::NOT_ACCEPTABLE];

const OTHER_CREDENTIALS: &str = "The server wants other credentials";

/// Why a request got no answer.
#[derive(Clone, Debug)]
pub(super) enum Broken {
    /// It cannot have arrived.
    NotReached(Message),
    /// It may have arrived.
    Lost(Message),
    /// It was answered with a status, and not in MCP's words.
    Status(StatusAnswer),
    /// The server no longer knows our session.
    SessionGone,
    /// It wants a token, or another.
    Unauthorized(TokenWanted),
}

impl From<HttpError> for Broken {
    fn from(error: HttpError) -> Self {
        match SourceError::from(error) {
            SourceError::NotReached(message) => Broken::NotReached(message),
            other => Broken::Lost(other.message()),
        }
    }
}

impl From<Broken> for SourceError {
    fn from(broken: Broken) -> Self {
        let told = |text: &str| Message::public(text.to_owned());
        match broken {
            Broken::NotReached(message) => SourceError::NotReached(message),
            Broken::Lost(message) => SourceError::Lost(message),
            Broken::SessionGone => SourceError::NotReached(told("The server forgot our session")),
            Broken::Unauthorized(_) => SourceError::Refused(Refusal::Unavailable {
                message: told(OTHER_CREDENTIALS).developer("set `headers` of the source"),
                retry_after: None,
            }),
            Broken::Status(answer) => answer.error(&NOT_EXECUTED, status_words(answer.status)),
        }
    }
}

impl Broken {
    /// The same for a call that had not been sent yet, because there was no connection to send it by: whatever happened
    /// to the greeting, the tool did not run.
    pub(super) fn before_call(self) -> Self {
        match self {
            Broken::Lost(message) => Broken::NotReached(message),
            Broken::Status(answer) if answer.status.is_server_error() => {
                Broken::NotReached(status_words(answer.status))
            }
            other => other,
        }
    }
}

fn status_words(status: StatusCode) -> Message {
    match status {
        StatusCode::FORBIDDEN => Message::public(OTHER_CREDENTIALS).developer("set `headers` of the source"),
        status if status.is_server_error() => {
            Message::public(format!("The server failed with status {status}"))
        }
        status if status.is_success() => {
            Message::public(format!("The server answered with status {status} and no MCP answer"))
        }
        status => Message::public(format!("The server answered with status {status}")),
    }
}

/// A request of ours.
pub(super) struct UpstreamRequest<'a> {
    pub(super) id: u64,
    pub(super) method: &'a str,
    /// JSON text.
    pub(super) params: String,
    /// What `Mcp-Name` says.
    pub(super) name: Option<&'a str>,
    /// What is mirrored as headers.
    pub(super) headers: Vec<(String, String)>,
    /// Credentials of this request, over those of the source; none for what no caller asks.
    pub(super) credentials: Option<&'a HeaderMap>,
}

/// What carries messages.
pub(super) enum Channel {
    Child(Child),
    Sse(SseLine),
    Http(Box<Streamable>),
}

impl Channel {
    pub(super) fn line(&self) -> Option<&MessageChannel> {
        match self {
            Channel::Child(child) => Some(&child.line),
            Channel::Sse(sse) => Some(&sse.line),
            Channel::Http(_) => None,
        }
    }

    /// What a server of the handshake era tells of resources that changed.
    pub(super) fn updated(&self) -> broadcast::Receiver<RawJson> {
        match self {
            Channel::Child(child) => child.line.updated.subscribe(),
            Channel::Sse(sse) => sse.line.updated.subscribe(),
            Channel::Http(http) => http.updated.subscribe(),
        }
    }

    pub(super) fn next_id(&self) -> u64 {
        match self {
            Channel::Child(child) => child.line.next_id(),
            Channel::Sse(sse) => sse.line.next_id(),
            Channel::Http(http) => http.next_id(),
        }
    }

    pub(super) async fn request(
        &self,
        ask: UpstreamRequest<'_>,
        following: &Following<'_>,
    ) -> Result<Relayed, Broken> {
        let line = match self {
            Channel::Child(child) => &child.line,
            Channel::Sse(sse) => &sse.line,
            Channel::Http(http) => return http.request(ask, following).await,
        };
        let text = jsonrpc::ask(Some(&ask.id.to_string()), ask.method, Some(&ask.params));
        let id = ask.id;
        // It may be long, and the answer late.
        drop(ask);
        let answer = line.request(id, text, following).await;
        if let (Channel::Child(child), Err(Cut::Ended)) = (self, &answer) {
            child.last_words.all_read().await;
        }
        answer.map_err(|cut| self.broken(cut))
    }

    pub(super) async fn notify(&self, method: &str) {
        match self {
            Channel::Http(http) => http.tell(jsonrpc::ask(None, method, None), None).await,
            Channel::Child(Child { line, .. }) | Channel::Sse(SseLine { line, .. }) => {
                line.notify(method, None).await;
            }
        }
    }

    fn broken(&self, cut: Cut) -> Broken {
        let message = |text: &str| match self {
            Channel::Child(child) => match child.last_words.text() {
                Some(words) => Message::public(text).developer(words),
                None => Message::public(text),
            },
            Channel::Sse(_) | Channel::Http(_) => Message::public(text),
        };
        match cut {
            Cut::NotSent => Broken::NotReached(message("The server is not running")),
            Cut::Ended => Broken::Lost(message("The server ended")),
            Cut::NotTaken(why) => why,
            Cut::NoMemory => Broken::Lost(message("The server's answer was dropped")),
            Cut::TooLong => Broken::Lost(message("The server's answer is longer than `max_message` allows")),
        }
    }
}

pub(super) struct Connection {
    pub(super) channel: Channel,
    pub(super) greeting: Greeting,
    started: Instant,
    /// It answered something that a caller asked.
    useful: AtomicBool,
    /// How often the server said that its lists changed.
    list_changes: AtomicU64,
}

impl Connection {
    /// Connects and finds out what the server speaks, with the token of the request that needs the connection.
    pub(super) async fn open(
        name: &str,
        place: &ServerAddress,
        era: EraSetting,
        token: Option<HeaderValue>,
    ) -> Result<Self, Broken> {
        let started = Instant::now();
        let (channel, greeting) = match &place.address {
            Address::Command { .. } => by_command(name, place, era).await?,
            Address::Url { url, headers, authorization } => {
                let client =
                    HttpClient::new(HttpLimits { body_bytes: place.max_message, ..HttpLimits::default() });
                let mut http = Streamable::new(client.clone(), url, headers.clone(), place.max_message)?;
                http.authorization.clone_from(authorization);
                http.opened_with.store(token.filter(|_| authorization.is_some()).map(Arc::new));
                let http = Channel::Http(Box::new(http));
                match greet(&http, era, &place.capabilities).await {
                    Ok(greeting) => (http, greeting),
                    Err(Broken::Status(answer)) if is_older(answer.status) => {
                        let sse = SseLine::open(&client, url, headers, place.max_message).await?;
                        let channel = Channel::Sse(sse);
                        let greeting = greet(&channel, EraSetting::Legacy, &place.capabilities).await?;
                        (channel, greeting)
                    }
                    Err(Broken::Unauthorized(wanted)) if authorization.is_none() => {
                        let words = Message::public(OTHER_CREDENTIALS);
                        let remedy = authorization_remedy::remedy(&client, url, &wanted).await;
                        return Err(Broken::NotReached(words.developer(remedy)));
                    }
                    Err(broken) => return Err(broken),
                }
            }
        };
        if let Channel::Http(http) = &channel {
            http.greet(greeting.revision);
        }
        if !greeting.revision.is_modern() {
            channel.notify("notifications/initialized").await;
        }
        if let Channel::Http(http) = &channel {
            http.opened_with.store(None);
        }
        Ok(Connection {
            channel,
            greeting,
            started,
            useful: AtomicBool::new(false),
            list_changes: AtomicU64::new(0),
        })
    }

    /// True when the server wants a token of each user.
    pub(super) fn is_protected(&self) -> bool {
        matches!(&self.channel, Channel::Http(http) if http.authorization.is_some())
    }

    /// How often the server said that its lists changed.
    pub(super) fn list_changes(&self) -> u64 {
        self.list_changes.load(Ordering::Relaxed)
    }

    pub(super) fn note_list_change(&self) {
        self.list_changes.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn is_closed(&self) -> bool {
        self.channel.line().is_some_and(MessageChannel::is_closed)
    }

    /// True when it ended because nobody used it.
    pub(super) fn is_resting(&self) -> bool {
        matches!(&self.channel, Channel::Child(child) if child.is_resting())
    }

    /// Ends with the connection; one over HTTP has no end of its own.
    pub(super) async fn closed(&self) {
        match self.channel.line() {
            Some(line) => line.closed().await,
            None => std::future::pending().await,
        }
    }

    /// Notes that it answered something that a caller asked.
    pub(super) fn answered(&self) {
        if !self.useful.load(Ordering::Relaxed) {
            self.useful.store(true, Ordering::Relaxed);
        }
    }

    /// What it was good for.
    pub(super) fn life(&self) -> Life {
        let useful = self.useful.load(Ordering::Relaxed) || self.started.elapsed() >= STEADY;
        if useful { Life::Useful } else { Life::Useless }
    }

    pub(super) async fn close(&self) {
        match &self.channel {
            Channel::Child(child) => child.stop().await,
            Channel::Sse(sse) => sse.line.close(),
            Channel::Http(http) => http.close().await,
        }
    }
}

/// A server that ends at the first word of the new era is started again and greeted in the old way.
async fn by_command(
    name: &str,
    place: &ServerAddress,
    era: EraSetting,
) -> Result<(Channel, Greeting), Broken> {
    let start = || {
        let child = Child::start(name, &place.address, place.max_message).map_err(|error| {
            Broken::NotReached(
                Message::public("The command of the source cannot be started").caused_by(&error),
            )
        });
        child.map(Channel::Child)
    };
    if let Address::Command { sandbox: Some(sandbox), .. } = &place.address {
        sandbox.check().await.map_err(Broken::NotReached)?;
    }
    let channel = start()?;
    match greet(&channel, era, &place.capabilities).await {
        Ok(greeting) => Ok((channel, greeting)),
        Err(Broken::Lost(_)) if era == EraSetting::Auto => {
            drop(channel);
            let channel = start()?;
            let greeting = greet(&channel, EraSetting::Legacy, &place.capabilities).await?;
            Ok((channel, greeting))
        }
        Err(broken) => Err(broken),
    }
}

/// Statuses by which servers of 2024-11-05 turn down a post to the address of their stream.
fn is_older(status: StatusCode) -> bool {
    matches!(status, StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED | StatusCode::BAD_REQUEST)
}
