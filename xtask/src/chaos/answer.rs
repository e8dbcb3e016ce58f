//! What a client was told about one request, whatever the protocol.

/// Why there is no answer when the server has gone: it did not get the request.
pub(crate) const NOTHING_LISTENS: &str = "nothing listens";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The tool ran and this is its result.
    Good,
    /// The tool did not run, says the server.
    Refused(String),
    /// The server does not know.
    MayHaveRun,
    /// The tool ran and failed, says the server.
    Failed(String),
    /// A task was accepted and nobody knows it any more.
    Gone(String),
    /// No answer came, or half of one.
    Unanswered(String),
}

impl Answer {
    /// Of a tool that failed.
    pub(crate) fn failed(message: &str) -> Self {
        if message.contains("may have run") { Self::MayHaveRun } else { Self::Failed(message.to_owned()) }
    }

    /// Why it is not good.
    pub(crate) fn reason(&self) -> Option<&str> {
        match self {
            Self::Good => None,
            Self::MayHaveRun => Some("may have run"),
            Self::Refused(reason) | Self::Failed(reason) | Self::Gone(reason) | Self::Unanswered(reason) => {
                Some(reason)
            }
        }
    }
}
