//! What every served route shares: who asks, the bounded body, the list of routes, and what a protocol says of itself.

mod answer;
mod body;
mod client_headers;
pub mod curl;
mod etag;
mod open_stream;
pub mod page;
mod request;
mod routes;
mod served;
mod web;

pub use self::answer::json;
pub use self::body::Received;
pub use self::client_headers::{ClientHeaders, SharedHeaders};
pub use self::etag::{tag_of, tagged};
pub use self::open_stream::ShownCredential;
pub use self::request::{
    FETCH_SITE, LONGEST_CALL_ID, PathPart, ask_kept_until, idempotency_key, may_change, tell_kept_until,
    trace, trace_state,
};
pub use self::routes::{Access, Route, Routes};
pub use self::served::{Served, ShowTool, router, shared_headers};
pub use self::web::{AskedToolset, ClientCertificate, ServerVersion, Web, WebLimits};
