//! What came of a call: values as trees and tables, texts, images, sound, links. Everything in it was written by the tool, so
//! that nothing of it becomes markup, is loaded, or leads to more than a web address.

use maud::{Markup, html};
use serde_json::Value;
use toolmux_core::outcome::{Content, Outcome, Output, ToolError};
use toolmux_core::refusal::Refusal;

use crate::api::Tried;
use crate::invisible::plain;
use crate::pages::parts::{json_text, state};

/// How many members of one value are shown.
const MOST_MEMBERS: usize = 500;
/// How deep a value is shown as a tree.
const DEEPEST: usize = 24;
/// How many values of one result are shown as a tree; a larger one is shown as text.
const MOST_VALUES: usize = 5_000;
/// How many columns a table has at most.
const MOST_COLUMNS: usize = 12;
/// The kinds of images that browsers show without running anything of them.
const IMAGES: [&str; 6] = ["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/bmp"];

/// The same as text.
pub(crate) fn result_html(tried: &Tried) -> String {
    result(tried).into_string()
}

pub(crate) fn result(tried: &Tried) -> Markup {
    html! {
        div.result {
            @match &tried.answer {
                Ok(outcome) => (outcome_markup(outcome)),
                Err(refusal) => (refusal_markup(refusal)),
            }
            @if let Some(receipt) = &tried.receipt {
                p.small { a data-receipt=(receipt) href={ "../calls/" (receipt) } { "Receipt of this call" } }
            }
        }
    }
}

pub(crate) fn outcome_markup(outcome: &Outcome) -> Markup {
    match outcome {
        Outcome::Returned(output) => html! { p { (state("returned")) } (returned(output)) },
        Outcome::Failed(error) => html! { p { (state("failed")) } (failed(error)) },
    }
}

fn returned(output: &Output) -> Markup {
    let value: Value = serde_json::from_str(output.value.get()).unwrap_or(Value::Null);
    html! {
        @for block in &output.content { (content(block)) }
        @if output.content.is_empty() || !value.is_null() {
            @if output.content.is_empty() { (shown(&value)) } @else { details { summary { "Value" } (shown(&value)) } }
        }
    }
}

fn failed(error: &ToolError) -> Markup {
    html! {
        p.notice.bad role="alert" { (plain(&error.message.public)) }
        @if let Some(detail) = &error.message.developer { details { summary { "For developers" } pre tabindex="0" { (plain(detail)) } } }
        @if let Some(prompt) = &error.prompt { p { (plain(prompt)) } }
        @for block in &error.content { (content(block)) }
        @if error.retry.may_help() { p.small { "Trying again may help." } }
    }
}

fn refusal_markup(refusal: &Refusal) -> Markup {
    let message = refusal.message();
    html! {
        p { (state("refused")) " " span.small { "The tool did not run: " (refusal.name().replace('_', " ")) } }
        p.notice.bad role="alert" { (plain(&message.public)) }
        @if let Some(detail) = &message.developer { details { summary { "For developers" } pre tabindex="0" { (plain(detail)) } } }
        @if let Refusal::Invalid { parameters } = refusal {
            ul.faults { @for fault in parameters { li data-parameter=(fault.parameter) {
                code { @if fault.parameter.is_empty() { "arguments" } @else { (plain(&fault.parameter)) } } " " (plain(&fault.message))
            } } }
        }
        @if let Refusal::Challenged { authorization, .. } = refusal {
            @for challenge in authorization { @if let Some(url) = &challenge.url { p { (link(url, &format!("Allow access to {}", challenge.id))) } } }
        }
    }
}

/// A value: a list of like objects as a table, a text as text, anything else as a tree.
pub(crate) fn shown(value: &Value) -> Markup {
    match value {
        Value::Null => html! { p.empty { "Nothing (null)" } },
        Value::String(text) => prose(text),
        Value::Array(rows) if columns(rows).is_some() => table(rows),
        Value::Array(_) | Value::Object(_) if count(value) > MOST_VALUES => json_text(value),
        Value::Array(_) | Value::Object(_) => html! {
            div.tree { (tree(value, 0)) }
            details { summary { "As JSON" } (json_text(value)) }
        },
        Value::Bool(_) | Value::Number(_) => html! { p.scalar { (value) } },
    }
}

fn prose(text: &str) -> Markup {
    let whole = text.trim();
    if is_address(whole) {
        return html! { p { (link(whole, whole)) } };
    }
    match serde_json::from_str::<Value>(whole).ok().filter(|value| value.is_object() || value.is_array()) {
        Some(value) => {
            html! { (shown(&value)) details { summary { "As text" } pre.text tabindex="0" { (plain(text)) } } }
        }
        None => html! { pre.text tabindex="0" { (plain(text)) } },
    }
}

fn count(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(count).sum::<usize>(),
        Value::Object(members) => 1 + members.values().map(count).sum::<usize>(),
        _ => 1,
    }
}

fn tree(value: &Value, depth: usize) -> Markup {
    let members: Vec<(String, &Value)> = match value {
        Value::Object(members) => members.iter().map(|(name, member)| (name.clone(), member)).collect(),
        Value::Array(items) => {
            items.iter().enumerate().map(|(place, item)| (place.to_string(), item)).collect()
        }
        other => return scalar(other),
    };
    if depth >= DEEPEST {
        return json_text(value);
    }
    html! {
        ul.members {
            @for (name, member) in members.iter().take(MOST_MEMBERS) {
                li {
                    @if (member.is_object() || member.is_array()) && count(member) > 1 {
                        details open[depth < 2] {
                            summary { span.key { (plain(name)) } " " span.small { (size(member)) } }
                            (tree(member, depth + 1))
                        }
                    } @else { span.key { (plain(name)) } " " (scalar(member)) }
                }
            }
            @if members.len() > MOST_MEMBERS { li.small { "and " (members.len() - MOST_MEMBERS) " more" } }
        }
    }
}

