//! OpenTool: JSON-RPC over HTTP, described by OpenTool documents.

mod document;
mod serve;
mod wire;

pub use self::document::{
    Function, Info, LoadError, OpenTool, Parameter, Reference, Return, Schema, Server, Type, Typed, check,
};

/// The word under which the catalogue keeps what only OpenTool can say.
const PROTOCOL: &str = "opentool";

pub(crate) use self::serve::SERVED;
