//! OpenWorkflow: a straight line of calls, each with what earlier ones gave, served as one tool.

mod detect;
mod document;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzz_targets;
mod order;
mod reference;
mod run;
mod shape;
mod source;

pub(crate) use self::detect::DOCUMENT;
pub use self::document::{calls, check};
pub(crate) use self::source::SOURCE;
