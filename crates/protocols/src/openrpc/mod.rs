//! JSON-RPC 2.0 servers that an OpenRPC document describes, as tools.

mod client;
mod detect;
mod document;
mod load;
mod method;
mod params;
mod report;
mod schemas;
mod server;
mod settings;
mod source;

pub(crate) use self::detect::DOCUMENT;
pub(crate) use self::source::SOURCE;
