//! Sources and how they do, with what was last heard of them and when.

use axum::response::Response;
use http::{StatusCode, Uri};
use maud::{Markup, html};
use toolmux_http::serve::PathPart;

use crate::answer::{failed, see_other, told};
use crate::change::Change;
use crate::operator::Operator;
use crate::pages::layout::{Page, csrf_field, root_of};
use crate::pages::parts::{age, number, seconds, state, text};
use crate::view::{self, SourceRow};

pub(crate) async fn list(operator: Operator) -> Response {
    let sources = view::sources(&operator);
    let body = html! {
        div.head { h1 { "Sources" } p.small { (sources.len()) } }
        div data-watch="sources" { (source_table(&operator, &sources)) }
    };
    Page { operator: &operator, title: "Sources", at: "console/sources", modules: &["events.js"] }.show(&body)
}

/// Sources as a table, whose cells scripts keep true.
pub(crate) fn source_table(operator: &Operator, sources: &[SourceRow]) -> Markup {
    let root = root_of(&operator.uri);
    html! {
        @if sources.is_empty() { p.empty { "There is no source. " a href={ (root) "console/config" } { "Configuration" } } }
        @else { div.scroll { table.list #source-table {
            thead { tr { th { "Source" } th { "State" } th { "Heard" } th.number { "Tools" } th.number { "Calls" } th.number { "Failed" } th.number { "Mean" } th { "Last error" } } }
            tbody { @for source in sources { tr data-source=(source.name) {
                th scope="row" { a href={ (root) "console/sources/" (source.name) } { (text(&source.name)) } " " span.small { (source.kind) } }
                td data-cell="state" { (state(source.state)) @if source.breaker_seconds.is_some() { " " span.tag.warn { "breaker open" } } }
                td data-cell="heard" { @if let Some(heard) = &source.heard { (age(heard)) } @else { "never" } }
                td.number data-cell="tools" { (number(source.tools as u64)) @if source.remembered { " " span.small title="from an earlier run" { "remembered" } } }
                td.number data-cell="calls" { (number(source.returned + source.failed + source.refused)) }
                td.number data-cell="failed" { @if source.failed > 0 { span.bad { (number(source.failed)) } } }
                td.number data-cell="mean" { @if let Some(mean) = source.mean_seconds { (seconds(mean)) } }
                td.wide data-cell="error" { @if let Some(error) = &source.error { (text(error)) } }
            } } }
        } } }
    }
}

pub(crate) async fn one(operator: Operator, PathPart(name): PathPart) -> Response {
    let Some(source) = view::sources(&operator).into_iter().find(|source| source.name == name) else {
        return told(&operator.uri, StatusCode::NOT_FOUND, "There is no source of this name.");
    };
    let root = root_of(&operator.uri);
    let body = html! {
        p.crumbs { a href={ (root) "console/sources" } { "Sources" } }
        div.head { h1 { (text(&source.name)) } (state(source.state)) }
        (facts(&root, &source))
        @if let Some(error) = &source.error { section { h2 { "Last error" } p.notice.bad { (text(error)) }
            @if let Some(detail) = &source.detail { pre tabindex="0" { (text(detail)) } } } }
        @if source.state != "off" && source.state != "absent" { (restart_form(&operator, &source)) }
    };
    Page { operator: &operator, title: &source.name, at: "console/sources", modules: &[] }.show(&body)
}

fn facts(root: &str, source: &SourceRow) -> Markup {
    html! {
        dl.facts {
            @if !source.kind.is_empty() { div { dt { "Kind" } dd { (source.kind) } } }
            @if !source.place.is_empty() { div { dt { "From" } dd.mono { (text(&source.place)) } } }
            div { dt { "Toolkit" } dd.mono { (text(&source.toolkit)) } }
            div { dt { "Last heard" } dd { @if let Some(heard) = &source.heard { (age(heard)) } @else { "never" } } }
            div { dt { "Tools" } dd { a href={ (root) "console/tools?source=" (source.name) } { (number(source.tools as u64)) }
                @if source.remembered { " remembered from an earlier run" }
                @if source.unserved > 0 { " · " a href={ (root) "console/tools?only=unserved&source=" (source.name) } { (source.unserved) " not served" } }
                @if source.withheld > 0 { " · " (source.withheld) " withheld by the configuration" } } }
            div { dt { "Calls" } dd { (number(source.returned)) " returned · " (number(source.failed)) " failed · " (number(source.refused)) " refused · " (source.running) " running" } }
            @if let Some(mean) = source.mean_seconds { div { dt { "Mean time" } dd { (seconds(mean)) } } }
            div { dt { "Circuit breaker" } dd { @match source.breaker_seconds { Some(left) => { "open for another " (seconds(left)) }, None => "closed" } } }
        }
    }
}

fn restart_form(operator: &Operator, source: &SourceRow) -> Markup {
    html! {
        section {
            h2 { "Restart" }
            form method="post" action=(source.name) {
                (csrf_field(operator))
                p { "A child process is started again, a connection is opened again. The present one serves until then and finishes its calls; one that fails to start changes nothing." }
                label.confirm { input type="checkbox" name="confirm" value="yes" required; " Restart " b { (text(&source.name)) } }
                button { "Restart" }
            }
        }
    }
}

pub(crate) async fn restart(PathPart(name): PathPart, change: Change) -> Response {
    if change.field("confirm").is_none() {
        return see_other(&here(&change.operator.uri));
    }
    let operator = &change.operator;
    match operator.web.gateway.restart_source(&operator.caller, &name).await {
        Ok(Some(_)) => see_other(&here(&operator.uri)),
        Ok(None) => told(
            &operator.uri,
            StatusCode::NOT_FOUND,
            "There is no source of this name that can be restarted.",
        ),
        Err(what) => failed(&operator.uri, what),
    }
}

/// The last part of an address, for a redirect to the page itself.
pub(crate) fn here(uri: &Uri) -> String {
    uri.path().rsplit('/').next().unwrap_or_default().to_owned()
}
