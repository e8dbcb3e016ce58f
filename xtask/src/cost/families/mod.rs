//! The cases, one file for each way in.

mod answers;
mod arguments;
mod documents;
mod listings;
mod routes;

use serde_json::{Value, json};

use super::Case;
use super::server::post;
use super::upstream::Script;

pub(super) const FAMILIES: &[&[Case]] =
    &[arguments::CASES, routes::CASES, answers::CASES, listings::CASES, documents::CASES];

/// A configuration with the upstream as its only source.
pub(super) fn config(upstream: &str) -> String {
    format!(
        "store = \"memory\"\n[limits]\nbreaker_failures = 1000000\n[sources.Up]\nkind = \"mcp\"\nurl = \"{upstream}\"\ncoerce = true\n"
    )
}

/// What the upstream of the running server lists: tools that take a list, each by another keyword.
pub(super) fn tools() -> Script {
    let four = json!([{ "type": "integer" }, { "type": "null" }, { "type": "array" }, { "type": "boolean" }]);
    let whole = json!([{ "items": { "type": "integer" } }, { "items": { "type": "null" } }]);
    let twice = json!({ "items": { "$ref": "#/$defs/node" } });
    let schemas = [
        ("anything", json!({})),
        ("integers", json!({ "items": { "type": "integer" } })),
        ("alternatives", json!({ "items": { "anyOf": four } })),
        (
            "nested",
            json!({ "oneOf": [{ "anyOf": whole }, { "oneOf": whole }, { "not": { "type": "array" } }] }),
        ),
        ("unique", json!({ "uniqueItems": true, "contains": { "const": "never" } })),
        ("names", json!({ "propertyNames": { "maxLength": 64 }, "patternProperties": { "^b": false } })),
        ("unevaluated", json!({ "anyOf": [true], "unevaluatedItems": { "type": "integer" } })),
        ("pattern", json!({ "pattern": "^(a+)+$" })),
        ("looking", json!({ "pattern": "(?=.*[A-Z])(?=.*[0-9]).{8,}" })),
        ("recursive", json!({ "$ref": "#/$defs/node" })),
    ];
    let tools = schemas.map(|(name, list)| {
        let node = json!({ "allOf": [twice, twice], "type": ["array", "string"] });
        let schema = json!({ "type": "object", "properties": { "list": list }, "$defs": { "node": node } });
        json!({ "name": name, "inputSchema": schema })
    });
    let templates = ["item://{id}/view", "item://{+path}/x{a}y{b}", "item://{a}{b}{c}{+d}{e}z"];
    let template = |template: &str| json!({ "uriTemplate": template, "name": template });
    Script {
        tools: tools.to_vec(),
        templates: templates.iter().map(|one| template(one)).collect(),
        called: None,
    }
}

/// A call over OXP.
fn call(tool: &str, list: &str) -> Vec<u8> {
    post("/tools/call", &format!("{{\"tool_id\":\"Up.{tool}\",\"input\":{{\"list\":{list}}}}}"))
}

/// A call whose answer is what costs.
pub(super) fn plain_call() -> Vec<u8> {
    call("anything", "[]")
}

/// So many levels of definitions, each made of the next by `level`.
fn bomb(levels: usize, level: impl Fn(Value) -> Value) -> Value {
    let mut definitions = serde_json::Map::new();
    for at in 0..levels {
        let next = json!({ "$ref": format!("#/$defs/l{}", at + 1) });
        definitions.insert(format!("l{at}"), level(next));
    }
    definitions.insert(format!("l{levels}"), json!({ "type": "string" }));
    json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/l0" } }, "$defs": definitions })
}
