//! Documents of every edition as tools: names, schemas, hints, versions, and what cannot be served.

use serde_json::{Value, json};
use toolmux_core::ports::source::Listing;
use toolmux_core::tool::{Returns, Tool};

use crate::openapi_api::open;

/// What a source lists of a document in a file.
pub(crate) async fn listed(text: &str, more: Value) -> Result<Listing, String> {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("api.txt"), text).expect("written");
    let mut table = json!({ "document": "api.txt", "url": "https://api.example.com" });
    table.as_object_mut().expect("a table").extend(more.as_object().cloned().unwrap_or_default());
    let source = open(table, folder.path()).map_err(|error| error.to_string())?;
    source.tools().await.map_err(|error| error.message().public)
}

async fn tools(document: &Value) -> Vec<Tool> {
    let listing = listed(&document.to_string(), json!({})).await.expect("listed");
    assert_eq!(listing.unusable, [], "{document}");
    for tool in &listing.tools {
        tool.input.compile().unwrap_or_else(|error| panic!("{}: {error}: {}", tool.name, tool.input.value()));
    }
    listing.tools
}

fn input(tool: &Tool) -> &Value {
    tool.input.value()
}

#[tokio::test]
async fn an_operation_of_2_0_is_a_tool() {
    let text = json!({ "type": "string" });
    let document = json!({ "swagger": "2.0", "info": { "title": "t", "version": "v3" }, "consumes": ["application/json"],
        "definitions": { "Pet": { "type": "object", "required": ["name"], "properties": { "name": text } } },
        "parameters": { "page": { "name": "page", "in": "query", "type": "integer", "minimum": 1, "exclusiveMinimum": true, "required": false } },
        "paths": {
            "/pets": {
                "parameters": [{ "$ref": "#/parameters/page" }],
                "get": { "operationId": "list", "summary": "Lists", "description": "Lists all.", "tags": ["pets"],
                    "parameters": [{ "name": "ids", "in": "query", "type": "array", "items": { "type": "integer" }, "collectionFormat": "pipes", "required": true }],
                    "responses": { "200": { "description": "ok", "schema": { "type": "array", "items": { "$ref": "#/definitions/Pet" } } } } },
                "post": { "operationId": "add", "parameters": [{ "name": "pet", "in": "body", "required": true, "schema": { "$ref": "#/definitions/Pet" } }] },
            },
            "/pets/{id}/image": { "post": { "operationId": "upload", "consumes": ["multipart/form-data"], "parameters": [
                { "name": "id", "in": "path", "required": true, "type": "string" },
                { "name": "file", "in": "formData", "type": "file", "description": "The image", "required": true },
                { "name": "note", "in": "formData", "type": "string" }] } },
        } });
    let tools = tools(&document).await;
    let [list, add, upload] = &tools[..] else { panic!("{} tools", tools.len()) };
    assert_eq!(
        (list.description.as_str(), list.version.to_string().as_str()),
        ("Lists all.\n\nTags: pets", "3.0.0")
    );
    assert_eq!(
        *input(list),
        json!({ "type": "object", "additionalProperties": false, "required": ["ids"], "properties": {
            "page": { "type": "integer", "exclusiveMinimum": 1 },
            "ids": { "type": "array", "items": { "type": "integer" } } } })
    );
    let Returns::Matching(schema) = &list.returns else { panic!("{:?}", list.returns) };
    let pet =
        json!({ "type": "object", "required": ["name"], "properties": { "name": { "type": "string" } } });
    assert_eq!(
        *schema.value(),
        json!({ "type": "array", "items": { "$ref": "#/$defs/Pet" }, "$defs": { "Pet": pet } })
    );
    // There is a parameter, and none of its name in the body.
    assert_eq!(input(add)["required"], json!(["name"]));
    assert_eq!(input(add)["properties"]["name"], json!({ "type": "string" }));
    assert_eq!(input(upload)["required"], json!(["id", "file"]));
    assert_eq!(input(upload)["properties"]["file"]["description"], "The image");
    let hints = [list, add].map(|tool| (tool.hints.read_only, tool.hints.idempotent));
    assert_eq!(hints, [(Some(true), Some(true)), (Some(false), Some(false))]);
}

