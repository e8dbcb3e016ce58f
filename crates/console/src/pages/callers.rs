//! Callers, keys and consents: whose they are, what they open, when they were used, and taking them back. Never a secret,
//! but a new key once.

use axum::response::Response;
use http::StatusCode;
use maud::{Markup, html};
use toolmux_core::ports::store::StoredKey;

use crate::answer::{see_other, store_failed, told};
use crate::api::add_checked;
use crate::change::Change;
use crate::key_management::{NewKey, revoke};
use crate::operator::Operator;
use crate::pages::layout::{Page, csrf_field, root_of};
use crate::pages::parts::{age, code, command_line, text};
use crate::pages::sources::here;
use crate::program::Consent;
use crate::series::time;
use crate::view::{self, CallerRow};

/// How many audit records are shown.
const RECORDS: usize = 20;

pub(crate) async fn show(operator: Operator) -> Response {
    page(&operator, None).await
}

async fn page(operator: &Operator, added: Option<(&str, Result<&str, &str>)>) -> Response {
    let keys = match operator.web.gateway.store().key_list().await {
        Ok(keys) => keys,
        Err(error) => return store_failed(&operator.uri, error),
    };
    let consents = operator.console.program.consents().await;
    let body = html! {
        div.head { h1 { "Callers" } }
        @if let Some((name, added)) = added { (new_key(name, added)) }
        (table(operator, &view::callers(operator)))
        (stored(operator, &keys))
        (add_form(operator))
        section aria-labelledby="consents" { h2 #consents { "Consents" }
            @match consents { Ok(consents) => (consent_table(operator, &consents)), Err(what) => p.notice.bad { (text(&what.public)) } } }
        (audit(operator).await)
    };
    Page { operator, title: "Callers", at: "console/callers", modules: &[] }.show(&body)
}

fn new_key(name: &str, added: Result<&str, &str>) -> Markup {
    html! {
        @match added {
            Ok(key) => { div.notice.good role="status" { p { "The key of " b { (name) } ". It is shown only once: " } (code(key)) } }
            Err(what) => { p.notice.bad role="alert" { (text(what)) } }
        }
    }
}

fn table(operator: &Operator, callers: &[CallerRow]) -> Markup {
    let root = root_of(&operator.uri);
    html! {
        section aria-labelledby="by-key" {
            h2 #by-key { "By key" }
            @if callers.is_empty() { p.empty { "No key is configured: everybody on this machine is let in." } }
            @else { div.scroll { table.list {
                thead { tr { th { "Caller" } th { "Opens" } th { "Key is in" } th { "" } } }
                tbody { @for caller in callers { tr {
                    th scope="row" { (text(&caller.name)) @if caller.name == operator.caller.name() { " " span.tag { "you" } } }
                    td { @match &caller.toolset {
                        Some(toolset) => { "toolset " a href={ (root) "console/tools?toolset=" (toolset) } { (text(toolset)) } }
                        None => { "every tool" @if caller.operator { ", operator" } }
                    } }
                    td { "the " (caller.kept) }
                    td { a href={ (root) "console/calls?caller=" (caller.name) } { "calls" } }
                } } }
            } } }
        }
    }
}

/// Keys in the store, each with when it was made and used, and a way to take it back.
fn stored(operator: &Operator, keys: &[StoredKey]) -> Markup {
    html! {
        @if !keys.is_empty() { section aria-labelledby="stored" {
            h2 #stored { "Keys in the store" }
            div.scroll { table.list {
                thead { tr { th { "Name" } th { "Created" } th { "Last use" } th { "" } } }
                tbody { @for key in keys { tr {
                    th scope="row" { (text(&key.name)) }
                    td { (age(&time(key.created))) }
                    td { @match key.used { Some(used) => (age(&time(used))), None => "never" } }
                    td { @match key.revoked {
                        Some(revoked) => { "revoked " (age(&time(revoked))) }
                        None => (revoke_form(operator, &[("action", "revoke"), ("name", &key.name)])),
                    } }
                } } }
            } }
        } }
    }
}

