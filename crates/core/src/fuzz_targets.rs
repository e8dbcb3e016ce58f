//! Invariants of what core reads, for any bytes: run by this crate's tests for a bounded number of cases, and by
//! `cargo fuzz` for as long as somebody waits (fuzz/README.md). Compiled for these two only.

use std::collections::HashSet;
use std::sync::{Arc, Once};

use serde_json::Value;
use serde_json::value::RawValue;

use crate::arguments::Arguments;
use crate::coercion::coerced;
use crate::json_text::{read_strict, shallow};
use crate::names::{FLAT_LENGTH, ToolId, ToolRef, flat_name, is_plain, plain_name};
use crate::redact::{REDACTED, know, redacted};
use crate::schema::{Schema, depth};
use crate::schema_repair;
use crate::sources::SourceNames;
use crate::toolset::Pattern;
use crate::version::Version;

/// A name, valid examples of the input, and the check.
pub type Target = (&'static str, fn() -> Vec<Vec<u8>>, fn(&[u8]));

/// Every target of this crate.
pub fn targets() -> Vec<Target> {
    [TARGETS, crate::gateway::fuzz_targets::TARGETS, crate::tasks::fuzz_targets::TARGETS].concat()
}

const TARGETS: &[Target] = &[
    ("core_names", name_examples, names),
    ("core_toolset", pattern_examples, toolset),
    ("core_json_text", json_examples, json_text),
    ("core_schema", schema_examples, schema),
    ("core_schema_repair", schema_examples, repair),
    ("core_coercion", schema_examples, coercion),
    ("core_redaction", secret_examples, redaction),
];

fn examples(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

fn name_examples() -> Vec<Vec<u8>> {
    let long = "get_".repeat(20);
    examples(&["Kit.add@1.2.3\nKit_add@2\nadd", "a.list\na_list\na list", "Kit.x@1\nuser@host\né", &long])
}

/// Each line is a name: of a caller, and of a tool of one source.
fn names(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (mut own, mut flat, mut plain) = (HashSet::new(), HashSet::new(), HashSet::new());
    let mut names = SourceNames::new(Some("Kit"));
    for line in text.lines().take(64) {
        let read = ToolRef::either(line);
        assert_eq!(ToolRef::either(&read.to_string()), read, "a name that is written is read as the same");
        if let Ok(version) = line.parse::<Version>() {
            assert_eq!(version.to_string().parse(), Ok(version));
        }
        let _ = Version::nearest(line);
        let bare = flat_name(None, line);
        assert!((1..=FLAT_LENGTH).contains(&bare.len()) && is_plain(&plain_name(line)));
        let Some(given) = names.give(&Arc::from(line)) else { continue };
        assert!((1..=FLAT_LENGTH).contains(&given.flat.len()) && is_plain(&given.plain));
        if own.insert(line) {
            assert!(flat.insert(given.flat) && plain.insert(given.plain), "two tools have one name");
        }
    }
}

fn pattern_examples() -> Vec<Vec<u8>> {
    examples(&[
        "Kit.*\nKit\nadd\nget-env",
        "*\nKit\nadd\nadd",
        "K*.a*d*\nKit\nadd\nx",
        "Kit.get_*\nKit\nget_a\na",
    ])
}

/// A pattern, a toolkit, a tool and the tool's own name: a toolset holds what its pattern says and nothing else.
fn toolset(data: &[u8]) {
    let text = String::from_utf8_lossy(&data[..data.len().min(200)]);
    let mut lines = text.lines();
    let mut line = || lines.next().unwrap_or_default();
    let (pattern, toolkit, tool, own) = (line(), line(), line(), line());
    let id = ToolId { toolkit: toolkit.into(), tool: tool.into(), version: Version::FIRST };
    let (of_toolkit, of_tool) = pattern.split_once('.').unwrap_or((pattern, "*"));
    let is_flat = !pattern.contains(['.', '*'])
        && [tool, own].iter().any(|tool| pattern == format!("{toolkit}_{tool}"));
    let expect = is_flat || fits(of_toolkit, toolkit) && (fits(of_tool, tool) || fits(of_tool, own));
    assert_eq!(
        Pattern::new(pattern).matches(&id, own),
        expect,
        "{pattern:?} on {toolkit:?}, {tool:?}, {own:?}"
    );
}

/// The slow and obvious way to match a pattern: which ends of `text` are reached after each byte of the pattern.
fn fits(pattern: &str, text: &str) -> bool {
    let text = text.as_bytes();
    let mut reached = vec![false; text.len() + 1];
    reached[0] = true;
    for wanted in pattern.bytes() {
        let mut next = vec![false; text.len() + 1];
        for (end, at) in reached.iter().enumerate().filter(|(_, at)| **at).map(|(end, at)| (end, *at)) {
            match wanted {
                b'*' => next[end..].fill(at),
                wanted if text.get(end) == Some(&wanted) => next[end + 1] = true,
                _ => {}
            }
        }
        reached = next;
    }
    reached[text.len()]
}

fn json_examples() -> Vec<Vec<u8>> {
    examples(&[
        r#"{"a":[1,{"b":[2,"]"]}],"c":"[[[","d":1.50}"#,
        r#"{"x":[{"b":1,"b":1}]}"#,
        "[[[[]]],7]",
        r#" {"é":"\u00e9\n","n":12345678901234567890} "#,
    ])
}

/// What we validate is what the text says, and what is cut off is only what lies too deep.
fn json_text(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let plain: Option<Value> = serde_json::from_str(text).ok();
    let strict = read_strict(text).ok();
    if let Some(strict) = &strict {
        assert_eq!(Some(strict), plain.as_ref(), "strict reading gives another value");
        assert_eq!(read_strict(&strict.to_string()).ok().as_ref(), Some(strict));
    }
    for most in [0, 1, 3] {
        let cut = shallow(text, most);
        assert!(cut.len() <= text.len());
        let Some(plain) = &plain else { continue };
        let read: Value = serde_json::from_str(&cut).expect("JSON that is cut is still JSON");
        assert!(depth(&read) <= most + 1, "{cut}");
        // Of two members of one name the reader keeps the last: the text can be deeper than what was read of it.
        assert!(strict.is_none() || depth(plain) > most || cut == text);
    }
    let Ok(raw) = serde_json::from_str::<&RawValue>(text) else { return };
    if let Ok(arguments) = Arguments::read(Some(raw)) {
        assert!(arguments.text().get() == raw.get() || raw.get() == "null");
        assert!(arguments.value().is_object());
    }
}

fn schema_examples() -> Vec<Vec<u8>> {
    examples(&[
        r#"{"schema":{"type":"object","properties":{"a":{"type":"integer","minimum":1},"b":{"enum":["x","y"]}},"required":["a"],"additionalProperties":false},"arguments":{"a":"5","b":"z","c":[1]}}"#,
        r##"{"schema":{"type":"object","properties":{"n":{"$ref":"#/$defs/n"}},"$defs":{"n":{"anyOf":[{"type":"number"},{"type":"null"}]}}},"arguments":{"n":"1.50"}}"##,
        r#"{"schema":{"properties":{"a":{"type":"text","nullable":true,"pattern":"(["},"l":{"type":"array","items":{"type":"boolean"}}}},"arguments":{"l":["true",false,"x"],"a":null}}"#,
        r#"{"schema":{"type":"object","properties":{"o":{"type":"object","properties":{"x":{"type":["array","null"]}}}},"minProperties":2,"oneOf":[{"required":["o"]},{"required":["p"]}]},"arguments":{"o":{"x":"[1, 2]"}}}"#,
    ])
}

/// The two halves of an example, if both are still there.
fn halves(data: &[u8]) -> Option<(Schema, Value)> {
    let mut both: Value = serde_json::from_slice(data).ok()?;
    Some((Schema::new(both.get_mut("schema")?.take()), both.get_mut("arguments")?.take()))
}

/// Faults are the same each time, there are none exactly when the arguments are good, and they stay readable.
fn schema(data: &[u8]) {
    let Some((schema, arguments)) = halves(data) else { return };
    let Ok(validator) = schema.compile() else { return };
    let faults = validator.faults(&arguments, data.len());
    assert_eq!(faults, validator.faults(&arguments, data.len()), "the same arguments have other faults");
    let again = Schema::new(schema.value().clone()).compile().expect("a clone of a good schema is good");
    assert_eq!(faults.is_empty(), again.faults(&arguments, data.len()).is_empty());
    let told: usize = faults.iter().map(|fault| fault.parameter.len() + fault.message.len()).sum();
    assert!(told <= 64 * (data.len() + 256), "{told} bytes of faults for {} bytes", data.len());
}

/// A repaired schema is good and needs no further repair; one that is not repaired is not changed.
fn repair(data: &[u8]) {
    let Some((schema, arguments)) = halves(data) else { return };
    let Ok(repaired) = schema_repair::compile(&schema) else { return };
    assert_eq!(repaired.repairs.is_empty(), repaired.schema == schema, "{:?}", repaired.repairs);
    let told: usize = repaired.repairs.iter().map(String::len).sum();
    assert!(told <= 64 * (data.len() + 256), "{told} bytes of repairs for {} bytes", data.len());
    let again = schema_repair::compile(&repaired.schema).expect("a repaired schema is good");
    assert_eq!(again.repairs, Vec::<String>::new(), "of {}", repaired.schema.value());
    let faults = repaired.validator.faults(&arguments, data.len()).is_empty();
    assert_eq!(faults, again.validator.faults(&arguments, data.len()).is_empty());
}

/// Only texts are converted, each into exactly the JSON that it is.
fn coercion(data: &[u8]) {
    let Some((schema, arguments)) = halves(data) else { return };
    let Ok(text) = serde_json::value::to_raw_value(&arguments) else { return };
    let Ok(arguments) = Arguments::read(Some(&text)) else { return };
    let Some(converted) = coerced(&arguments, schema.value()) else { return };
    assert!(converted.text().get().len() <= text.get().len());
    assert!(is_converted(arguments.value(), converted.value()), "{text} became {}", converted.text());
}

fn is_converted(from: &Value, to: &Value) -> bool {
    match (from, to) {
        (Value::String(text), to) if !to.is_string() => read_strict(text).is_ok_and(|read| read == *to),
        (Value::Array(from), Value::Array(to)) => {
            from.len() == to.len() && from.iter().zip(to).all(|(from, to)| is_converted(from, to))
        }
        (Value::Object(from), Value::Object(to)) => {
            from.keys().eq(to.keys())
                && from.values().zip(to.values()).all(|(from, to)| is_converted(from, to))
        }
        (from, to) => from == to,
    }
}

/// One begins with another, one has what JSON escapes, one has lines, one a scheme.
const SECRETS: [&str; 5] = [
    "fuzzed-secret-one",
    "fuzzed-secret-one-and-more",
    "fuzzed \"quoted\\ secret\" \u{7}é",
    "Bearer fuzzed-bearer-token",
    "fuzzed-first-line-of-a-key\nfuzzed-second-line-of-a-key",
];

fn secret_examples() -> Vec<Vec<u8>> {
    let shown = |text: String| format!("log: \u{1} {text} \u{2}\u{1}, json {text:?}\u{3}\u{4}\n\u{5}");
    SECRETS.iter().map(|secret| shown((*secret).to_owned()).into_bytes()).collect()
}

/// No secret that is known is left in a text, however it is written there. The bytes 1 to 5 stand for a secret as it is,
/// 6 to 10 for the same as JSON, 11 to 15 as Rust writes it.
fn redaction(data: &[u8]) {
    static KNOWN: Once = Once::new();
    KNOWN.call_once(|| SECRETS.into_iter().for_each(know));
    let written = |character: char| {
        let code = (character as usize).wrapping_sub(1);
        let secret = SECRETS[code % SECRETS.len()];
        match code / SECRETS.len() {
            0 => secret.to_owned(),
            1 => Value::from(secret).to_string(),
            2 => format!("{secret:?}"),
            _ => character.to_string(),
        }
    };
    let text: String = String::from_utf8_lossy(data).chars().map(written).collect();
    let shown = redacted(&text);
    for secret in SECRETS {
        assert!(!shown.contains(secret), "{shown}");
        assert!(!shown.contains(Value::from(secret).to_string().trim_matches('"')), "{shown}");
    }
    assert!(
        !shown.contains("fuzzed-bearer-token") && !shown.contains("fuzzed-second-line-of-a-key"),
        "{shown}"
    );
    assert!(shown.len() <= text.len() * REDACTED.len());
}

#[cfg(test)]
mod tests {
    #[test]
    fn targets_hold() {
        toolmux_fuzzing::hold(super::TARGETS);
    }
}
