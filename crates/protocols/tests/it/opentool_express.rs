//! What OpenTool cannot say becomes the nearest that it can, and the rest words.

use serde_json::{Value, json};
use toolmux_core::schema::Schema;
use toolmux_core::tool::{Returns, Tool};
use toolmux_protocols::opentool::{Function, Info, OpenTool};

/// The one parameter `x` of a tool, as OpenTool has it: description and schema.
fn check(schema: Value, description: Option<&str>, expect: Value) {
    let function = express(json!({ "type": "object", "properties": { "x": schema } }), Returns::Nothing);
    let told = (function["parameters"][0]["description"].as_str(), &function["parameters"][0]["schema"]);
    assert_eq!(told, (description, &expect));
}

/// Whatever comes out is a document without faults.
fn express(input: Value, returns: Returns) -> Value {
    let mut tool = Tool::new("t", "Does it", Schema::new(input));
    tool.returns = returns;
    let function = Function::of_tool(&tool);
    let info =
        Info { title: "T".into(), description: None, version: "1".into(), extra: serde_json::Map::new() };
    let document = OpenTool {
        opentool: "1.1.0".into(),
        info,
        server: None,
        functions: vec![function.clone()],
        schemas: Vec::new(),
        extra: serde_json::Map::new(),
    };
    assert_eq!(toolmux_protocols::opentool::check(&document.to_json()), Vec::new());
    serde_json::to_value(function).expect("JSON")
}

#[test]
fn keywords_without_a_member_are_told_in_words() {
    check(
        json!({ "type": "integer", "description": "How many", "minimum": 1, "maximum": 9, "default": 3, "format": "int32" }),
        Some("How many (minimum: 1; maximum: 9; default: 3)"),
        json!({ "type": "integer" }),
    );
    check(
        json!({ "type": "string", "pattern": "^a+$", "format": "date", "title": "X", "x-y": 1 }),
        Some("(pattern: ^a+$; format: date)"),
        json!({ "type": "string" }),
    );
    check(
        json!({ "type": "array", "items": { "type": "string" }, "uniqueItems": true, "minItems": 2 }),
        Some("(no item twice; minItems: 2)"),
        json!({ "type": "array", "items": { "type": "string" } }),
    );
}

#[test]
fn null_beside_a_type_is_told_in_words() {
    check(json!({ "type": ["string", "null"] }), Some("(may be null)"), json!({ "type": "string" }));
    check(
        json!({ "anyOf": [{ "type": "integer" }, { "type": "null" }], "description": "N" }),
        Some("N (may be null)"),
        json!({ "type": "integer" }),
    );
    check(
        json!({ "type": ["string", "null"], "enum": ["a", null] }),
        None,
        json!({ "type": "string", "enum": ["a", null] }),
    );
}

#[test]
fn several_types_become_the_nearest_one() {
    check(json!({ "type": ["integer", "number"] }), None, json!({ "type": "number" }));
    check(
        json!({ "type": ["integer", "string"] }),
        Some("(type: integer or string)"),
        json!({ "type": "integer" }),
    );
    check(json!({}), Some("(any JSON value)"), json!({ "type": "string" }));
    check(json!(true), Some("(any JSON value)"), json!({ "type": "string" }));
    check(json!({ "properties": {} }), None, json!({ "type": "object", "properties": {} }));
    check(
        json!({ "type": "array" }),
        None,
        json!({ "type": "array", "items": { "type": "string", "description": "(any JSON value)" } }),
    );
}

#[test]
fn alternatives_are_put_together_where_they_are_alike_and_told_otherwise() {
    check(
        json!({ "oneOf": [{ "const": "a" }, { "enum": ["b", "c"] }] }),
        None,
        json!({ "type": "string", "enum": ["a", "b", "c"] }),
    );
    check(
        json!({ "oneOf": [
            { "type": "object", "properties": { "a": { "type": "string" } }, "required": ["a"] },
            { "type": "object", "properties": { "b": { "type": "integer" } } } ] }),
        Some(
            r#"(one of: [{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},{"type":"object","properties":{"b":{"type":"integer"}}}])"#,
        ),
        json!({ "type": "object", "properties": { "a": { "type": "string" }, "b": { "type": "integer" } } }),
    );
    check(
        json!({ "anyOf": [{ "type": "integer" }, { "type": "boolean" }] }),
        Some(r#"(one of: [{"type":"integer"},{"type":"boolean"}])"#),
        json!({ "type": "integer" }),
    );
    check(
        json!({ "allOf": [{ "properties": { "a": { "type": "string" } }, "required": ["a"] }, { "properties": { "b": {} } }] }),
        None,
        json!({ "type": "object", "required": ["a"], "properties": {
            "a": { "type": "string" }, "b": { "type": "string", "description": "(any JSON value)" } } }),
    );
}

#[test]
fn mixed_choices_are_told_in_words() {
    check(json!({ "enum": [1, "a"] }), Some(r#"(one of: [1,"a"])"#), json!({ "type": "integer" }));
}

#[test]
fn references_stand_where_they_are_used_and_cycles_are_cut() {
    let input = json!({ "type": "object", "properties": { "tree": { "$ref": "#/$defs/tree", "description": "The root" } },
        "$defs": { "tree": { "type": "object", "properties": { "left": { "$ref": "#/$defs/tree" } } } } });
    let function = express(input, Returns::Nothing);
    assert_eq!(
        function["parameters"][0],
        json!({ "name": "tree", "description": "The root", "required": false, "schema": { "type": "object", "properties": {
            "left": { "type": "object", "description": "(of the same form as what it stands in: #/$defs/tree)", "properties": {} } } } })
    );
}

#[test]
fn what_holds_for_all_arguments_goes_into_the_description() {
    let input = json!({ "type": "object", "properties": { "a": { "type": "string" } }, "minProperties": 1,
        "anyOf": [{ "required": ["a"] }] });
    let told = express(input, Returns::Nothing)["description"].clone();
    assert_eq!(told, "Does it (minProperties: 1; arguments must fit anyOf: [{\"required\":[\"a\"]}])");
}

#[test]
fn what_a_tool_gives_is_told_under_the_name_result() {
    let returns = |returns: Returns| express(json!({}), returns).get("return").cloned();
    assert_eq!(returns(Returns::Nothing), None);
    let anything = json!({ "name": "result", "schema": { "type": "object", "properties": {} } });
    assert_eq!(returns(Returns::Anything), Some(anything));
    let number = json!({ "name": "result", "description": "A sum", "schema": { "type": "number" } });
    let schema = Schema::new(json!({ "type": "number", "description": "A sum" }));
    assert_eq!(returns(Returns::Matching(schema)), Some(number));
}
