//! One tool: what it takes and gives, who may call it and why, how each protocol shows it, and a form that calls it.

use std::fmt::Write as _;

use axum::response::Response;
use http::{StatusCode, Uri};
use maud::{Markup, html};
use toolmux_core::names::ToolRef;
use toolmux_core::progress::Progress;
use toolmux_http::serve::PathPart;

use crate::answer::told;
use crate::api::{Tried, arguments_of, request_of, try_call};
use crate::change::Change;
use crate::operator::Operator;
use crate::pages::layout::{Page, root_of};
use crate::pages::parts::{json_text, number, seconds, snippets, state, text};
use crate::pages::result::result;
use crate::pages::try_form::try_form;
use crate::view::{ToolDetail, tool_detail};

pub(crate) async fn show(operator: Operator, PathPart(name): PathPart) -> Response {
    // What a call was repeated from, or what somebody sent a link to.
    let arguments = operator.parameter("arguments");
    page(&operator, &name, arguments.as_deref(), None)
}

/// What a form sends without scripts.
pub(crate) async fn try_tool(PathPart(name): PathPart, change: Change) -> Response {
    let sent = change.field("arguments").unwrap_or_default();
    let operator = &change.operator;
    let tried = match arguments_of(&sent) {
        Ok(arguments) => {
            let gateway = &operator.web.gateway;
            try_call(gateway, &operator.caller, request_of(&name, arguments), &Progress::unheard()).await
        }
        Err(what) => Tried {
            answer: Err(toolmux_core::refusal::Refusal::Malformed(toolmux_core::message::Message::public(
                what,
            ))),
            receipt: None,
        },
    };
    page(operator, &name, Some(&sent), Some(&tried))
}

fn page(operator: &Operator, name: &str, arguments: Option<&str>, tried: Option<&Tried>) -> Response {
    let Some(tool) = tool_detail(operator, name) else {
        return told(
            &operator.uri,
            StatusCode::NOT_FOUND,
            "There is no such tool; its source may have dropped it.",
        );
    };
    let title = tool.name.clone();
    let body = html! {
        p.crumbs { a href={ (root_of(&operator.uri)) "console/tools" } { "Tools" } " / "
            a href={ (root_of(&operator.uri)) "console/sources/" (tool.source) } { (text(&tool.source)) } }
        div.head { h1.mono { (text(&tool.name)) } (hints(&tool)) }
        p.description { (text(tool.description.trim())) }
        (numbers(operator, &tool))
        section aria-labelledby="try" {
            h2 #try { "Try it" }
            (try_form(operator, &tool, arguments))
            div #result aria-live="polite" { @if let Some(tried) = tried { (result(tried)) } }
        }
        (parameters(&tool))
        (who(&tool))
        (more(operator, &tool, arguments))
    };
    let page = Page { operator, title: &title, at: "console/tools", modules: &["try.js"] };
    let refused = tried.is_some_and(|tried| tried.answer.is_err());
    page.show_as(if refused { StatusCode::UNPROCESSABLE_ENTITY } else { StatusCode::OK }, &body)
}

fn hints(tool: &ToolDetail) -> Markup {
    let is = |hint: &str| tool.hints[hint] == true;
    html! {
        div.tags {
            @if is("read_only") { span.tag { "read-only" } }
            @if is("idempotent") { span.tag { "idempotent" } }
            @if is("destructive") { span.tag.warn { "destructive" } }
            @if is("open_world") { span.tag { "open world" } }
            @for what in &tool.changed { span.tag title="Changed by the configuration" { (what) " changed" } }
        }
    }
}

fn numbers(operator: &Operator, tool: &ToolDetail) -> Markup {
    let root = root_of(&operator.uri);
    html! {
        dl.facts {
            div { dt { "Id" } dd.mono { (tool.id) } }
            @if tool.versions.len() > 1 {
                div { dt { "Versions" } dd { @for id in &tool.versions { a.mono href={ (root) "console/tools/" (id) } { (id.rsplit('@').next().unwrap_or(id)) } " " } } }
            }
            div { dt { "Calls since the start" } dd {
                a href={ (root) "console/calls?tool=" (tool.id) } { (number(tool.returned + tool.failed + tool.refused)) }
                @if tool.failed > 0 { " · " span.bad { (number(tool.failed)) " failed" } }
                @if tool.refused > 0 { " · " (number(tool.refused)) " refused" }
                @if tool.running > 0 { " · " (tool.running) " running" }
            } }
            @if let Some(mean) = tool.mean_seconds { div { dt { "Mean time" } dd { (seconds(mean)) } } }
            div { dt { "Time limit" } dd { (seconds(tool.timeout_seconds)) } }
            div { dt { "At a time" } dd { (tool.concurrency) ", " (number(tool.queue as u64)) " wait" } }
        }
    }
}

