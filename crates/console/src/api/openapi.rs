//! The description of the API, in OpenAPI 3.1.

use axum::response::Response;
use http::StatusCode;
use serde_json::{Map, Value, json};

use crate::answer::value;
use crate::operator::Operator;

/// Method, path, what it does, and the parameters of the address.
pub(crate) type Operation =
    (&'static str, &'static str, &'static str, &'static [(&'static str, &'static str)]);

const CALLS: &[(&str, &str)] = &[
    ("caller", "the name of the caller; `*` stands for any text"),
    ("tool", "a pattern over Toolkit.tool"),
    ("failed", "only what did not end well"),
    ("since", "a time, or how long ago: 2026-11-18T04:30:00Z, 1h"),
    ("limit", "how many, 1 to 10000"),
    ("follow", "calls as they end, as server-sent events"),
];

pub(crate) const OPERATIONS: &[Operation] = &[
    ("get", "/console/api/openapi.json", "This document.", &[]),
    ("get", "/console/api/overview", "How the server does: readiness, sources, totals, the last hour.", &[]),
    (
        "get",
        "/console/api/tools",
        "A page of the catalogue.",
        &[
            ("q", "words that the name or description holds"),
            ("source", "the tools of one source"),
            ("toolset", "the tools of one toolset"),
            ("only", "read_only, destructive, needs, called, failing or unserved"),
            ("page", "which page, from 1"),
            ("limit", "how many on a page, 1 to 1000"),
        ],
    ),
    ("get", "/console/api/tools/{tool}", "Everything that is known of a tool, by any of its names.", &[]),
    (
        "post",
        "/console/api/tools/{tool}/call",
        "Calls a tool; the body is its arguments. With `accept: text/event-stream`: progress, log, data, question, ended.",
        &[],
    ),
    ("post", "/console/api/questions/{question}", "Answers a question of a tool that is being called.", &[]),
    ("get", "/console/api/calls", "Receipts, newest first.", CALLS),
    ("get", "/console/api/calls/{receipt}", "One receipt.", &[]),
    (
        "get",
        "/console/api/flows",
        "How many calls went from which caller to which tool of which source.",
        &[],
    ),
    (
        "get",
        "/console/api/tasks",
        "Tasks of every caller, newest first.",
        &[("state", "pending, running, completed, failed or cancelled")],
    ),
    ("get", "/console/api/tasks/{task}", "One task with its outcome and questions.", &[]),
    ("post", "/console/api/tasks/{task}/cancel", "Cancels a task.", &[]),
    (
        "post",
        "/console/api/tasks/{task}/answer",
        "Answers a question of a task: {\"number\", \"answer\"}.",
        &[],
    ),
    ("get", "/console/api/sources", "Every source and how it does.", &[]),
    (
        "post",
        "/console/api/sources/{source}/restart",
        "Restarts a source and waits until it was heard of.",
        &[],
    ),
    ("get", "/console/api/callers", "Callers by key, and toolsets.", &[]),
    ("get", "/console/api/keys", "Keys in the store, without the keys themselves.", &[]),
    (
        "post",
        "/console/api/keys",
        "Adds a key: {\"name\", \"toolset\", \"operator\"}. It is shown once.",
        &[],
    ),
    ("delete", "/console/api/keys/{key}", "Revokes a key.", &[]),
    ("get", "/console/api/consents", "Whose tokens of providers are kept.", &[]),
    (
        "post",
        "/console/api/consents/revoke",
        "Gives such a token back: {\"provider\", \"caller\", \"user\"}.",
        &[],
    ),
    ("get", "/console/api/audit", "The newest audit records.", &[]),
    ("get", "/console/api/config", "The configuration as it was read, without what can be secret.", &[]),
    (
        "get",
        "/console/api/events",
        "What changes, as server-sent events: totals, sources, calls, tasks.",
        &[
            ("watch", "which of them, with commas"),
            ("caller", "as for calls"),
            ("tool", "as for calls"),
            ("failed", "as for calls"),
        ],
    ),
];

pub(crate) async fn openapi(operator: Operator) -> Response {
    value(StatusCode::OK, &document(operator.console.program.version()))
}

fn document(version: &str) -> Value {
    let mut paths = Map::new();
    for (method, path, summary, query) in OPERATIONS {
        let parts = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
        let part = |name: &str| json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } });
        let parameter = |(name, what): &(&str, &str)| json!({ "name": name, "in": "query", "description": what, "schema": { "type": "string" } });
        let parameters: Vec<Value> = parts.map(part).chain(query.iter().map(parameter)).collect();
        let mut operation = json!({ "summary": summary, "parameters": parameters, "responses": {
            "200": { "description": "What was asked for." },
            "401": { "description": "No credential was given, or one that is not known." },
            "403": { "description": "The caller is not an operator." } } });
        if *method == "post" {
            operation["requestBody"] =
                json!({ "content": { "application/json": { "schema": { "type": "object" } } } });
        }
        let item = paths.entry((*path).to_owned()).or_insert_with(|| json!({}));
        item[*method] = operation;
    }
    json!({
        "openapi": "3.1.0",
        "info": { "title": "toolmux: operators' API", "version": version },
        "security": [{ "key": [] }],
        "components": { "securitySchemes": { "key": { "type": "http", "scheme": "bearer" } } },
        "paths": paths,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SERVED;

    #[test]
    fn every_route_of_the_api_is_described() {
        let routes = (SERVED.routes)();
        let api = routes.list().iter().filter(|route| route.path.starts_with("/console/api"));
        let mut served: Vec<(String, String)> =
            api.map(|route| (route.method.as_str().to_lowercase(), route.path.clone())).collect();
        let mut described: Vec<(String, String)> =
            OPERATIONS.iter().map(|(method, path, ..)| ((*method).to_owned(), (*path).to_owned())).collect();
        served.sort();
        described.sort();
        assert_eq!(served, described);
        assert_eq!(
            document("1")["paths"].as_object().map(Map::len),
            Some(served.iter().map(|(_, path)| path).collect::<std::collections::HashSet<_>>().len())
        );
    }
}
