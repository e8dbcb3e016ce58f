//! What a caller is told when a worker refused a call, died in it, or was not there.

use std::time::Duration;

use toolmux_core::message::Message;
use toolmux_core::outcome::{Outcome, ToolError};
use toolmux_core::ports::source::SourceError;
use toolmux_core::refusal::{ParameterError, Refusal};
use toolmux_dylib_host::fault::CallFault;

use super::carrier::Carrier;
use super::handles::NOT_OPEN;
use super::plan::{Input, Planned};
use super::supervise::{Death, Rejected};

/// When to try again what was too much.
const BUSY: Duration = Duration::from_millis(100);
/// What becomes of a library that did what it must not.
const RESTARTED: &str = "the library was restarted and its state is lost";

pub(super) fn invalid(fault: ParameterError) -> SourceError {
    SourceError::Refused(Refusal::Invalid { parameters: vec![fault] })
}

/// The object was there when the arguments were read, and not any more when the call came to its worker.
fn not_open(planned: &Planned) -> SourceError {
    let handles: Vec<&Input> =
        planned.inputs.iter().filter(|input| matches!(input.carrier, Carrier::Handle(_))).collect();
    let (parameter, message) = match handles.as_slice() {
        [only] => (only.name.clone(), NOT_OPEN.to_owned()),
        _ => (String::new(), format!("hold a handle that {NOT_OPEN}")),
    };
    invalid(ParameterError { parameter, message })
}

pub(super) fn died(planned: &Planned, death: &Death) -> ToolError {
    ToolError::new(format!("`{}` {}; {RESTARTED}", planned.name, death.words(&planned.function)))
}

pub(super) fn faulted(planned: &Planned, fault: CallFault, text: String) -> Result<Outcome, SourceError> {
    let name = &planned.name;
    match fault {
        CallFault::TooLong => Ok(Outcome::Failed(ToolError::new(format!("`{name}` gave too much: {text}")))),
        CallFault::BadLength | CallFault::MemorySmashed => Ok(Outcome::Failed(ToolError::new(format!(
            "`{name}` broke its description: {text}; {RESTARTED}"
        )))),
        CallFault::OutOfRange => Err(invalid(out_of_range(planned, &text))),
        CallFault::BadHandle => Err(not_open(planned)),
        CallFault::TooManyHandles | CallFault::NoMemory => {
            let message = Message::public(format!("`{name}` cannot run now: {text}"));
            Err(SourceError::Refused(Refusal::Busy { message, retry_after: BUSY }))
        }
        CallFault::UnknownFunction | CallFault::Malformed | CallFault::LoadFailed => {
            let message = Message::public(format!("`{name}` could not be called")).developer(text);
            Err(SourceError::Refused(Refusal::Internal(message)))
        }
    }
}

/// The fault of the parameter that the worker names, which callers may not see; then all of them are meant.
fn out_of_range(planned: &Planned, text: &str) -> ParameterError {
    let named = text.strip_prefix('`').and_then(|rest| rest.split_once("` "));
    match named.filter(|(name, _)| planned.inputs.iter().any(|input| input.name == *name)) {
        Some((name, what)) => ParameterError { parameter: name.to_owned(), message: what.to_owned() },
        None => ParameterError { parameter: String::new(), message: format!("do not fit: {text}") },
    }
}

impl Rejected {
    pub(super) fn into_error(self, planned: &Planned) -> SourceError {
        match self {
            Rejected::Forgotten => not_open(planned),
            Rejected::TooLarge(error) => {
                let message = format!("are too large: {error}");
                invalid(ParameterError { parameter: String::new(), message })
            }
            other => other.unavailable(&planned.name),
        }
    }

    /// Why nothing of the library can be called now.
    pub(super) fn unavailable(self, name: &str) -> SourceError {
        match self {
            Rejected::Full => {
                let message = Message::public(format!("Too many calls wait for the library of `{name}`"));
                SourceError::Refused(Refusal::Busy { message, retry_after: BUSY })
            }
            Rejected::Resting { reason, rest } if rest.is_zero() => {
                SourceError::NotReached(Message::public(&*reason))
            }
            Rejected::Resting { reason, rest } => SourceError::Refused(Refusal::Unavailable {
                message: Message::public(&*reason),
                retry_after: Some(rest),
            }),
            Rejected::Forgotten | Rejected::TooLarge(_) | Rejected::Closed => {
                SourceError::NotReached(Message::public("The library is being closed"))
            }
        }
    }
}
