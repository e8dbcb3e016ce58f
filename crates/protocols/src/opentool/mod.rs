//! OpenTool: JSON-RPC over HTTP, described by OpenTool documents.

mod serve;
mod wire;

pub(crate) use self::serve::SERVED;