#[tokio::test]
async fn a_body_is_spread_or_an_argument_of_its_own() {
    let object = json!({ "type": "object", "required": ["a"], "properties": { "a": { "type": "integer" } } });
    let either =
        json!({ "oneOf": [object, { "type": "object", "properties": { "b": { "type": "integer" } } }] });
    let query = |name: &str| json!([{ "name": name, "in": "query", "schema": { "type": "string" } }]);
    let operation = |schema: &Value, parameters: Value, required: Value| {
        let mut operation = json!({ "operationId": "x", "parameters": parameters,
            "requestBody": { "content": { "application/json": { "schema": schema } } } });
        if required != Value::Null {
            operation["requestBody"]["required"] = required;
        }
        json!({ "openapi": "3.1.0", "info": { "version": "1" }, "paths": { "/x": { "post": operation } } })
    };
    let none = || json!([]);
    for (document, properties, required) in [
        (operation(&object, none(), json!(true)), vec!["a"], json!(["a"])),
        (operation(&object, query("q"), json!(true)), vec!["q", "a"], json!(["a"])),
        (operation(&object, query("q"), Value::Null), vec!["q", "a"], json!(["a"])),
        // It may be left out, and then nothing of it is required.
        (operation(&object, query("q"), json!(false)), vec!["q", "body"], Value::Null),
        (operation(&object, query("a"), json!(true)), vec!["a", "body"], json!(["body"])),
        (operation(&object, query("body"), json!(true)), vec!["body", "a"], json!(["a"])),
        (operation(&either, none(), json!(true)), vec![], Value::Null),
        (
            operation(&either, query("body"), json!(true)),
            vec!["body", "body_request"],
            json!(["body_request"]),
        ),
        (operation(&json!({ "type": "string" }), none(), json!(true)), vec!["body"], json!(["body"])),
        (
            operation(&json!({ "type": "object" }), query("q"), json!(true)),
            vec!["q", "body"],
            json!(["body"]),
        ),
    ] {
        let tools = tools(&document).await;
        let schema = input(&tools[0]);
        let names: Vec<&str> = schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(
            (names, schema.get("required").cloned().unwrap_or_default()),
            (properties, required),
            "{document}"
        );
        assert_eq!(schema["type"], "object");
    }
}

#[tokio::test]
async fn names_are_unique_and_say_what_is_called() {
    let get = |id: Option<&str>| match id {
        Some(id) => json!({ "get": { "operationId": id } }),
        None => json!({ "get": {} }),
    };
    let document = json!({ "openapi": "3.0.0", "info": { "version": "2024-01" }, "paths": {
        "/a/{b}/c": get(None), "/d": get(Some("same")), "/e": get(Some("same")), "/f": get(Some("repos/list")),
        "/": get(None), "/g-h": get(Some(" ")), "x-own": {} } });
    let tools = tools(&document).await;
    let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
    assert_eq!(names, ["get_a_b_c", "same", "get_e", "repos/list", "get", "get_g-h"]);
    assert_eq!(tools[0].description, "GET /a/{b}/c");
    assert_eq!(input(&tools[0])["required"], json!(["b"]));
}

#[tokio::test]
async fn an_operation_that_cannot_be_called_costs_only_itself() {
    let operation = |extra: Value| {
        let mut operation = json!({ "operationId": "bad" });
        operation.as_object_mut().unwrap().extend(extra.as_object().cloned().unwrap());
        operation
    };
    for (bad, expect) in [
        (operation(json!({ "parameters": [{ "$ref": "#/nowhere" }] })), "`#/nowhere` leads nowhere"),
        (operation(json!({ "parameters": [{ "$ref": "other.yaml#/a" }] })), "bundle them into one"),
        (
            operation(json!({ "parameters": [{ "name": "q", "in": "dreams", "required": true }] })),
            "in `dreams`, which is not known",
        ),
        (operation(json!({ "requestBody": { "$ref": "#/nowhere" } })), "the body of the request"),
    ] {
        let document = json!({ "openapi": "3.0.0", "info": {}, "paths": {
            "/bad": { "get": bad }, "/good": { "get": { "operationId": "good" } } } });
        let listing = listed(&document.to_string(), json!({})).await.expect("listed");
        assert_eq!(listing.tools.len(), 1, "{bad}");
        let [(name, reason)] = &listing.unusable[..] else { panic!("{:?}", listing.unusable) };
        assert_eq!(name, "bad");
        assert!(reason.contains(expect), "{reason}");
    }
}

#[tokio::test]
async fn a_parameter_that_cannot_be_sent_is_left_out_where_nothing_requires_it() {
    let document = json!({ "openapi": "3.0.0", "info": {}, "paths": { "/a": { "get": { "operationId": "a", "parameters": [
        { "in": "query", "name": "", "schema": { "type": "string" } }, { "in": "query" }, { "name": "q", "in": "dreams" },
        { "name": "good", "in": "query", "schema": { "type": "string" } }] } } } });
    let tools = tools(&document).await;
    assert_eq!(input(&tools[0])["properties"], json!({ "good": { "type": "string" } }));
}

