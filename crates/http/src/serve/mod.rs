//! What every served route shares: who asks, the bounded body, the list of routes, and what a protocol says of itself.

pub mod curl;
mod open_stream;
mod routes;
mod served;
mod web;

pub use self::open_stream::ShownCredential;
pub use self::routes::{Access, Route, Routes};
pub use self::served::{ClientHeaders, Served, SharedHeaders, router};
pub use self::web::{
    AskedToolset, FETCH_SITE, LONGEST_CALL_ID, PathPart, Received, ServerVersion, Web, WebLimits,
    idempotency_key, json, may_change, trace,
};
