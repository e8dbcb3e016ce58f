//! Why an exchange failed, and whether the request can have arrived.

use std::time::Duration;

use toolmux_core::answer_memory::NoMemory;
use toolmux_core::message::Message;
use toolmux_core::ports::source::SourceError;

/// What the network said.
pub(super) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Why an exchange failed.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// The request cannot have arrived.
    #[error("cannot connect to `{host}`")]
    NotReached {
        /// Where it was to go.
        host: String,
        /// What the network said, TLS included.
        #[source]
        error: BoxError,
    },
    /// The request may have arrived.
    #[error("the connection to `{host}` was lost")]
    Lost {
        /// Where it went.
        host: String,
        /// What the network said.
        #[source]
        error: BoxError,
    },
    /// No answer within the time limit; the request may have arrived.
    #[error("`{host}` did not answer within {after:?}")]
    TimedOut {
        /// Where it went.
        host: String,
        /// The time limit that passed.
        after: Duration,
    },
    /// The answer is over the limit.
    #[error("`{host}` answered with more than {most} bytes")]
    TooLarge {
        /// The host that answered.
        host: String,
        /// The most bytes that are read.
        most: usize,
    },
    /// There is no memory for the answer.
    #[error("the answer of `{host}` was dropped")]
    NoMemory {
        /// The host that answered.
        host: String,
        /// Why the response could not be read.
        #[source]
        error: NoMemory,
    },
}

impl HttpError {
    /// What TLS found wrong with the other side, when that is why there is no connection.
    pub fn tls_fault(&self) -> Option<&rustls::Error> {
        let mut next: Option<&(dyn std::error::Error + 'static)> = Some(self);
        while let Some(error) = next {
            let inner = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
            if let Some(fault) = inner.and_then(|inner| inner.downcast_ref()).or(error.downcast_ref()) {
                return Some(fault);
            }
            next = inner.map(|inner| inner as _).or_else(|| error.source());
        }
        None
    }
}

impl From<HttpError> for SourceError {
    fn from(error: HttpError) -> Self {
        let mut public = error.to_string();
        public[..1].make_ascii_uppercase();
        let message = Message::public(public).caused_by(&error);
        match error {
            HttpError::NotReached { .. } => SourceError::NotReached(message),
            HttpError::Lost { .. }
            | HttpError::TimedOut { .. }
            | HttpError::TooLarge { .. }
            | HttpError::NoMemory { .. } => SourceError::Lost(message),
        }
    }
}
