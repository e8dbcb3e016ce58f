//! Connecting an agent: for each known client the lines to paste, with this server's address and a key made for it.

use axum::response::Response;
use maud::{Markup, html};

use crate::api::add_checked;
use crate::change::Change;
use crate::key_management::NewKey;
use crate::operator::Operator;
use crate::pages::layout::{Page, csrf_field};
use crate::pages::parts::{code, snippets, text};
use crate::pages::tool::{base, key_variable};

pub(crate) async fn show(operator: Operator) -> Response {
    page(&operator, None)
}

pub(crate) async fn with_key(change: Change) -> Response {
    let operator = &change.operator;
    let name = change.field("name").unwrap_or_default();
    let key = NewKey { name: name.clone(), toolset: change.field("toolset"), operator: false };
    match add_checked(operator, &key).await {
        Ok(secret) => page(operator, Some((&name, key.toolset.as_deref(), Ok(secret.expose())))),
        Err((_, what)) => page(operator, Some((&name, None, Err(&what)))),
    }
}

type Added<'a> = (&'a str, Option<&'a str>, Result<&'a str, &'a str>);

fn page(operator: &Operator, added: Option<Added<'_>>) -> Response {
    let key = added.and_then(|(_, _, added)| added.ok());
    let wanted = key.or(key_variable(operator));
    let lines = operator.console.program.client_snippets(&base(operator), wanted);
    let body = html! {
        div.head { h1 { "Connect an agent" } p.small.mono { (base(operator)) } }
        @match added {
            Some((name, toolset, Ok(key))) => {
                div.notice.good role="status" { p { "The key of " b { (name) } @if let Some(toolset) = toolset { " for the toolset " (text(toolset)) } " is in the lines below. It is shown only once." } (code(key)) }
            }
            Some((_, _, Err(what))) => { p.notice.bad role="alert" { (text(what)) } }
            None => {}
        }
        (key_form(operator))
        @if lines.is_empty() { p.empty { "This program knows no client." } } @else { div.snippets { (snippets(&lines)) } }
    };
    Page { operator, title: "Connect", at: "console/connect", modules: &[] }.show(&body)
}

fn key_form(operator: &Operator) -> Markup {
    let catalog = operator.web.gateway.catalog();
    let is_open = operator.web.gateway.admission().info().is_open;
    html! {
        @if is_open { p { "This server asks for no key: clients on this machine connect as they are." } }
        details open[!is_open] { summary { "Make a key for it" }
            form.filters method="post" action="connect" {
                (csrf_field(operator))
                input name="name" required maxlength="64" pattern="[A-Za-z0-9_.\\-]+" placeholder="Name of the agent" aria-label="Name of the agent" autocomplete="off";
                select name="toolset" aria-label="Which tools" {
                    option value="" { "every tool" }
                    @for (toolset, tools) in catalog.toolsets() { option value=(toolset) { "toolset " (toolset) " (" (tools) ")" } }
                }
                button { "Make a key" }
            }
            @if is_open { p.notice.warn { "From the first key on, every route but /health asks for one, and so does this console: make one with " code { "--operator" } " first." } }
        }
    }
}
