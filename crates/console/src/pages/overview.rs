//! How the server does, on one page.

use axum::response::Response;
use maud::{Markup, html};
use toolmux_core::plural::counted;
use toolmux_core::receipt::KEPT_IN_MEMORY;

use crate::charts;
use crate::operator::Operator;
use crate::pages::layout::{Page, root_of};
use crate::pages::parts::{number, text};
use crate::pages::sources::source_table;
use crate::view::{self, Overview};

pub(crate) async fn show(operator: Operator) -> Response {
    let overview = view::overview(&operator);
    let receipts = operator.web.gateway.receipts().list(|_| true, KEPT_IN_MEMORY);
    let flows = view::flows(&receipts);
    let mut errors: Vec<(String, u64)> = overview.refusals.clone().into_iter().collect();
    if overview.failed > 0 {
        errors.push(("tool failed".to_owned(), overview.failed));
    }
    errors.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let body = html! {
        div.head { h1 { "Overview" } p.small { "toolmux " (overview.version) } }
        (notices(&overview))
        (tiles(&operator, &overview))
        @if overview.tools > 0 && overview.returned + overview.failed == 0 { (first_call(&operator)) }
        div.charts {
            (charts::calls_per_minute(&overview.minutes))
            (charts::latencies(&overview.minutes))
            (charts::bars("Errors by kind", &errors))
        }
        section aria-labelledby="sources" { h2 #sources { "Sources" } (source_table(&operator, &overview.sources)) }
        (charts::map(&flows, receipts.len()))
    };
    Page { operator: &operator, title: "Overview", at: "console", modules: &["events.js"] }.show(&body)
}

fn notices(overview: &Overview) -> Markup {
    let failing = overview.sources.iter().filter(|source| source.state == "failing").count();
    html! {
        @if let Some(fault) = &overview.store_fault { p.notice.bad role="alert" { "The store records nothing any more until a restart: " (text(fault)) } }
        @if !overview.ready { p.notice.warn { "Not every source was heard of yet: lists may not be complete." } }
        @if failing > 0 { p.notice.bad { (counted(failing, "source")) " failing" } }
        @if overview.open { p.notice { "No key is configured: everybody on this machine may call every tool, and this server listens on loopback only." } }
    }
}

fn tiles(operator: &Operator, overview: &Overview) -> Markup {
    let root = root_of(&operator.uri);
    html! {
        div.tiles #totals data-watch="totals,sources" {
            a.tile href={ (root) "console/tools" } { span.big data-total="tools" { (number(overview.tools as u64)) } "tools"
                @if overview.unserved > 0 { span.small { (number(overview.unserved as u64)) " not served" } } }
            a.tile href={ (root) "console/calls" } { span.big data-total="returned" { (number(overview.returned)) } "calls returned" }
            a.tile href={ (root) "console/calls?failed=true" } { span.big data-total="failed" { (number(overview.failed)) } "calls failed" }
            a.tile href={ (root) "console/calls?failed=true" } { span.big data-total="refused" { (number(overview.refused)) } "requests refused" }
            div.tile { span.big data-total="running" { (number(overview.running)) } "running now" }
        }
    }
}

/// What somebody does who has just started a server.
fn first_call(operator: &Operator) -> Markup {
    let catalog = operator.web.gateway.catalog();
    let mut tools: Vec<_> = catalog.newest(&operator.caller).collect();
    tools.sort_by_key(|entry| entry.hints.read_only != Some(true));
    let root = root_of(&operator.uri);
    html! {
        section.first {
            h2 { "Call a tool" }
            p { @for entry in tools.iter().take(5) { a.button.mono href={ (root) "console/tools/" (entry.id) "#try" } { (text(&entry.flat)) } " " } }
        }
    }
}
