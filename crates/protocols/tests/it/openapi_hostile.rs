//! Documents that are made to cost: each is refused, or served within bounds.

use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use crate::openapi_documents::listed;

/// How long one document may take, in a build that is not optimised.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long the list of one document may be, as text.
const MOST_LISTED: usize = 16 << 20;

enum Expect {
    /// With words that say why.
    Refused(&'static str),
    /// With so many tools.
    Served(usize),
}

use Expect::{Refused, Served};

fn document(paths: Value, schemas: Value) -> String {
    json!({ "openapi": "3.1.0", "info": { "version": "1" }, "paths": paths, "components": { "schemas": schemas } })
        .to_string()
}

/// One operation with this schema as its body, and these components.
fn with_body(schema: Value, schemas: Value) -> String {
    let body = json!({ "required": true, "content": { "application/json": { "schema": schema } } });
    document(json!({ "/a": { "post": { "operationId": "a", "requestBody": body } } }), schemas)
}

fn reference(name: impl std::fmt::Display) -> Value {
    json!({ "$ref": format!("#/components/schemas/{name}") })
}

fn nested(levels: usize, open: &str, close: &str) -> String {
    format!("{{\"openapi\": \"3.1.0\", \"x\": {}{}}}", open.repeat(levels), close.repeat(levels))
}

/// Schemas of which each refers to two of the next level.
fn doubling(levels: usize) -> Value {
    let mut schemas = Map::new();
    for level in 0..levels {
        let next = reference(format!("l{}", level + 1));
        schemas.insert(
            format!("l{level}"),
            json!({ "allOf": [next, next], "properties": { "a": next, "b": next } }),
        );
    }
    schemas.insert(format!("l{levels}"), json!({ "type": "object" }));
    Value::Object(schemas)
}

fn yaml_bomb(levels: usize, width: usize) -> String {
    let mut text = format!("openapi: 3.1.0\na0: &a0 [{}]\n", vec!["x"; width].join(", "));
    for level in 1..levels {
        let items = vec![format!("*a{}", level - 1); width].join(", ");
        text.extend([format!("a{level}: &a{level} [{items}]\n")]);
    }
    text
}

fn many_operations(count: usize) -> String {
    let paths: Map<String, Value> = (0..count)
        .map(|index| (format!("/p{index}"), json!({ "get": { "operationId": format!("o{index}") } })))
        .collect();
    document(Value::Object(paths), json!({}))
}

/// References of which each leads to the next, in a ring.
fn ring(length: usize) -> Value {
    let one = |index: usize| (format!("r{index}"), reference(format!("r{}", (index + 1) % length)));
    Value::Object((0..length).map(one).collect())
}

fn wide_enum(count: usize) -> Value {
    json!({ "type": "object", "properties": { "e": { "enum": (0..count).map(|n| format!("value {n}")).collect::<Vec<_>>() } } })
}

fn shared_by_many(operations: usize, bytes: usize) -> String {
    let big = json!({ "type": "object", "properties": { "a": { "type": "string", "description": "x".repeat(bytes) } } });
    let one = |index: usize| {
        let answer =
            json!({ "description": "d", "content": { "application/json": { "schema": reference("Big") } } });
        (format!("/p{index}"), json!({ "get": { "responses": { "200": answer } } }))
    };
    document(Value::Object((0..operations).map(one).collect()), json!({ "Big": big }))
}

fn rows() -> Vec<(&'static str, String, Expect)> {
    let path_ring =
        json!({ "/a": { "$ref": "#/paths/~1b" }, "/b": { "$ref": "#/paths/~1a" }, "/c": { "get": {} } });
    let parameter_ring =
        json!({ "/a": { "get": { "parameters": [{ "$ref": "#/paths/~1a/get/parameters/0" }] } } });
    let deep_schema = (0..100).fold(json!({ "type": "integer" }), |inner, _| json!({ "not": inner }));
    let deep_object =
        (0..40).fold(json!({ "type": "integer" }), |inner, _| json!({ "properties": { "a": inner } }));
    let itself = json!({ "Self": reference("Self") });
    let tree = json!({ "Tree": { "type": "object", "properties": { "next": reference("Tree"), "all": { "type": "array", "items": reference("Tree") } } } });
    vec![
        ("nothing", String::new(), Refused("no YAML document")),
        ("a scalar", "42".to_owned(), Refused("neither `openapi` nor `swagger`")),
        ("a list", "[]".to_owned(), Refused("neither `openapi` nor `swagger`")),
        ("half a document", "{\"openapi\": \"3.1.0\", ".to_owned(), Refused("not JSON")),
        ("another version", "{\"openapi\": \"4.0.0\"}".to_owned(), Refused("OpenAPI \"4.0.0\" is not known")),
        ("100 MB of blanks", " ".repeat(100 << 20), Refused("larger than")),
        ("100 MB of text", format!("{{\"openapi\": \"{}\"}}", "3".repeat(100 << 20)), Refused("larger than")),
        ("millions of values", format!("{{\"openapi\":\"3.1.0\",\"x\":[{}1]}}", "1,".repeat(3_000_000)), Refused("more than 2000000 values")),
        ("deep lists", nested(100_000, "[", "]"), Refused("recursion limit")),
        ("deep objects", nested(100_000, "{\"a\":", "}"), Refused("not JSON")),
        ("deep YAML", format!("openapi: 3.1.0\nx: {}", "[".repeat(100_000)), Refused("recursion limit")),
        ("deep YAML mappings", (0..2_000).fold("openapi: 3.1.0\n".to_owned(), |text, level| format!("{text}{}a:\n", " ".repeat(level))), Refused("deeper than")),
        ("YAML that multiplies", yaml_bomb(30, 10), Refused("more than 2000000 values")),
        ("YAML that doubles", yaml_bomb(60, 2), Refused("more than 2000000 values")),
        ("long texts by aliases", format!("openapi: 3.1.0\na: &a \"{}\"\nb: [{}]", "x".repeat(1 << 20), vec!["*a"; 200].join(", ")), Refused("bytes of text")),
        ("an alias of itself", "openapi: 3.1.0\na: &a\n  - *a\n".to_owned(), Refused("refers to the value that it stands in")),
        ("an alias of nothing", "openapi: 3.1.0\na: *nowhere\n".to_owned(), Refused("not YAML")),
        ("several documents", "openapi: 3.1.0\n---\nopenapi: 3.1.0\n".to_owned(), Refused("more than one YAML document")),
        ("keys that are lists", "openapi: 3.1.0\n? [a, b]\n: c\n".to_owned(), Refused("a key is not a text")),
        ("merges of merges", format!("openapi: 3.1.0\npaths: {{}}\na: &a {{k: 1}}\nb: {{<<: [{}]}}", vec!["*a"; 1_000].join(", ")), Served(0)),
        ("paths in a ring", document(path_ring, json!({})), Served(1)),
        ("a parameter that is itself", document(parameter_ring, json!({})), Served(0)),
        ("a schema that is itself", with_body(reference("Self"), itself), Served(1)),
        ("a recursive schema", with_body(reference("Tree"), tree), Served(1)),
        ("references that double", with_body(reference("l0"), doubling(60)), Served(1)),
        ("a long ring of references", with_body(json!({ "type": "object", "properties": { "a": reference("r0") } }), ring(5_000)), Served(1)),
        ("a deep schema", with_body(json!({ "type": "object", "properties": { "a": deep_schema } }), json!({})), Served(1)),
        ("a deep object", with_body(deep_object, json!({})), Served(1)),
        ("a huge enum", with_body(wide_enum(200_000), json!({})), Served(1)),
        ("a huge definition", with_body(json!({ "type": "object", "properties": { "a": reference("E") } }), json!({ "E": wide_enum(200_000) })), Served(1)),
        ("one schema for a thousand operations", shared_by_many(1_000, 100_000), Served(1_000)),
        ("many operations", many_operations(20_000), Served(20_000)),
        ("members of the wrong kind", json!({ "openapi": "3.0.0", "info": 7, "servers": "x", "components": [], "security": 1, "tags": {}, "paths": {
            "/a": { "parameters": 1, "get": { "parameters": {}, "responses": [], "tags": 7, "operationId": [], "security": "x" } }, "/b": 7, "/c": { "get": null } } }).to_string(), Served(1)),
        ("control characters", document(json!({ "/a\u{0}\r\n{x}": { "get": { "operationId": "a\r\nb\u{1b}[31m" } } }), json!({})), Served(1)),
    ]
}

#[tokio::test]
async fn hostile_documents_are_refused_or_served_within_bounds() {
    let rows = rows();
    assert!(rows.len() >= 30, "{} rows", rows.len());
    for (name, text, expect) in rows {
        let begun = Instant::now();
        let came = listed(&text, json!({})).await;
        assert!(begun.elapsed() < PATIENCE, "{name} took {:?}", begun.elapsed());
        match (&came, expect) {
            (Ok(listing), Served(tools)) => {
                assert_eq!(listing.tools.len(), tools, "{name}: {:?}", listing.unusable);
                let written = tools_length(listing);
                assert!(written < MOST_LISTED, "{name}: {written} bytes");
            }
            (Err(why), Refused(words)) => assert!(why.contains(words), "{name}: {why}"),
            (came, _) => panic!("{name}: {:?}", came.as_ref().map(|listing| listing.tools.len())),
        }
    }
}

/// How much the schemas take that are not shared.
fn tools_length(listing: &toolmux_core::ports::source::Listing) -> usize {
    listing.tools.iter().map(|tool| tool.input.value().to_string().len() + tool.description.len()).sum()
}
