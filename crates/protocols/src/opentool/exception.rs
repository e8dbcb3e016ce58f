//! The client's exceptions: the five of the specification, under their codes and in their words, and what
//! the specification has no exception for.

use std::time::Duration;

use http::StatusCode;
use serde_json::{Map, Value};
use toolmux_core::json_text::RawJson;

use toolmux_http::client::HttpError;

/// Why a client has no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The server answered with nothing.
    #[error("Response is null")]
    ResponseNull { code: i64 },
    /// The server answered with neither a result nor an error.
    #[error("Error is null")]
    ErrorNull { code: i64 },
    /// The server does not know the key.
    #[error("Please check API Key is VALID or NOT")]
    Unauthorized,
    /// There is no such server, or the connection to it broke.
    #[error("Please check OpenTool Server is RUNNING or NOT")]
    NoAccess {
        /// What the network said; absent when somebody else answered.
        #[source]
        cause: Option<HttpError>,
    },
    /// The server answered with an error.
    #[error("{message}")]
    Call {
        /// The error's code.
        code: Option<i64>,
        /// The error's words.
        message: String,
        /// More, for programs.
        data: Option<RawJson>,
    },
    /// The server answered with a status, and not as an OpenTool server.
    #[error("{message}")]
    Status {
        status: StatusCode,
        /// When to try again, if it says so.
        retry_after: Option<Duration>,
        /// The status and what came with it.
        message: String,
    },
    /// The server did not answer in time; the tool may have run.
    #[error("The server did not answer in time")]
    TimedOut(#[source] HttpError),
    /// TLS refused the connection.
    #[error("The connection is not secure: {what}")]
    Tls {
        /// What it found wrong.
        what: String,
        #[source]
        cause: HttpError,
    },
    /// The address or the key cannot be used at all.
    #[error("{0}")]
    Unusable(String),
}

impl ClientError {
    /// The code, where there is one.
    pub fn code(&self) -> Option<i64> {
        match self {
            ClientError::ResponseNull { code } | ClientError::ErrorNull { code } => Some(*code),
            ClientError::Unauthorized => Some(401),
            ClientError::NoAccess { .. } => Some(404),
            ClientError::Call { code, .. } => *code,
            ClientError::Status { status, .. } => Some(status.as_u16().into()),
            ClientError::TimedOut(_) => Some(408),
            ClientError::Tls { .. } | ClientError::Unusable(_) => None,
        }
    }

    /// The words, those of the specification where it has any.
    pub fn message(&self) -> String {
        self.to_string()
    }

    /// `{"code": …, "message": …}`, without the code where there is none.
    pub fn to_json(&self) -> Map<String, Value> {
        let code = self.code().map(|code| ("code".to_owned(), code.into()));
        code.into_iter().chain([("message".to_owned(), self.message().into())]).collect()
    }

    pub(super) fn call(code: Option<i64>, message: impl Into<String>) -> Self {
        ClientError::Call { code, message: message.into(), data: None }
    }
}

impl From<HttpError> for ClientError {
    fn from(error: HttpError) -> Self {
        if let Some(what) = error.tls_fault().map(ToString::to_string) {
            return ClientError::Tls { what, cause: error };
        }
        match error {
            HttpError::TimedOut { .. } => ClientError::TimedOut(error),
            HttpError::TooLarge { .. } | HttpError::NoMemory { .. } => {
                ClientError::call(None, error.to_string())
            }
            HttpError::NotReached { .. } | HttpError::Lost { .. } => {
                ClientError::NoAccess { cause: Some(error) }
            }
        }
    }
}
