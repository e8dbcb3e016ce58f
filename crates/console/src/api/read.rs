//! What is read of the server as a whole, of its tools, sources, callers and configuration.

use axum::response::Response;
use http::StatusCode;
use serde_json::json;
use toolmux_http::serve::PathPart;

use crate::answer::{failed, message, store_failed, value};
use crate::calls_query::CallsQuery;
use crate::change::Change;
use crate::operator::Operator;
use crate::series::time;
use crate::view::{self, ToolFilter};

/// How many audit records are shown.
const MOST_AUDIT: usize = 200;

pub(crate) async fn overview(operator: Operator) -> Response {
    value(StatusCode::OK, &view::overview(&operator))
}

pub(crate) async fn tools(operator: Operator) -> Response {
    let filter = ToolFilter::read(&operator.query());
    value(StatusCode::OK, &view::tools(&operator, &filter))
}

pub(crate) async fn tool(operator: Operator, PathPart(tool): PathPart) -> Response {
    match view::tool_detail(&operator, &tool) {
        Some(detail) => value(StatusCode::OK, &detail),
        None => message(StatusCode::NOT_FOUND, "there is no such tool"),
    }
}

pub(crate) async fn sources(operator: Operator) -> Response {
    value(StatusCode::OK, &json!({ "sources": view::sources(&operator) }))
}

pub(crate) async fn restart_source(PathPart(source): PathPart, change: Change) -> Response {
    let Change { operator, .. } = change;
    match operator.web.gateway.restart_source(&operator.caller, &source).await {
        Ok(Some(_)) => {
            let row = view::sources(&operator).into_iter().find(|row| row.name == source);
            value(StatusCode::OK, &row)
        }
        Ok(None) => message(StatusCode::NOT_FOUND, "there is no source of this name that can be restarted"),
        Err(what) => failed(&operator.uri, what),
    }
}

pub(crate) async fn callers(operator: Operator) -> Response {
    let catalog = operator.web.gateway.catalog();
    let toolset = |(name, tools): (&str, usize)| json!({ "name": name, "tools": tools });
    let toolsets: Vec<_> = catalog.toolsets().into_iter().map(toolset).collect();
    let open = operator.web.gateway.admission().info().is_open;
    value(
        StatusCode::OK,
        &json!({ "open": open, "callers": view::callers(&operator), "toolsets": toolsets, "you": operator.caller.name() }),
    )
}

pub(crate) async fn flows(operator: Operator) -> Response {
    let query = CallsQuery { limit: toolmux_core::receipt::KEPT_IN_MEMORY, ..CallsQuery::default() };
    let receipts = operator.web.gateway.receipts().list(|_| true, query.limit);
    value(StatusCode::OK, &json!({ "of_newest": receipts.len(), "flows": view::flows(&receipts) }))
}

pub(crate) async fn configuration(operator: Operator) -> Response {
    value(StatusCode::OK, &operator.console.program.configuration())
}

pub(crate) async fn audit(operator: Operator) -> Response {
    match operator.web.gateway.store().audit_list(MOST_AUDIT).await {
        Ok(records) => {
            let row = |record: &toolmux_core::audit::AuditRecord| json!({ "at": time(record.at), "caller": record.caller, "action": record.action.as_str(), "subject": record.subject });
            value(StatusCode::OK, &json!({ "records": records.iter().map(row).collect::<Vec<_>>() }))
        }
        Err(error) => store_failed(&operator.uri, error),
    }
}
