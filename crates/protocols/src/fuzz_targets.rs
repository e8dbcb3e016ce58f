//! Invariants of what protocols read, for any bytes: run by this crate's tests for a bounded number of cases, and by
//! `cargo fuzz` for as long as somebody waits (fuzz/README.md). Compiled for these two only. Here is what all protocols
//! share; each protocol has its own in its folder.

use serde_json::Value;
use serde_json::value::RawValue;

use crate::DOCUMENTS;
use crate::documents::inlined_schema::inlined;
use crate::jsonrpc::{NotTheAnswer, Response, RpcMessage, ask, read_answer};

/// A name, valid examples of the input, and the check.
pub type Target = (&'static str, fn() -> Vec<Vec<u8>>, fn(&[u8]));

/// Every target of this crate.
pub fn targets() -> Vec<Target> {
    [
        TARGETS,
        crate::ats::fuzz_targets::TARGETS,
        crate::http_request::fuzz_targets::TARGETS,
        crate::http_tools::fuzz_targets::TARGETS,
        crate::mcp::fuzz_targets::TARGETS,
        crate::mcp::fuzz_targets::SERVED,
        crate::mcp::fuzz_targets::ASKED,
        crate::model::fuzz_targets::TARGETS,
        crate::opendyn::fuzz_targets::TARGETS,
        crate::opendyn::header::fuzz_targets::TARGETS,
        crate::opentool::fuzz_targets::TARGETS,
        crate::oxp::fuzz_targets::TARGETS,
        crate::workflow::fuzz_targets::TARGETS,
    ]
    .concat()
}

const TARGETS: &[Target] = &[
    ("jsonrpc_message", message_examples, message),
    ("inlined_schema", schema_examples, inlined_schema),
    ("documents", document_examples, documents),
];

/// The bytes of some texts.
pub(crate) fn examples(texts: &[&str]) -> Vec<Vec<u8>> {
    texts.iter().map(|text| text.as_bytes().to_vec()).collect()
}

fn message_examples() -> Vec<Vec<u8>> {
    examples(&[
        r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x","arguments":{"a":1.50}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":[1]}"#,
        r#"{"jsonrpc":"2.0","id":"\u0037","result":{"content":[]}}"#,
        r#"{"id":null,"error":{"code":-32700,"message":"no"}}"#,
        r#"{"id":-1.5e3,"error":{"code":1,"message":"x","data":[null]}}"#,
    ])
}

/// Ids, parameters and results go on as they came; what answers another request is not taken as the answer to ours.
fn message(data: &[u8]) {
    let text = |raw: Option<&RawValue>| raw.map(|raw| raw.get().to_owned());
    match RpcMessage::read(data) {
        Ok(RpcMessage::Request { id, method, params }) => {
            let again = ask(Some(id.get()), &method, params.map(RawValue::get));
            let Ok(RpcMessage::Request { id: id2, method: method2, params: params2 }) =
                RpcMessage::read(again.as_bytes())
            else {
                panic!("{again} is not a request")
            };
            assert_eq!((id.get(), &method, text(params)), (id2.get(), &method2, text(params2)));
        }
        Ok(RpcMessage::Notification { method, params }) => {
            let again = ask(None, &method, params.map(RawValue::get));
            let Ok(RpcMessage::Notification { method: method2, params: params2 }) =
                RpcMessage::read(again.as_bytes())
            else {
                panic!("{again} is not a notification")
            };
            assert_eq!((method, text(params)), (method2, text(params2)));
        }
        Ok(RpcMessage::Answer { id, answer }) => {
            let foreign = read_answer(data, |_| false);
            assert!(matches!(foreign, Err(NotTheAnswer::Foreign(id)) if id.chars().count() <= 64));
            if let Ok(result) = answer {
                let again = Response::result(Some(id), result).to_bytes();
                let Ok(RpcMessage::Answer { id: id2, answer: Ok(result2) }) = RpcMessage::read(&again) else {
                    panic!("{} is not an answer", String::from_utf8_lossy(&again))
                };
                assert_eq!((id.get(), result.get()), (id2.get(), result2.get()));
            }
        }
        Err(_) => {}
    }
    if let Ok(answer) = read_answer(data, |_| false) {
        assert!(answer.is_err(), "a result without an id is taken as ours");
    }
}

fn schema_examples() -> Vec<Vec<u8>> {
    examples(&[
        r##"{"type":"object","properties":{"a":{"$ref":"#/$defs/a"},"$ref":{"type":"string"}},"$defs":{"a":{"type":"array","items":{"$ref":"#/$defs/a"}}}}"##,
        r##"{"definitions":{"x":{"enum":[{"$ref":"#/y"}]}},"allOf":[{"$ref":"#/definitions/x","description":"d"},{"$ref":"#/definitions/x"}]}"##,
    ])
}

/// The same schema is written out the same, without references, and never beyond what `MOST_VALUES` allows.
fn inlined_schema(data: &[u8]) {
    fn refers(value: &Value) -> bool {
        match value {
            Value::Object(members) => members.iter().any(|(name, value)| match name.as_str() {
                "$ref" => value.is_string(),
                "properties" | "patternProperties" | "dependentSchemas" => {
                    value.as_object().is_some_and(|named| named.values().any(refers))
                }
                "const" | "enum" | "default" | "examples" | "example" => false,
                _ => refers(value),
            }),
            Value::Array(items) => items.iter().any(refers),
            _ => false,
        }
    }
    let Ok(schema) = serde_json::from_slice::<Value>(data) else { return };
    let written = inlined(&schema);
    assert_eq!(written, inlined(&schema));
    assert!(written.is_object() && !refers(&written), "{written}");
    assert!(written.to_string().len() <= 60_000 * (data.len() + 16));
}

fn document_examples() -> Vec<Vec<u8>> {
    examples(&[
        r##"{"openrpc":"1.3.2","info":{"version":"1"},"methods":[{"name":"a","params":[{"name":"b","schema":{"$ref":"#/components/schemas/C"}},{"$ref":"#/methods/0/params/0"}],"result":{"schema":{"$ref":"#/a~1b"}}}],"components":{"schemas":{"C":{"items":{"$ref":"#/components/schemas/C"}}}}}"##,
        include_str!("../tests/it/opentool_documents/crud.json"),
        include_str!("../tests/it/opentool_documents/faulty.json"),
        r##"{"openworkflow":"1.0.0","info":{"title":"a","version":"1.0.0"},"workflow":{"start":{"function":"Kit.add","arguments":{"a":1},"results":{"sum":0},"next":"end"},"end":{"function":"Kit.add","arguments":{"a":"#/start/results/sum"},"results":{},"next":null}}}"##,
    ])
}

/// Faults of what people write have their place in the text, and are the same each time.
fn documents(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    for kind in DOCUMENTS {
        let faults = (kind.check)(text);
        assert_eq!(faults, (kind.check)(text));
        assert!(faults.len() <= 1_001, "{} faults", faults.len());
        for fault in faults {
            assert!((1..=text.split('\n').count() + 1).contains(&fault.line), "{fault}");
            assert!((1..=text.chars().count() + 2).contains(&fault.column), "{fault}");
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
