//! Invariants of what MCP reads on both sides: parameters, members, lines, templates and mirrored headers.

use futures_util::FutureExt;
use http::{HeaderName, HeaderValue};
use serde_json::Value;
use serde_json::value::RawValue;

pub(crate) use super::client::fuzz_targets::TARGETS as ASKED;
use super::lines::{Line, Lines, Memory};
use super::members::Members;
use super::mirror;
pub(crate) use super::serve::fuzz_targets::TARGETS as SERVED;
use super::template::matches;
use super::wire::{Capabilities, Params};
use crate::fuzz_targets::{Target, examples};

pub(crate) const TARGETS: &[Target] = &[
    ("mcp_params", params_examples, params),
    ("mcp_members", params_examples, members),
    ("mcp_lines", line_examples, lines),
    ("mcp_template", template_examples, template),
    ("mcp_mirror", mirror_examples, mirrored),
];

fn params_examples() -> Vec<Vec<u8>> {
    examples(&[
        r#"{"name":"Kit_add","arguments":{"a":1.50},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{"url":{}},"extensions":{"io.modelcontextprotocol/tasks":{}}},"progressToken":7},"task":{"ttl":5}}"#,
        r#"{"uri":"file:///a","cursor":"MTAw","inputResponses":{"a":{}},"requestState":"s","taskId":"t"}"#,
        r#"{"b":12345678901234567890.10,"n\u0061me":"x","a":{ "k" : 1e2 },"é":"\u00e9","\"":[]}"#,
    ])
}

/// What is read of the parameters is what a reader of JSON finds there, and nothing that is there twice is taken.
fn params(data: &[u8]) {
    let Ok(raw) = serde_json::from_slice::<&RawValue>(data) else { return };
    let Ok(params) = Params::read(Some(raw)) else { return };
    let Ok(value) = serde_json::from_str::<Value>(raw.get()) else { return };
    let found = [
        ("name", params.name.as_deref()),
        ("uri", params.uri.as_deref()),
        ("cursor", params.cursor.as_deref()),
        ("requestState", params.request_state.as_deref()),
        ("taskId", params.task_id.as_deref()),
    ];
    // An array is read as the members in their order.
    if value.is_object() {
        for (name, read) in found {
            assert_eq!(value[name].as_str(), read, "`{name}` is read otherwise");
        }
        let arguments = params.arguments.map(|arguments| serde_json::from_str::<Value>(arguments.get()).ok());
        assert!(arguments.flatten().is_none_or(|arguments| arguments == value["arguments"]));
    }
    let capabilities = Capabilities::new(params.meta.unwrap_or_default().capabilities);
    assert!(!capabilities.opens_urls() || capabilities.answers("elicitation/create"));
    assert!(capabilities.can_be_asked() || !capabilities.answers("roots/list"));
    let _ = capabilities.takes_tasks();
}

/// Members that are not changed are written as they came, whatever else is changed.
fn members(data: &[u8]) {
    let Ok(raw) = serde_json::from_slice::<&RawValue>(data) else { return };
    let Some(read) = Members::read(raw) else { return };
    let written = read.write();
    assert_eq!(serde_json::from_str::<Value>(written.get()).ok(), serde_json::from_str(raw.get()).ok());
    let again = Members::read(&written).expect("what is written is read");
    assert_eq!(again.write().get(), written.get());
    let Ok(Value::Object(value)) = serde_json::from_str::<Value>(raw.get()) else { return };
    let mut changed = read.clone();
    changed.remove("new");
    changed.put("new", &value.len());
    let text = changed.write();
    let changed: Value = serde_json::from_str(text.get()).expect("what is written is JSON");
    assert_eq!(changed["new"], value.len());
    assert!(
        value.iter().filter(|(name, _)| *name != "new").all(|(name, value)| changed[name.as_str()] == *value)
    );
    assert!(text.get().len() <= raw.get().len() + 64, "{} bytes for {}", text.get().len(), raw.get().len());
}

