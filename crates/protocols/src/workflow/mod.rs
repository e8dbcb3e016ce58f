//! OpenWorkflow: a straight line of calls, each with what earlier ones gave, served as one tool.

mod document;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzz_targets;
mod order;
mod reference;
mod run;
mod shape;
mod source;

pub use self::document::{calls, check};
pub(crate) use self::source::SOURCE;
use crate::registry::DocumentKind;

pub(crate) const DOCUMENT: DocumentKind =
    DocumentKind { name: "OpenWorkflow document", member: "openworkflow", check };
