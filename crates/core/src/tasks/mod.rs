//! Calls that run in the background: submitted, run, followed, asked and cancelled.
//!
//! Knows the gateway, whose checks every task passes and whose steps run it. The gateway does not know tasks: it keeps
//! `local_tasks.rs` for them, and its ledger follows a task through the store (`task_follow.rs`).

mod claim;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzz_targets;
mod handle;
mod run;
mod stored_request;
mod submit;
mod updates;

pub use self::handle::Tasks;
pub use crate::task_follow::Follow;
pub use crate::task_questions::TaskQuestion;