#[tokio::test]
async fn patterns_are_those_that_clients_read() {
    let text = |pattern: &str| json!({ "type": "string", "pattern": pattern });
    let query = |name: &str, pattern: &str| json!({ "name": name, "in": "query", "schema": text(pattern) });
    let document = json!({ "openapi": "3.0.0", "info": {}, "paths": { "/a": { "get": { "operationId": "a", "parameters": [
        query("same", "^[a-z]{2}$"), query("escaped", r"^\_\@[\.\-]$"), query("java", r"\A[\p{Print}]+\z")] } } } });
    let tools = tools(&document).await;
    let expect =
        json!({ "same": text("^[a-z]{2}$"), "escaped": text(r"^_@[\.\-]$"), "java": { "type": "string" } });
    assert_eq!(input(&tools[0])["properties"], expect);
}

#[tokio::test]
async fn answers_have_the_schema_of_their_good_statuses() {
    let json_answer = |schema: Value| json!({ "description": "d", "content": { "application/json": { "schema": schema } } });
    let object = json!({ "type": "object", "properties": { "a": { "type": "integer" }, "secret": { "type": "string", "writeOnly": true } } });
    let written = json!({ "type": "object", "properties": { "a": { "type": "integer" } } });
    for (responses, expect) in [
        (
            json!({ "200": json_answer(object.clone()), "404": json_answer(json!({ "type": "string" })) }),
            Some(written.clone()),
        ),
        (
            json!({ "201": json_answer(object.clone()), "2XX": json_answer(object.clone()) }),
            Some(written.clone()),
        ),
        (
            json!({ "200": json_answer(object.clone()), "204": { "description": "none" } }),
            Some(json!({ "anyOf": [written, { "type": "null" }] })),
        ),
        (json!({ "204": { "description": "none" } }), Some(Value::Null)),
        (json!({ "200": { "description": "d", "content": { "text/html": {} } } }), None),
        (json!({ "default": json_answer(object) }), None),
    ] {
        let document = json!({ "openapi": "3.0.0", "info": {}, "paths": { "/a": { "get": { "responses": responses } } } });
        let tools = tools(&document).await;
        let returns = match &tools[0].returns {
            Returns::Anything => None,
            Returns::Nothing => Some(Value::Null),
            Returns::Matching(schema) => Some(schema.value().clone()),
        };
        assert_eq!(returns, expect, "{document}");
    }
}

#[tokio::test]
async fn a_body_that_is_not_json_is_one_text() {
    let object = json!({ "type": "object", "required": ["a"], "properties": { "a": { "type": "integer" } } });
    let body = |media: &str, schema: &Value| {
        let body =
            json!({ "required": true, "description": "A pet", "content": { media: { "schema": schema } } });
        let operation = json!({ "operationId": "x", "requestBody": body });
        json!({ "openapi": "3.1.0", "info": { "version": "1" }, "paths": { "/x": { "post": operation } } })
    };
    for media in ["application/xml", "text/csv", "application/soap+xml", "application/yaml"] {
        let tools = tools(&body(media, &object)).await;
        let expect = json!({ "type": "string", "description": format!("A pet, as `{media}`") });
        assert_eq!(input(&tools[0])["properties"], json!({ "body": expect }), "{media}");
    }
    let bytes = tools(&body("application/x-protobuf", &object)).await;
    assert_eq!(input(&bytes[0])["properties"]["body"]["description"], "A pet");
    assert!(input(&bytes[0])["properties"]["body"]["anyOf"].is_array(), "{}", input(&bytes[0]));

    let old = json!({ "swagger": "2.0", "info": { "version": "1" }, "consumes": ["application/xml"], "paths": { "/x": { "post": {
        "parameters": [{ "name": "pet", "in": "body", "required": true, "schema": object }] } } } });
    assert_eq!(input(&tools(&old).await[0])["properties"]["body"]["type"], "string");

    let file = json!({ "anyOf": [{ "type": "string", "format": "binary" }, { "type": "null" }] });
    let form = json!({ "type": "object", "properties": { "file": file, "note": object } });
    let mut parts = body("multipart/form-data", &form);
    parts["paths"]["/x"]["post"]["requestBody"]["content"]["multipart/form-data"]["encoding"] =
        json!({ "note": { "contentType": "application/xml" } });
    let properties = input(&tools(&parts).await[0])["properties"].clone();
    assert_eq!(properties["note"]["type"], "string", "{properties}");
    assert_eq!(properties["file"]["anyOf"][0]["anyOf"][0]["contentEncoding"], "base64", "{properties}");
    assert_eq!(properties["file"]["anyOf"][1], json!({ "type": "null" }));
}