fn revoke_form(operator: &Operator, fields: &[(&str, &str)]) -> Markup {
    html! {
        details.inline { summary { "Revoke…" }
            form method="post" action="callers" {
                (csrf_field(operator))
                @for (name, value) in fields { input type="hidden" name=(name) value=(value); }
                label.confirm { input type="checkbox" name="confirm" required; " It stops working at once" }
                button.danger { "Revoke" }
            }
        }
    }
}

fn add_form(operator: &Operator) -> Markup {
    let catalog = operator.web.gateway.catalog();
    html! {
        details { summary { "Add a key" }
            form.narrow method="post" action="callers" {
                (csrf_field(operator))
                input type="hidden" name="action" value="add";
                label for="name" { "Name of the caller" }
                input #name name="name" required maxlength="64" pattern="[A-Za-z0-9_.\\-]+" autocomplete="off";
                label for="toolset" { "May call" }
                select #toolset name="toolset" {
                    option value="" { "every tool" }
                    @for (toolset, tools) in catalog.toolsets() { option value=(toolset) { "toolset " (toolset) " (" (tools) ")" } }
                }
                label.check { input type="checkbox" name="operator" value="true"; " operator: may use this console" }
                button { "Add" }
            }
            @if operator.web.gateway.admission().info().is_open { p.notice.warn { "From the first key on, every route but /health asks for one, and so does this console." } }
            (command_line("toolmux keys add NAME --toolset TOOLSET"))
        }
    }
}

fn consent_table(operator: &Operator, consents: &[Consent]) -> Markup {
    html! {
        @if consents.is_empty() { p.empty { "No token of a user is kept." } }
        @else { div.scroll { table.list {
            thead { tr { th { "Provider" } th { "Caller" } th { "User" } th { "" } } }
            tbody { @for consent in consents { tr {
                th scope="row" { (text(&consent.provider)) } td { (text(&consent.caller)) } td { (text(&consent.user)) }
                td { (revoke_form(operator, &[("action", "consent"), ("provider", &consent.provider), ("caller", &consent.caller), ("user", &consent.user)])) }
            } } }
        } } }
        (command_line("toolmux auth list"))
    }
}

async fn audit(operator: &Operator) -> Markup {
    let records = operator.web.gateway.store().audit_list(RECORDS).await.unwrap_or_default();
    html! {
        section aria-labelledby="audit" { h2 #audit { "Last changes" }
            @if records.is_empty() { p.empty { "Nothing was changed yet." } }
            @else { div.scroll { table.list { thead { tr { th { "When" } th { "By" } th { "What" } th { "" } } }
                tbody { @for record in &records { tr {
                    td { (age(&time(record.at))) }
                    td { @if record.caller.is_empty() { "the server" } @else { (text(&record.caller)) } }
                    td.mono { (record.action.as_str()) } td.wide { (text(&record.subject)) }
                } } }
            } } }
        }
    }
}

pub(crate) async fn change(change: Change) -> Response {
    let operator = &change.operator;
    let field = |name: &str| change.field(name).unwrap_or_default();
    match field("action").as_str() {
        "add" => {
            let key = NewKey {
                name: field("name"),
                toolset: change.field("toolset"),
                operator: change.field("operator").is_some(),
            };
            match add_checked(operator, &key).await {
                Ok(secret) => page(operator, Some((&key.name, Ok(secret.expose())))).await,
                Err((_, what)) => page(operator, Some((&key.name, Err(&what)))).await,
            }
        }
        _ if change.field("confirm").is_none() => see_other(&here(&operator.uri)),
        "revoke" => {
            match revoke(&**operator.web.gateway.store(), operator.caller.name(), &field("name")).await {
                Ok(_) => {
                    operator.web.gateway.keys().read().await;
                    see_other(&here(&operator.uri))
                }
                Err(error) => told(&operator.uri, StatusCode::SERVICE_UNAVAILABLE, &error.to_string()),
            }
        }
        "consent" => {
            let consent =
                Consent { provider: field("provider"), caller: field("caller"), user: field("user") };
            match operator.console.program.revoke_consent(&consent).await {
                Ok(_) => see_other(&here(&operator.uri)),
                Err(what) => told(&operator.uri, StatusCode::SERVICE_UNAVAILABLE, &what.public),
            }
        }
        _ => told(&operator.uri, StatusCode::BAD_REQUEST, "This page does not know that action."),
    }
}
