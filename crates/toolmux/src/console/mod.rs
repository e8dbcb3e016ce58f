//! What operators ask of a running server: `/console/api`.

mod answer;
mod calls;
mod keys;
mod query;

use toolmux_http::serve::{Access, Routes, Served};

pub(crate) use self::query::{MOST_LISTED, since};

/// The routes of operators.
pub(crate) const SERVED: Served =
    Served { name: "console", path: "/console/api/calls", routes, try_it: |_, _| None, client_headers: None };

fn routes() -> Routes {
    Routes::default()
        .get("/console/api/calls", Access::Operators, calls::list)
        .get("/console/api/calls/{receipt}", Access::Operators, calls::show)
        .get("/console/api/keys", Access::Operators, keys::list)
        .post("/console/api/keys", Access::Operators, keys::add)
        .delete("/console/api/keys/{key}", Access::Operators, keys::remove)
}
