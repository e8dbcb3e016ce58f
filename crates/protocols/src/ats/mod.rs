//! ATS (AgentToolService): tools are called as tasks, and tasks are followed over server-sent events.

mod client;
mod ended;
mod follow;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzz_targets;
mod listing;
mod serve;
mod source;
mod update;
mod wire;

pub use self::client::{AtsClient, AtsError, Followed};
pub use self::listing::TaskSummary;
pub(crate) use self::serve::SERVED;
pub(crate) use self::source::SOURCE;
pub use self::wire::{AtsTool, MissingToken, ParameterFault, RefusalDocument, TaskDocument, TaskError};
