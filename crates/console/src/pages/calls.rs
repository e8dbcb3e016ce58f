//! Calls as they end, filtered by the address of the page; and one with its steps.

use axum::response::Response;
use http::StatusCode;
use maud::{Markup, html};
use toolmux_core::receipt::Receipt;
use toolmux_http::serve::PathPart;

use crate::answer::{store_failed, told};
use crate::calls_query::CallsQuery;
use crate::operator::Operator;
use crate::pages::layout::{Page, root_of};
use crate::pages::parts::{age, command_line, number, seconds, state, text};
use crate::pages::receipt::receipt_markup;
use crate::view::{find_receipt, listed_receipts};

/// How many calls a page has.
const ROWS: usize = 200;

pub(crate) async fn list(operator: Operator) -> Response {
    let read = CallsQuery::of_parameters(operator.query());
    let (query, fault) = match read {
        Ok(query) => (CallsQuery { limit: query.limit.max(ROWS), ..query }, None),
        Err(what) => (CallsQuery { limit: ROWS, ..CallsQuery::default() }, Some(what)),
    };
    let listed = match listed_receipts(&operator.web, &query).await {
        Ok(listed) => listed,
        Err(error) => return store_failed(&operator.uri, error),
    };
    let body = html! {
        div.head { h1 { "Calls" }
            p.small { "Receipts in " (listed.kept) @if listed.lost > 0 { ", " span.bad { (number(listed.lost)) " lost" } } } }
        (filters(&operator))
        @if let Some(fault) = fault { p.notice.bad role="alert" { (text(&fault)) } }
        div.live { span.state.off #live { "not live" } " " span.small #missed {} " "
            button.quiet #pause type="button" hidden { "Pause" } }
        (table(&operator, &listed.calls))
        p.empty #none hidden[!listed.calls.is_empty()] { "No call fits yet. " a href={ (root_of(&operator.uri)) "console/tools" } { "Call a tool" } }
        (command_line("toolmux calls --follow"))
    };
    Page { operator: &operator, title: "Calls", at: "console/calls", modules: &["calls.js"] }.show(&body)
}

fn filters(operator: &Operator) -> Markup {
    let value = |name: &str| operator.parameter(name);
    html! {
        form.filters role="search" method="get" {
            input name="tool" value=[value("tool")] placeholder="Tool, such as Kit.*" aria-label="Tool";
            input name="caller" value=[value("caller")] placeholder="Caller" aria-label="Caller" list="callers";
            datalist #callers { @for caller in operator.web.gateway.admission().callers() { option value=(caller.name) {} } }
            input name="since" value=[value("since")] placeholder="Since, such as 1h" aria-label="Since" size="14";
            label.check { input type="checkbox" name="failed" value="true" checked[value("failed").is_some()]; " failed or refused" }
            button { "Filter" }
        }
    }
}

fn table(operator: &Operator, calls: &[Receipt]) -> Markup {
    let root = root_of(&operator.uri);
    html! {
        div.scroll { table.list.calls #calls data-rows=(ROWS) {
            thead { tr { th { "When" } th { "Tool" } th { "Caller" } th { "By" } th { "Outcome" } th.number { "Took" } } }
            tbody { @for call in calls { tr {
                td { a href={ (root) "console/calls/" (call.id) } { (age(&call.time)) } }
                td.mono { @if call.source.is_some() { a href={ (root) "console/tools/" (call.tool) } { (text(&call.tool)) } } @else { (text(&call.tool)) } }
                td { (text(&call.caller)) }
                td { (call.protocol) @if let Some(method) = &call.method { " " (text(method)) } }
                td { (state(call.outcome.as_str())) @if call.verdict != "allowed" { " " span.small { (call.verdict.replace('_', " ")) } } }
                td.number { (seconds(call.us as f64 / 1e6)) }
            } } }
        } }
    }
}

pub(crate) async fn show(operator: Operator, PathPart(id): PathPart) -> Response {
    let receipt = match find_receipt(&operator.web, &id).await {
        Ok(found) => found.and_then(|body| serde_json::from_str::<Receipt>(&body).ok()),
        Err(error) => return store_failed(&operator.uri, error),
    };
    let Some(receipt) = receipt else {
        return told(
            &operator.uri,
            StatusCode::NOT_FOUND,
            "There is no receipt with this id; it may have expired.",
        );
    };
    let body = receipt_markup(&operator, &receipt);
    Page { operator: &operator, title: "Call", at: "console/calls", modules: &[] }.show(&body)
}
