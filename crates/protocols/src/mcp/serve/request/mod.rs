//! A request of a client: who asks in which era, what is asked, and what is kept beyond one message.

mod bounded_map;
pub(in crate::mcp) mod era;
mod exchange;
mod method;
pub(in crate::mcp) mod mirrored_headers;
mod notification;
mod outlet;
mod params;
mod peer;
pub(in crate::mcp) mod relayed_params;
mod rpc_request;
mod running;
pub(in crate::mcp) mod session_id;
mod session_state;

pub(in crate::mcp) use self::era::Stopped;
pub(in crate::mcp) use self::exchange::Exchange;
pub(in crate::mcp) use self::method::{Capability, Method, Opens, Streams, Target};
pub(in crate::mcp) use self::notification::ClientNotification;
pub(in crate::mcp) use self::outlet::{Outlet, Queued};
pub(in crate::mcp) use self::params::RequestParams;
pub(in crate::mcp) use self::peer::Peer;
pub(in crate::mcp) use self::rpc_request::RpcRequest;
pub(in crate::mcp) use self::running::{RunningCall, Step, SuspendedCall};
pub(in crate::mcp) use self::session_state::{
    MOST_SUBSCRIPTIONS, SUBSCRIPTION_BYTES, SessionKey, SessionState,
};
