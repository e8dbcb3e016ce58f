//! Why a request to a server got no answer, and what the core makes of it.

use http::StatusCode;
use toolmux_core::message::Message;
use toolmux_core::ports::source::SourceError;
use toolmux_core::refusal::Refusal;
use toolmux_http::client::{HttpError, StatusAnswer};

use crate::mcp::client::auth::authorization::TokenWanted;

/// Statuses by which MCP itself says that a request was not executed: 406 is the answer to an `Accept` that lacks one
/// of the two forms. 404 is that to a session which is not known any more, and handled before.
const NOT_EXECUTED: [StatusCode; 1] = [StatusCode::NOT_ACCEPTABLE];

pub(in crate::mcp) const OTHER_CREDENTIALS: &str = "The server requires other credentials";

#[derive(Clone, Debug)]
pub(in crate::mcp) enum Broken {
    /// It cannot have arrived.
    NotReached(Message),
    /// It may have arrived.
    Lost(Message),
    /// It was answered with a status, and not with an MCP message.
    Status(StatusAnswer),
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
        }
    }
}

impl Broken {
    /// The same for a call that had not been sent yet, because there was no connection to send it by: whatever happened
    /// to the greeting, the tool did not run.
    pub(in crate::mcp) fn before_call(self) -> Self {
        match self {
            Broken::Lost(message) => Broken::NotReached(message),
            Broken::Status(answer) if answer.status.is_server_error() => {
                Broken::NotReached(status_message(answer.status))
            }
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
