//! JSON Schemas of tools: compiled once, with a bound on what checking arguments may cost, and the words in which a
//! model is told what to repair.

mod compile;
mod expansion;
mod faults;
mod metered;
mod pattern_bounds;
mod preview;
mod validator;

pub(crate) use self::compile::{MOST_DEPTH, depth, is_pattern, is_too_long};
pub use self::compile::{Schema, SchemaError};
pub(crate) use self::expansion::{costly_references, decoded_pointer};
pub use self::validator::Validator;
