//! A tool as `tools/list` shows it. What an MCP source listed is passed on as it came, under the name that we give it.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use toolmux_core::catalog::Entry;
use toolmux_core::json_text::{RawJson, to_raw};
use toolmux_core::tool::{Hints, Returns, TaskSupport};

use crate::mcp::MCP;
use crate::mcp::members::Members;
use crate::mcp::revision::Revision;

pub(in crate::mcp) fn tool(entry: &Entry, revision: Revision) -> RawJson {
    let Some(listed) = entry.tool.extra.of_protocol(MCP) else { return native_tool(entry, revision) };
    let Some(mut members) = Members::read(listed) else { return native_tool(entry, revision) };
    members.put("name", &*entry.flat);
    if entry.redescribed {
        members.put("description", entry.tool.description.as_str());
    }
    if entry.reshaped {
        members.put("inputSchema", &*as_object(entry.tool.input.value()));
    }
    if entry.hints != entry.tool.hints {
        let annotations = annotations(entry.hints, members.get("annotations"));
        members.put_raw("annotations", annotations);
    }
    if !revision.is_modern() && !members.get("outputSchema").is_none_or(describes_object) {
        members.remove("outputSchema");
    }
    members.write()
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NativeTool<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    input_schema: Cow<'a, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_schema: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    annotations: Option<RawJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    execution: Option<Value>,
}

fn native_tool(entry: &Entry, revision: Revision) -> RawJson {
    let output_schema = match &entry.tool.returns {
        Returns::Matching(schema) => Some(schema.value()),
        Returns::Nothing | Returns::Anything => None,
    };
    let allowed = |schema: &&Value| revision.is_modern() || schema["type"] == "object";
    let has_hints = Hints { tasks: None, ..entry.hints } != Hints::default();
    to_raw(&NativeTool {
        name: &entry.flat,
        description: &entry.tool.description,
        input_schema: as_object(entry.tool.input.value()),
        output_schema: output_schema.filter(allowed),
        annotations: has_hints.then(|| annotations(entry.hints, None)),
        execution: revision.has_tasks().then(|| json!({ "taskSupport": task_support(entry.hints) })),
    })
    .expect("a tool is writable")
}

fn task_support(hints: Hints) -> &'static str {
    match hints.tasks {
        Some(TaskSupport::Forbidden) => "forbidden",
        None | Some(TaskSupport::Optional) => "optional",
        Some(TaskSupport::Required) => "required",
    }
}

/// MCP wants the root to say that it is an object.
fn as_object(schema: &Value) -> Cow<'_, Value> {
    match schema {
        Value::Object(members) if members.contains_key("type") => Cow::Borrowed(schema),
        Value::Object(members) => {
            let mut whole = serde_json::Map::from_iter([("type".to_owned(), Value::from("object"))]);
            whole.extend(members.clone());
            Cow::Owned(Value::Object(whole))
        }
        _ => Cow::Owned(json!({ "type": "object" })),
    }
}

fn annotations(hints: Hints, listed: Option<&RawValue>) -> RawJson {
    let mut members = Members::read_or_empty(listed);
    for (key, hint) in [
        ("readOnlyHint", hints.read_only),
        ("destructiveHint", hints.destructive),
        ("idempotentHint", hints.idempotent),
        ("openWorldHint", hints.open_world),
    ] {
        if let Some(hint) = hint {
            members.put(key, &hint);
        }
    }
    members.write()
}

fn describes_object(schema: &RawValue) -> bool {
    serde_json::from_str(schema.get()).is_ok_and(|schema: Value| schema["type"] == "object")
}