fn line_examples() -> Vec<Vec<u8>> {
    let long = "x".repeat(2_000);
    examples(&["{\"id\":1}\n\n{\"id\":2}\r\nno end", &format!("short\n{long}\nafter\n"), "\n\n\n"])
}

/// Lines are those of the stream, in their order; of one that is too long both ends are kept, and no more.
fn lines(data: &[u8]) {
    const MOST: usize = 64;
    let mut lines = Lines::new(data, MOST, Memory::default());
    let mut whole: Vec<&[u8]> = data.split(|byte| *byte == b'\n').collect();
    // What has no end is no line.
    whole.pop();
    for expect in whole {
        match lines.next().now_or_never().flatten().expect("there is another line") {
            Line::Whole(line, _) => assert!(line == expect && line.len() <= MOST),
            Line::TooLong(ends) => {
                assert!(expect.len() > MOST && ends.len() <= 1_024);
                assert!(expect.starts_with(&ends[..MOST]) && expect.ends_with(&ends[ends.len() - MOST..]));
            }
            Line::NoMemory(_) => panic!("nothing counts these lines"),
        }
    }
    assert!(lines.next().now_or_never().flatten().is_none(), "a line that is not in the stream");
}

fn template_examples() -> Vec<Vec<u8>> {
    examples(&[
        "test://t/{id}/data\ntest://t/123/data",
        "file:///{+path}\nfile:///a/b",
        "x://{a}-{b}\nx://1-2",
        "x://a\nx://a",
    ])
}

/// A template without expressions fits itself alone; what fits another begins and ends as it does.
fn template(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (template, uri) = text.split_once('\n').unwrap_or((&text, ""));
    let fits = matches(template, uri);
    match (template.split_once('{'), template.rsplit_once('}')) {
        (None, _) => assert_eq!(fits, template == uri),
        (Some((start, _)), Some((_, end))) if !end.contains('{') => {
            assert!(!fits || (uri.starts_with(start) && uri.ends_with(end)), "{template:?} fits {uri:?}");
        }
        _ => {}
    }
    let crosses = template.contains(['+', '#', '/', '?', '&', '*']);
    assert!(!fits || crosses || !uri.contains('/'), "{template:?} fits {uri:?}");
}

fn mirror_examples() -> Vec<Vec<u8>> {
    examples(&[
        r#"{"schema":{"properties":{"region":{"type":"string","x-mcp-header":"Region"},"deep":{"properties":{"n":{"type":"integer","x-mcp-header":"N"}}}}},"arguments":{"region":"grün","deep":{"n":3}}}"#,
        r#"{"schema":{"properties":{"a":{"type":"boolean","x-mcp-header":"a b"}},"items":{"x-mcp-header":"B"}},"arguments":{"a":true}}"#,
    ])
}

/// Every text survives a header, and a schema without faults mirrors into headers that can be sent.
fn mirrored(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let written = mirror::write(&text);
    assert!(HeaderValue::from_str(&written).is_ok(), "{written:?} is not a header");
    assert_eq!(mirror::read(&written).as_deref(), Some(&*text));
    let _ = mirror::read(&text);
    let Ok(value) = serde_json::from_slice::<Value>(data) else { return };
    let (schema, Some(arguments)) = (&value["schema"], value["arguments"].as_object()) else { return };
    let headers = mirror::headers(schema, arguments);
    assert_eq!(headers.is_empty(), !mirror::mirrors(schema));
    if mirror::fault(schema).is_none() {
        for (name, value) in headers {
            assert!(HeaderName::from_bytes(name.as_bytes()).is_ok(), "{name:?} is not the name of a header");
            assert!(value.is_none_or(|value| HeaderValue::from_str(&mirror::write(&value)).is_ok()));
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn targets_hold() {
        toolmux_fuzzing::hold(super::TARGETS);
    }
}
