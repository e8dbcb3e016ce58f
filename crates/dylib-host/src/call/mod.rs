//! The call engine: binary values in, one C call, binary values out. The worker runs it, and so does a
//! server that trusts a library enough to load it itself.

mod arena;
mod arguments;
mod callbacks;
mod check;
mod compile;
mod explanation;
mod function;
mod handles;
mod items;
mod library;
mod members;
mod results;
mod rows;
mod structures;
mod texts;
mod trampolines;

pub(crate) use arena::Ranges;
pub use library::Library;
