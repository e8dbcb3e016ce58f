//! Why a request to a server got no answer, and what the core makes of it.

use http::StatusCode;
use toolmux_core::message::Message;
use toolmux_core::ports::source::SourceError;
use toolmux_core::refusal::Refusal;
use toolmux_http::client::{HttpError, StatusAnswer};

use crate::mcp::client::auth::authorization::TokenWanted;

/// Statuses by which streamable HTTP says that a request was not executed.
const NOT_EXECUTED: [StatusCode; 5] = [
    // Transports: the message cannot be accepted, its version is not supported, its session id or a header is missing.
    StatusCode::BAD_REQUEST,
    // Authorization: a token is missing or not valid.
    StatusCode::UNAUTHORIZED,
    // Authorization: the token does not allow it. Transports: the request comes from a foreign origin.
    StatusCode::FORBIDDEN,
    // 2025-03-26 to 2025-11-25: the session is not known any more. 2026-07-28: the method is not known.
    StatusCode::NOT_FOUND,
    // Backwards compatibility: posts are not taken at this address.
    StatusCode::METHOD_NOT_ALLOWED,
];

/// The same for posts of 2024-11-05, which says nothing of statuses. What HTTP itself says of missing credentials
/// remains: the request "has not been applied" (RFC 9110, 15.5.2).
const NOT_EXECUTED_2024: [StatusCode; 1] = [StatusCode::UNAUTHORIZED];

pub(in crate::mcp) const OTHER_CREDENTIALS: &str = "The server requires other credentials";

#[derive(Clone, Debug)]
pub(in crate::mcp) enum Broken {
    /// It cannot have arrived.
    NotReached(Message),
    /// It may have arrived.
    Lost(Message),
    /// It was answered with a status, and not with an MCP message.
    Status(StatusAnswer),
    /// The same for a post of 2024-11-05, whose answer would have come on the stream.
    PostStatus(StatusAnswer),
    /// The call was not sent: the greeting before it was answered with this status.
    GreetingStatus(StatusAnswer),
    /// The server no longer knows our session.
    SessionGone,
    /// The server wants a token, or another.
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
        let public = |text: &str| Message::public(text.to_owned());
        match broken {
            Broken::NotReached(message) => SourceError::NotReached(message),
            Broken::Lost(message) => SourceError::Lost(message),
            Broken::SessionGone => SourceError::NotReached(public("The server no longer knows our session")),
            Broken::Unauthorized(_) => SourceError::Refused(Refusal::Unavailable {
                message: public(OTHER_CREDENTIALS).developer("set `headers` of the source"),
                retry_after: None,
            }),
            Broken::Status(answer) => answer.error(&NOT_EXECUTED, status_message(answer.status)),
            Broken::PostStatus(answer) => answer.error(&NOT_EXECUTED_2024, status_message(answer.status)),
            Broken::GreetingStatus(answer) => answer.error_before_call(status_message(answer.status)),
        }
    }
}

impl Broken {
    /// Whether the server seems not to know our session, or our stream of 2024-11-05, any more.
    pub(in crate::mcp) fn suggests_new_session(&self) -> bool {
        match self {
            Broken::SessionGone => true,
            Broken::PostStatus(answer) => answer.status == StatusCode::NOT_FOUND,
            Broken::NotReached(_)
            | Broken::Lost(_)
            | Broken::Status(_)
            | Broken::GreetingStatus(_)
            | Broken::Unauthorized(_) => false,
        }
    }

    /// The same for a call that had not been sent yet, because there was no connection to send it by: whatever happened
    /// to the greeting, the tool did not run.
    pub(in crate::mcp) fn before_call(self) -> Self {
        match self {
            Broken::Lost(message) => Broken::NotReached(message),
            Broken::Status(answer) | Broken::PostStatus(answer) => Broken::GreetingStatus(answer),
            other => other,
        }
    }
}

fn status_message(status: StatusCode) -> Message {
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
