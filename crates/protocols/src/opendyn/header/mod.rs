//! OpenDyn documents from C headers: the preprocessor's text is read by a C grammar, what a declaration says
//! is used, what it cannot say is guessed and marked, or left to a person with the reason.

mod c_type;
mod classify;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzz_targets;
mod preprocess;
mod syntax;

pub use self::classify::{Comments, Described, describe};
pub use self::preprocess::HeaderError;
