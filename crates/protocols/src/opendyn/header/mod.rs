//! OpenDyn documents from C headers: the preprocessor's text is read by a C grammar, what a declaration says
//! is used, what it cannot say is guessed and marked, or left to a person with the question.

mod allocate;
mod buffers;
mod c_type;
mod callbacks;
mod classify;
mod comment;
mod constants;
mod explain;
mod expression;
mod facts;
mod flags;
mod forms;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzz_targets;
mod guess;
mod layout;
mod package;
mod pairing;
mod parameter;
mod preprocess;
mod relations;
mod request;
mod returns;
mod size_check;
mod specifier;
mod status;
mod structures;
mod syntax;
mod variables;
mod variadic;
mod words;

pub(in crate::opendyn) use self::classify::has_question;
pub use self::classify::{Described, describe};
pub use self::preprocess::HeaderError;
pub use self::request::{Comments, HeaderRequest, Selection};
