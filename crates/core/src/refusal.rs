//! Why a request did not become a call, or a call did not reach its tool: the tool did not run.

use std::time::Duration;

use crate::message::Message;
use crate::outcome::Retry;

/// One parameter that does not fit, in words a model can act on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterError {
    /// Where: `items[0].price`; empty for the arguments as a whole.
    pub parameter: String,
    /// What is wanted and what came.
    pub message: String,
}

/// A token that a user must first allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Challenge {
    /// The name of the provider.
    pub id: String,
    /// Where the user allows it; absent when no provider of that name is configured.
    pub url: Option<String>,
    /// Where a client may ask whether the user did.
    pub check_url: Option<String>,
}

/// The tool did not run.
#[derive(Clone, Debug)]
pub enum Refusal {
    /// Not a call at all.
    Malformed(Message),
    /// We do not know who asks.
    Unauthenticated(Message),
    /// No such tool or version.
    UnknownTool {
        /// As the caller wrote it.
        tool: String,
        /// A tool that may have been meant.
        nearest: Option<String>,
        /// Why, when there is more to say than that it is unknown.
        developer: Option<String>,
    },
    /// The tool exists, but not for this caller, who is told that it is unknown, with the words of `UnknownTool`.
    NotPermitted {
        /// As the caller wrote it.
        tool: String,
        /// A tool that may have been meant, as if this one did not exist.
        nearest: Option<String>,
    },
    /// The tool needs what the request does not bring.
    Challenged {
        /// Tokens that a user must first allow.
        authorization: Vec<Challenge>,
        /// Names of secrets.
        secrets: Vec<String>,
        /// A user id.
        user_id: bool,
    },
    /// The arguments do not fit the schema.
    Invalid {
        /// What is wrong with which.
        parameters: Vec<ParameterError>,
    },
    /// The call id was used before with other arguments.
    Conflict {
        /// The id that was used before.
        call_id: String,
    },
    /// Over a limit.
    Busy {
        /// Which limit was reached.
        message: Message,
        /// When to try again.
        retry_after: Duration,
    },
    /// The source cannot be reached.
    Unavailable {
        /// Which, and why.
        message: Message,
        /// When to try again, if we know.
        retry_after: Option<Duration>,
    },
    /// Our own fault.
    Internal(Message),
}

impl Refusal {
    /// The words for it, the same over every protocol.
    pub fn message(&self) -> Message {
        match self {
            Refusal::Malformed(message)
            | Refusal::Unauthenticated(message)
            | Refusal::Busy { message, .. }
            | Refusal::Unavailable { message, .. }
            | Refusal::Internal(message) => message.clone(),
            Refusal::UnknownTool { tool, nearest, developer } => {
                let mut message = Message::public(unknown_words(tool, nearest.as_deref()));
                message.developer.clone_from(developer);
                message
            }
            Refusal::NotPermitted { tool, nearest } => {
                Message::public(unknown_words(tool, nearest.as_deref()))
            }
            Refusal::Challenged { authorization, secrets, user_id } => {
                let user_id = user_id.then_some("a user id");
                Message::public(challenge_words(authorization, secrets, user_id))
            }
            Refusal::Invalid { parameters } => Message::public(invalid_words(parameters)),
            Refusal::Conflict { call_id } => {
                Message::public(format!("Call id `{call_id}` was used before for another call"))
            }
        }
    }

    /// Whether the same request may succeed another time.
    pub fn retry(&self) -> Retry {
        match self {
            Refusal::Busy { retry_after, .. }
            | Refusal::Unavailable { retry_after: Some(retry_after), .. } => Retry::After(*retry_after),
            Refusal::Unavailable { retry_after: None, .. } => Retry::Now,
            Refusal::Malformed(_)
            | Refusal::Unauthenticated(_)
            | Refusal::UnknownTool { .. }
            | Refusal::NotPermitted { .. }
            | Refusal::Challenged { .. }
            | Refusal::Invalid { .. }
            | Refusal::Conflict { .. }
            | Refusal::Internal(_) => Retry::Never,
        }
    }

    /// The names of all refusals, as [`Refusal::name`] gives them.
    pub(crate) const NAMES: [&'static str; 10] = [
        "malformed",
        "unauthenticated",
        "unknown_tool",
        "not_permitted",
        "challenged",
        "invalid",
        "conflict",
        "busy",
        "unavailable",
        "internal",
    ];

    /// A short name for logs and metrics.
    pub fn name(&self) -> &'static str {
        match self {
            Refusal::Malformed(_) => "malformed",
            Refusal::Unauthenticated(_) => "unauthenticated",
            Refusal::UnknownTool { .. } => "unknown_tool",
            Refusal::NotPermitted { .. } => "not_permitted",
            Refusal::Challenged { .. } => "challenged",
            Refusal::Invalid { .. } => "invalid",
            Refusal::Conflict { .. } => "conflict",
            Refusal::Busy { .. } => "busy",
            Refusal::Unavailable { .. } => "unavailable",
            Refusal::Internal(_) => "internal",
        }
    }
}

fn unknown_words(tool: &str, nearest: Option<&str>) -> String {
    match nearest {
        Some(name) => format!("Tool `{tool}` was not found; did you mean `{name}`?"),
        None => format!("Tool `{tool}` was not found"),
    }
}

fn challenge_words(authorization: &[Challenge], secrets: &[String], user_id: Option<&str>) -> String {
    let mut needs: Vec<String> = authorization
        .iter()
        .map(|challenge| match &challenge.url {
            Some(url) => format!("authorization by `{}`: open {url}", challenge.id),
            None => format!("a token of `{}`", challenge.id),
        })
        .collect();
    needs.extend(secrets.iter().map(|id| format!("the secret `{id}`")));
    needs.extend(user_id.map(str::to_owned));
    format!("The tool needs {}", needs.join(", and "))
}

fn invalid_words(parameters: &[ParameterError]) -> String {
    let each: Vec<String> = parameters
        .iter()
        .map(|fault| match fault.parameter.as_str() {
            "" => format!("the arguments {}", fault.message),
            name => format!("`{name}` {}", fault.message),
        })
        .collect();
    format!("Invalid arguments: {}", each.join("; "))
}
