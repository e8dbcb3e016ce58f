//! The routes of the console.

use toolmux_http::serve::{Access, Routes, Served};

use crate::asset::asset;
use crate::{api, pages};

/// The routes of operators.
pub const SERVED: Served = Served {
    name: "console",
    path: "/console",
    routes,
    try_it: |_, _| None,
    shows: None,
    client_headers: None,
};

fn routes() -> Routes {
    pages(api(Routes::default()))
}

fn api(routes: Routes) -> Routes {
    const WHO: Access = Access::Operators;
    routes
        .get("/console/api/openapi.json", WHO, api::openapi)
        .get("/console/api/overview", WHO, api::overview)
        .get("/console/api/tools", WHO, api::tools)
        .get("/console/api/tools/{tool}", WHO, api::tool)
        .post("/console/api/tools/{tool}/call", WHO, api::call_tool)
        .post("/console/api/questions/{question}", WHO, api::answer_question)
        .get("/console/api/calls", WHO, api::calls)
        .get("/console/api/calls/{receipt}", WHO, api::call)
        .get("/console/api/flows", WHO, api::flows)
        .get("/console/api/tasks", WHO, api::tasks)
        .get("/console/api/tasks/{task}", WHO, api::task)
        .post("/console/api/tasks/{task}/cancel", WHO, api::cancel_task)
        .post("/console/api/tasks/{task}/answer", WHO, api::answer_task)
        .get("/console/api/sources", WHO, api::sources)
        .post("/console/api/sources/{source}/restart", WHO, api::restart_source)
        .get("/console/api/callers", WHO, api::callers)
        .get("/console/api/keys", WHO, api::keys)
        .post("/console/api/keys", WHO, api::add_key)
        .delete("/console/api/keys/{key}", WHO, api::revoke_key)
        .get("/console/api/consents", WHO, api::consents)
        .post("/console/api/consents/revoke", WHO, api::revoke_consent)
        .get("/console/api/audit", WHO, api::audit)
        .get("/console/api/config", WHO, api::configuration)
        .get("/console/api/events", WHO, api::events)
}

fn pages(routes: Routes) -> Routes {
    const WHO: Access = Access::Operators;
    routes
        .get("/console/assets/{asset}", Access::Anybody, asset)
        .get("/console/sign-in", Access::Anybody, pages::sign_in)
        .post("/console/sign-in", Access::Anybody, pages::signed_in)
        .post("/console/sign-out", WHO, pages::sign_out)
        .get("/console", WHO, pages::overview)
        .get("/console/tools", WHO, pages::tools)
        .get("/console/tools/{tool}", WHO, pages::tool)
        .post("/console/tools/{tool}", WHO, pages::try_tool)
        .get("/console/calls", WHO, pages::calls)
        .get("/console/calls/{receipt}", WHO, pages::call)
        .get("/console/tasks", WHO, pages::tasks)
        .get("/console/tasks/{task}", WHO, pages::task)
        .post("/console/tasks/{task}", WHO, pages::change_task)
        .get("/console/sources", WHO, pages::sources)
        .get("/console/sources/{source}", WHO, pages::source)
        .post("/console/sources/{source}", WHO, pages::restart_source)
        .get("/console/callers", WHO, pages::callers)
        .post("/console/callers", WHO, pages::change_callers)
        .get("/console/config", WHO, pages::configuration)
        .get("/console/connect", WHO, pages::connect)
        .post("/console/connect", WHO, pages::connect_with_key)
}
