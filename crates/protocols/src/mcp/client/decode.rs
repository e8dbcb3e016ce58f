//! What a server says, in the words of the core, together with the original.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use toolmux_core::json_text::{RawJson, raw_of, shallow, to_raw};
use toolmux_core::message::Message;
use toolmux_core::outcome::{Content, Outcome, Output, ToolError};
use toolmux_core::schema::Schema;
use toolmux_core::tool::{Hints, Passthrough, Returns, TaskSupport, Tool};

use crate::jsonrpc;
use crate::mcp::members::Members;
use crate::mcp::wire::{SERVER_INFO, URL_ELICITATION_REQUIRED};
use crate::mcp::{MCP, MCP_ERROR, mirror};

/// How deeply a listed tool is read.
const MOST_DEPTH: usize = 100;

/// What came of a call.
pub(super) enum Called {
    Ended(Outcome),
    /// The server wants answers first.
    InputRequired {
        whole: RawJson,
        requests: Value,
        state: Option<String>,
    },
}

/// Reads the result of `tools/call`.
pub(super) fn result(whole: RawJson) -> Called {
    #[derive(Deserialize, Default)]
    #[serde(rename_all = "camelCase", default)]
    struct Parts {
        result_type: Option<String>,
        content: Option<Vec<RawJson>>,
        #[serde(deserialize_with = "present")]
        structured_content: Option<RawJson>,
        is_error: bool,
        input_requests: Value,
        request_state: Option<String>,
    }
    // A result that cannot be read whole still says whether the tool failed: a failure is never told as a success.
    let unreadable = || Parts { is_error: says_error(&whole), ..Parts::default() };
    let parts: Parts = serde_json::from_str(whole.get()).unwrap_or_else(|_| unreadable());
    if parts.result_type.as_deref() == Some("input_required") {
        return Called::InputRequired { whole, requests: parts.input_requests, state: parts.request_state };
    }
    let content: Vec<Content> = parts.content.unwrap_or_default().into_iter().map(Content::raw).collect();
    let texts = || content.iter().filter_map(Content::as_text).collect::<Vec<String>>();
    let extra = Passthrough::of(MCP, whole);
    if parts.is_error {
        let texts = texts();
        let text = if texts.is_empty() { "The tool failed".to_owned() } else { texts.join("\n") };
        return Called::Ended(Outcome::Failed(ToolError { content, extra, ..ToolError::new(text) }));
    }
    let value = parts.structured_content.unwrap_or_else(|| match texts() {
        _ if content.is_empty() => raw_of(&Value::Null),
        texts if texts.len() == content.len() => raw_of(&Value::String(texts.join("\n"))),
        _ => to_raw(&content).expect("content is writable"),
    });
    Called::Ended(Outcome::Returned(Output { value, content, extra }))
}

fn says_error(result: &RawValue) -> bool {
    Members::read(result)
        .is_some_and(|members| members.get("isError").is_some_and(|value| value.get() == "true"))
}

/// A result without the name of the software that made it: to our callers that would say who we are.
pub(super) fn unsigned(result: RawJson) -> RawJson {
    if !result.get().contains(SERVER_INFO) {
        return result;
    }
    let unsigned = Members::read(&result).and_then(|mut members| {
        let mut meta = Members::read(members.read_as("_meta")?)?;
        meta.remove(SERVER_INFO);
        if meta.is_empty() {
            members.remove("_meta");
        } else {
            members.put_raw("_meta", meta.write());
        }
        Some(members.write())
    });
    unsigned.unwrap_or(result)
}

/// What a result asks before it can be given, and the state to give back.
pub(super) fn asked(result: &RawValue) -> Option<(Value, Option<String>)> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Parts {
        result_type: String,
        #[serde(default)]
        input_requests: Value,
        #[serde(default)]
        request_state: Option<String>,
    }
    let parts: Parts = serde_json::from_str(result.get()).ok()?;
    (parts.result_type == "input_required").then_some((parts.input_requests, parts.request_state))
}

/// `null` is a value like any other.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<RawJson>, D::Error> {
    RawJson::deserialize(deserializer).map(Some)
}