fn size(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("[{}]", items.len()),
        Value::Object(members) => format!("{{{}}}", members.len()),
        _ => String::new(),
    }
}

fn scalar(value: &Value) -> Markup {
    match value {
        Value::String(text) if is_address(text) => link(text, text),
        Value::String(text) => html! { span.string { (plain(text)) } },
        other => html! { span.scalar { (other) } },
    }
}

/// The columns of a list of objects whose members are plain values.
fn columns(rows: &[Value]) -> Option<Vec<&str>> {
    let mut columns: Vec<&str> = Vec::new();
    for row in rows {
        for (name, member) in row.as_object()? {
            if member.is_object() || member.is_array() {
                return None;
            }
            if !columns.contains(&name.as_str()) {
                columns.push(name);
            }
        }
    }
    (rows.len() > 1 && !columns.is_empty() && columns.len() <= MOST_COLUMNS).then_some(columns)
}

fn table(rows: &[Value]) -> Markup {
    let columns = columns(rows).unwrap_or_default();
    html! {
        div.scroll { table.list {
            thead { tr { @for column in &columns { th { (plain(column)) } } } }
            tbody { @for row in rows.iter().take(MOST_MEMBERS) { tr {
                @for column in &columns { td { @if let Some(member) = row.get(*column).filter(|m| !m.is_null()) { (scalar(member)) } } }
            } } }
        } }
        @if rows.len() > MOST_MEMBERS { p.small { "and " (rows.len() - MOST_MEMBERS) " more rows" } }
        details { summary { "As JSON" } (json_text(&Value::Array(rows.to_vec()))) }
    }
}

/// A block of content.
fn content(block: &Content) -> Markup {
    let block: Value = serde_json::from_str(block.json().get()).unwrap_or(Value::Null);
    let text = |name: &str| block.get(name).and_then(Value::as_str).unwrap_or_default();
    let is_base64 = |data: &str| data.bytes().all(|b| b.is_ascii_alphanumeric() || b"+/=".contains(&b));
    match text("type") {
        "text" => prose(text("text")),
        "image" if IMAGES.contains(&text("mimeType")) && is_base64(text("data")) => html! {
            figure { img alt="Image that the tool returned" src={ "data:" (text("mimeType")) ";base64," (text("data")) }; }
        },
        "audio"
            if text("mimeType").starts_with("audio/")
                && !text("mimeType").contains([';', ','])
                && is_base64(text("data")) =>
        {
            html! {
                audio controls src={ "data:" (text("mimeType")) ";base64," (text("data")) } {}
            }
        }
        "resource_link" => {
            html! { p { (link(text("uri"), if text("name").is_empty() { text("uri") } else { text("name") })) } }
        }
        "resource" => match block.pointer("/resource/text").and_then(Value::as_str) {
            Some(contents) => {
                html! { p.small { (plain(block.pointer("/resource/uri").and_then(Value::as_str).unwrap_or_default())) } (prose(contents)) }
            }
            None => json_text(&block),
        },
        _ => json_text(&block),
    }
}

fn is_address(text: &str) -> bool {
    (text.starts_with("https://") || text.starts_with("http://")) && !text.contains(char::is_whitespace)
}

/// A link, if it leads to a web address; what it shows is written out otherwise.
fn link(address: &str, words: &str) -> Markup {
    html! {
        @if is_address(address) {
            a href=(address) rel="noopener noreferrer nofollow" target="_blank" { (plain(words)) }
        } @else { span.mono { (plain(words)) " " (plain(address)) } }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use toolmux_core::json_text::raw_of;

    use super::*;

    fn check(value: Value, expect: &[&str], never: &[&str]) {
        let html = shown(&value).into_string();
        for words in expect {
            assert!(html.contains(words), "{words} is not in {html}");
        }
        for words in never {
            assert!(!html.contains(words), "{words} is in {html}");
        }
    }

    #[test]
    fn nothing_of_a_value_becomes_markup() {
        check(json!("<img src=x onerror=alert(1)>"), &["&lt;img src=x"], &["<img"]);
        check(json!({ "<b>": "\u{202e}x" }), &["&lt;b&gt;", "\\u{202e}x"], &["<b>"]);
        check(json!("javascript:alert(1)"), &["javascript:"], &["href"]);
    }

    #[test]
    fn like_objects_are_a_table_and_addresses_are_links() {
        check(json!([{ "a": 1, "b": "x" }, { "a": 2, "c": null }]), &["<table", "<th>c</th>"], &[]);
        check(json!({ "at": "https://example.com/a" }), &["href=\"https://example.com/a\"", "noopener"], &[]);
        check(json!({ "a": [1, 2] }), &["[2]", "<details open>"], &["<table"]);
    }

    #[test]
    fn only_images_that_run_nothing_are_shown() {
        let block = |kind: &str, data: &str| {
            Content::raw(raw_of(&json!({ "type": "image", "mimeType": kind, "data": data })))
        };
        assert!(
            content(&block("image/png", "aGk=")).into_string().contains("src=\"data:image/png;base64,aGk=\"")
        );
        assert!(!content(&block("image/svg+xml", "aGk=")).into_string().contains("<img"));
        assert!(!content(&block("image/png", "x\" onerror=\"y")).into_string().contains("<img"));
    }
}
