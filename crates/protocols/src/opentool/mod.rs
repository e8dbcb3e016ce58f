//! OpenTool: JSON-RPC over HTTP, described by OpenTool documents.

mod client;
mod client_wire;
mod detect;
mod document;
mod error_data;
mod exception;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzz_targets;
mod interface;
mod relay;
mod serve;
mod source;
mod stream;
mod wire;

pub use self::client::{Client, Events, StreamEvent};
pub use self::client_wire::{FunctionCall, ToolReturn};
pub(crate) use self::detect::DOCUMENT;
pub use self::document::{
    DocumentServer, Function, FunctionSchema, Info, LoadError, OpenTool, Parameter, Properties, Reference,
    Return, Type, Typed, check,
};
pub use self::exception::ClientError;
pub use self::interface::{OpenToolInterface, ToolException, ToolSource};
pub(crate) use self::serve::SERVED;
pub(crate) use self::source::SOURCE;

/// The word under which the catalogue keeps what only OpenTool can say.
const PROTOCOL: &str = "opentool";
