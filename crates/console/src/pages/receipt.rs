//! The receipt of one call, with its steps as a timeline.

use maud::{Markup, html};
use toolmux_core::hex::to_hex;
use toolmux_core::receipt::{ContentDigest, Receipt, ReceiptKind};

use crate::operator::Operator;
use crate::pages::layout::root_of;
use crate::pages::parts::{age, command_line, json_text, number, seconds, state, text};
use crate::pages::tool::again;

pub(crate) fn receipt_markup(operator: &Operator, receipt: &Receipt) -> Markup {
    let root = root_of(&operator.uri);
    html! {
        p.crumbs { a href={ (root) "console/calls" } { "Calls" } }
        div.head { h1.mono { (text(&receipt.tool)) } (state(receipt.outcome.as_str())) }
        (facts(&root, receipt))
        section aria-labelledby="steps" { h2 #steps { "Steps" } (timeline(receipt)) }
        @if let Some(values) = &receipt.argument_values {
            section aria-labelledby="arguments" { h2 #arguments { "Arguments" }
                @match serde_json::from_str(values) { Ok(value) => (json_text(&value)), Err(_) => pre tabindex="0" { (text(values)) } } }
        }
        @if receipt.kind != ReceiptKind::Relay {
            p.actions {
                a.button href=(again(&operator.uri, &receipt.tool, receipt.argument_values.as_deref())) { "Call again" }
                @if receipt.argument_values.is_none() { span.small { "Arguments are not kept; " code { "receipts.arguments = true" } " keeps them." } }
            }
        }
        (command_line(&format!("toolmux calls show {}", receipt.id)))
        details { summary { "The receipt as JSON" } (json_text(&serde_json::to_value(receipt).unwrap_or_default())) }
    }
}

fn facts(root: &str, receipt: &Receipt) -> Markup {
    html! {
        dl.facts {
            div { dt { "When" } dd { (age(&receipt.time)) } }
            div { dt { "Caller" } dd { a href={ (root) "console/calls?caller=" (receipt.caller) } { (text(&receipt.caller)) }
                @if let Some(user) = &receipt.user { " for " (text(user)) } } }
            @if !receipt.protocol.is_empty() { div { dt { "By" } dd { (receipt.protocol) } } }
            @if let Some(source) = &receipt.source { div { dt { "Source" } dd { a href={ (root) "console/sources/" (source) } { (text(source)) } } } }
            div { dt { "Verdict" } dd { (receipt.verdict.replace('_', " ")) @if receipt.repeated { ", answered from the record" } } }
            div { dt { "Took" } dd { (seconds(receipt.us as f64 / 1e6)) } }
            div { dt { "Attempts" } dd { (receipt.attempts) @for error in &receipt.errors { " · " (error.replace('_', " ")) } } }
            @if let Some(task) = &receipt.task { div { dt { "Task" } dd.mono { a href={ (root) "console/tasks/" (task) } { (text(task)) } } } }
            @if let Some(id) = &receipt.call_id { div { dt { "Idempotency key" } dd.mono { (text(id)) } } }
            @if let Some(trace) = &receipt.trace { div { dt { "Trace" } dd.mono { (text(trace)) } } }
            (digest("Arguments", receipt.arguments.as_ref()))
            (digest("Result", receipt.result.as_ref()))
            div { dt { "Receipt" } dd.mono { (receipt.id) } }
        }
    }
}

fn digest(what: &str, digest: Option<&ContentDigest>) -> Markup {
    html! { @if let Some(digest) = digest {
        div { dt { (what) } dd { (number(digest.bytes)) " bytes " span.mono.small title={ "SHA-256 " (to_hex(&digest.sha256)) } { (&to_hex(&digest.sha256)[..12]) "…" } } }
    } }
}

/// Each step where it began and as long as it took.
fn timeline(receipt: &Receipt) -> Markup {
    let all = receipt.steps.iter().map(|step| step.us).sum::<u64>().max(1) as f64;
    let mut before = 0;
    let rows: Vec<(String, u64, f64)> = receipt
        .steps
        .iter()
        .map(|step| {
            let start = before as f64 / all * 100.0;
            before += step.us;
            (step.step.to_string(), step.us, start)
        })
        .collect();
    html! {
        table.bars.timeline { tbody { @for (step, us, start) in &rows { tr {
            th scope="row" { (step) }
            td { svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true" {
                rect class="p50" x=(format!("{start:.2}")) width=(format!("{:.2}", (*us as f64 / all * 100.0).max(0.4))) height="8" {}
            } }
            td.number { (seconds(*us as f64 / 1e6)) }
        } } } }
    }
}
