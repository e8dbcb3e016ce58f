//! What a served protocol tells the rest of the program.

use std::sync::Arc;

use axum::Router;
use serde_json::Value;
use toolmux_core::catalog::Entry;

use super::client_headers::{ClientHeaders, SharedHeaders};
use super::routes::Routes;
use super::web::Web;

/// Gives the name by which a protocol serves a tool, and what it says of it.
pub type ShowTool = fn(&Arc<Entry>) -> Option<(String, Value)>;

/// A protocol that we answer.
pub struct Served {
    /// Its name, for people.
    pub name: &'static str,
    /// Where it is, for people: `/opentool`.
    pub path: &'static str,
    /// Its routes, each on a list with who may use it.
    pub routes: fn() -> Routes,
    /// A command line that tries it on a tool.
    pub try_it: fn(base: &str, tool: &Entry) -> Option<String>,
    /// The name by which it serves a tool, and what it says of it in its lists; none where it lists no tools.
    pub shows: Option<ShowTool>,
    /// What its clients send and expect at addresses that are not its own as well.
    pub client_headers: Option<ClientHeaders>,
}

/// The headers of the clients of these protocols.
pub fn shared_headers<'a>(served: impl IntoIterator<Item = &'a Served>) -> SharedHeaders {
    SharedHeaders::of(served.into_iter().filter_map(|served| served.client_headers.as_ref()))
}

/// The routes of these protocols.
pub fn router<'a>(served: impl IntoIterator<Item = &'a Served>) -> Router<Arc<Web>> {
    served.into_iter().fold(Router::new(), |all, served| all.merge((served.routes)().into_router()))
}
