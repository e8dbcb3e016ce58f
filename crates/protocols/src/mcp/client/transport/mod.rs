//! What carries requests to a server and its answers back.

mod answer_stream;
mod broken;
mod channel;
mod duplex;
mod follow;
mod http_sender;
pub(in crate::mcp) mod http_sse;
mod message_channel;
mod outgoing;
mod outgoing_params;
mod pending_callers;
mod pending_requests;
mod request_headers;
mod stderr;
pub(in crate::mcp) mod stdio;
mod streamable_http;
mod upstream_request;

pub(in crate::mcp) use self::broken::{Broken, OTHER_CREDENTIALS};
pub(in crate::mcp) use self::channel::Channel;
pub(in crate::mcp) use self::follow::Following;
pub(in crate::mcp) use self::outgoing_params::OutgoingParams;
pub(in crate::mcp) use self::request_headers::ConnectionCredentials;
pub(in crate::mcp) use self::streamable_http::StreamableHttp;
pub(in crate::mcp) use self::upstream_request::{DISCOVER, INITIALIZE, UpstreamRequest};