/// A call that was answered with an error.
pub(super) fn error(object: RawJson) -> Outcome {
    let error: Option<jsonrpc::Error<'_>> = serde_json::from_str(object.get()).ok();
    let asks = error.as_ref().is_some_and(|error| error.code == URL_ELICITATION_REQUIRED);
    let text = error.map_or_else(|| "The tool failed".to_owned(), |error| error.message.into_owned());
    let extra = if asks { Passthrough::asking } else { Passthrough::of };
    let error = ToolError::from(Message::public(text));
    Outcome::Failed(ToolError { extra: extra(MCP_ERROR, object), ..error })
}

/// A tool as the server lists it, or its name and why it cannot be used.
pub(super) fn tool(item: &RawValue) -> Result<Tool, (String, String)> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Listed {
        name: String,
        #[serde(default)]
        title: Option<String>,
        #[serde(default)]
        description: Option<String>,
        #[serde(default)]
        input_schema: Option<Value>,
        #[serde(default)]
        output_schema: Option<Value>,
        #[serde(default)]
        annotations: Annotations,
        #[serde(default)]
        execution: Value,
    }
    // Readers of JSON take no deeper nesting; what lies below it is open to anything.
    let read = serde_json::from_str(item.get());
    let read = read.or_else(|_| serde_json::from_str(&shallow(item.get(), MOST_DEPTH)));
    let listed: Listed = read.map_err(|error: serde_json::Error| {
        let value: Value = serde_json::from_str(item.get()).unwrap_or_default();
        (value["name"].as_str().unwrap_or("?").to_owned(), error.to_string())
    })?;
    let schema = listed.input_schema.unwrap_or_else(|| Schema::no_parameters().value().clone());
    if let Some(fault) = mirror::fault(&schema) {
        return Err((listed.name, fault));
    }
    let description = listed.description.or(listed.title).unwrap_or_default();
    let mut tool = Tool::new(listed.name, description, Schema::new(schema));
    tool.returns = listed.output_schema.map_or(Returns::Anything, |s| Returns::Matching(Schema::new(s)));
    let tasks = listed.execution["taskSupport"].as_str().map(task_support);
    tool.hints = Hints { tasks, ..listed.annotations.hints() };
    tool.extra = Passthrough::of(MCP, item.to_owned());
    Ok(tool)
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Annotations {
    #[serde(rename = "readOnlyHint")]
    read_only: Option<bool>,
    #[serde(rename = "idempotentHint")]
    idempotent: Option<bool>,
    #[serde(rename = "destructiveHint")]
    destructive: Option<bool>,
    #[serde(rename = "openWorldHint")]
    open_world: Option<bool>,
}

impl Annotations {
    fn hints(&self) -> Hints {
        Hints {
            read_only: self.read_only,
            idempotent: self.idempotent,
            destructive: self.destructive,
            open_world: self.open_world,
            tasks: None,
        }
    }
}

fn task_support(text: &str) -> TaskSupport {
    match text {
        "optional" => TaskSupport::Optional,
        "required" => TaskSupport::Required,
        _ => TaskSupport::Forbidden,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(came: &str, expect: &str) {
        let came = came.replace("INFO", SERVER_INFO);
        assert_eq!(unsigned(serde_json::from_str(&came).unwrap()).get(), expect.replace("INFO", SERVER_INFO));
    }

    #[test]
    fn a_failure_that_cannot_be_read_whole_is_a_failure() {
        let failed = |text: &str| {
            matches!(result(serde_json::from_str(text).unwrap()), Called::Ended(Outcome::Failed(_)))
        };
        assert!(failed(r#"{"isError":true,"content":"no"}"#));
        assert!(failed(r#"{"isError":true,"content":{"type":"text"},"resultType":5}"#));
        assert!(!failed(r#"{"isError":false,"content":"no"}"#));
        assert!(!failed(r#"{"content":[{"isError":true}]}"#));
    }

    #[test]
    fn results_go_on_without_the_name_of_their_server() {
        check(r#"{"content":[],"_meta":{"INFO":{"name":"x"}},"a": 1}"#, r#"{"content":[],"a":1}"#);
        check(r#"{"_meta":{"own":1e2,"INFO":{}}}"#, r#"{"_meta":{"own":1e2}}"#);
        for untouched in [r#"{ "content" : [] }"#, r#"{"content":[{"text":"INFO"}]}"#, r#""INFO""#] {
            check(untouched, untouched);
        }
    }
}