fn parameters(tool: &ToolDetail) -> Markup {
    html! {
        section aria-labelledby="parameters" {
            h2 #parameters { "Parameters" }
            @if tool.parameters.is_empty() { p.empty { "It takes none, or its schema does not name them." } }
            @else {
                div.scroll { table.list {
                    thead { tr { th { "Name" } th { "Type" } th { "Rules" } th { "Description" } } }
                    tbody { @for row in &tool.parameters { tr {
                        th scope="row" { span.mono.(indent(row.depth)) { (text(&row.path)) } @if row.required { span.required title="required" { " *" } } }
                        td { (text(&row.kind)) }
                        td { @for rule in &row.rules { span.rule { (text(rule)) } " " } }
                        td.wide { (text(&row.description)) }
                    } } }
                } }
                p.small { "* required" }
            }
            details { summary { "Input schema" } (json_text(&tool.input)) }
            @if let Some(output) = &tool.output { details { summary { "Output schema" } (json_text(output)) } }
            @if !tool.repairs.is_empty() {
                details { summary { "Repairs of the schema" } ul { @for repair in &tool.repairs { li { (text(repair)) } } } }
            }
        }
    }
}

fn indent(depth: usize) -> &'static str {
    ["in0", "in1", "in2", "in3", "in4"][depth.min(4)]
}

fn who(tool: &ToolDetail) -> Markup {
    html! {
        section aria-labelledby="who" {
            h2 #who { "Who may call it" }
            div.scroll { table.list {
                thead { tr { th { "Caller" } th { "" } th { "Why" } } }
                tbody { @for row in &tool.access { tr {
                    th scope="row" { (text(&row.caller)) }
                    td { (state(if row.allowed { "allowed" } else { "not allowed" })) }
                    td.wide { (text(&row.why)) }
                } } }
            } }
            @if !tool.toolsets.is_empty() { p.small { "In the toolsets " (tool.toolsets.join(", ")) "." } }
            @if tool.requires["secrets"].as_array().is_some_and(|s| !s.is_empty()) || tool.requires["authorization"].as_array().is_some_and(|s| !s.is_empty()) {
                details { summary { "What it requires" } (json_text(&tool.requires)) }
            }
            @if !tool.withheld.is_empty() {
                p.notice.warn { "Withheld: the configuration does not let this server give it " (text(&tool.withheld.join(", "))) "; callers have to bring that." }
            }
            @if !tool.fixed.is_empty() { p.small { "Fixed by the configuration: " (text(&tool.fixed.join(", "))) } }
        }
    }
}

/// Lines to paste, and the tool as each protocol shows it.
fn more(operator: &Operator, tool: &ToolDetail, arguments: Option<&str>) -> Markup {
    let catalog = operator.web.gateway.catalog();
    let Some(place) = catalog.find(&ToolRef::either(&tool.id)) else { return html! {} };
    let given = arguments.and_then(|text| serde_json::from_str(text).ok());
    let arguments = given.unwrap_or_else(|| tool.example.clone());
    let lines = operator.console.program.call_snippets(
        &base(operator),
        key_variable(operator),
        catalog.entry(place),
        &arguments,
    );
    html! {
        @if !lines.is_empty() { section aria-labelledby="paste" { h2 #paste { "Paste" }
            div.snippets { (snippets(&lines)) } } }
        @if !tool.protocols.is_empty() {
            section aria-labelledby="protocols" {
                h2 #protocols { "As each protocol shows it" }
                @for view in &tool.protocols {
                    details { summary { (view.protocol) " " span.mono.small { (text(&view.name)) } } (json_text(&view.shown)) }
                }
            }
        }
    }
}

/// The variable that keys are in, where callers have to show one.
pub(crate) fn key_variable(operator: &Operator) -> Option<&'static str> {
    (!operator.web.gateway.admission().info().is_open).then_some("$TOOLMUX_KEY")
}

/// Where the browser reached this server.
pub(crate) fn base(operator: &Operator) -> String {
    if let Some(public) = operator.web.gateway.admission().info().public_url {
        return public.trim_end_matches('/').to_owned();
    }
    let host = operator.headers.get(http::header::HOST).and_then(|host| host.to_str().ok());
    let host = host.or_else(|| operator.uri.authority().map(http::uri::Authority::as_str));
    let mut base = operator.console.cookie.scheme().to_owned();
    write!(base, "://{}", host.unwrap_or("127.0.0.1:9627")).expect("writing to a text cannot fail");
    base
}

/// The address of a page that calls a tool again with the same arguments.
pub(crate) fn again(uri: &Uri, tool: &str, arguments: Option<&str>) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    if let Some(arguments) = arguments {
        query.append_pair("arguments", arguments);
    }
    format!("{}console/tools/{tool}?{}#try", root_of(uri), query.finish())
}
