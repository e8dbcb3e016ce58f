//! The tools of a caller as an OpenAPI 3.1 document: one POST each, named as the tool is.

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Map, Value, json};
use toolmux_core::call::Caller;
use toolmux_core::catalog::{Catalog, Entry};
use toolmux_core::tool::{Hints, Returns};

use super::schemas::Components;
use super::wire::error_schema;

/// What is in a document beside tools.
pub(super) struct ApiInfo {
    /// Where the paths begin: an address, or a path on the server that the document came from.
    pub(super) base: String,
    /// The version that the server goes by.
    pub(super) version: String,
    /// Whether callers have to show a key or a token.
    pub(super) asks_for_key: bool,
}

#[derive(Serialize)]
struct Document<'a> {
    openapi: &'static str,
    info: Value,
    servers: [Value; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    security: Option<[Value; 1]>,
    paths: Map<String, Value>,
    components: DocumentComponents<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DocumentComponents<'a> {
    schemas: &'a Map<String, Value>,
    responses: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    security_schemes: Option<Value>,
}

/// The newest version of every tool that the caller may call.
pub(super) fn document(catalog: &Catalog, caller: &Caller, info: &ApiInfo) -> Bytes {
    let mut components = Components::default();
    let paths = catalog
        .newest(caller)
        .map(|entry| (format!("/{}", entry.flat), json!({ "post": operation(entry, &mut components) })));
    let paths: Map<String, Value> = paths.collect();
    components.add("Error", error_schema());
    let error = json!({ "Error": {
        "description": "The call was refused, or the tool failed",
        "headers": { "Retry-After": {
            "description": "Seconds after which the call may succeed", "schema": { "type": "integer" }
        } },
        "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Error" } } }
    } });
    let document = Document {
        openapi: "3.1.0",
        info: json!({ "title": "toolmux", "version": info.version,
            "description": "Tools that are called by POST, with their arguments as a JSON object." }),
        servers: [json!({ "url": info.base })],
        security: info.asks_for_key.then(|| [json!({ "key": [] })]),
        paths,
        components: DocumentComponents {
            schemas: components.schemas(),
            responses: error,
            security_schemes: info.asks_for_key.then(|| {
                json!({ "key": { "type": "http", "scheme": "bearer",
                    "description": "A key of this server, or a token that it takes." } })
            }),
        },
    };
    serde_json::to_vec(&document).expect("a document has text keys only").into()
}

/// One tool as the document has it.
pub(super) fn one_operation(entry: &Entry) -> Value {
    operation(entry, &mut Components::default())
}

fn operation(entry: &Entry, components: &mut Components) -> Value {
    let input = components.place(&format!("{}.input", entry.flat), entry.tool.input.value());
    let required = input_is_required(entry.tool.input.value());
    let mut returned = json!({ "description": "What the tool returned" });
    let output = match &entry.tool.returns {
        Returns::Nothing => Some(json!({ "type": "null" })),
        Returns::Anything => Some(json!({})),
        Returns::Matching(schema) => {
            Some(components.place(&format!("{}.output", entry.flat), schema.value()))
        }
    };
    if let Some(output) = output {
        returned["content"] = json!({ "application/json": { "schema": output } });
    }
    let mut operation = json!({
        "operationId": entry.flat,
        "tags": [entry.id.toolkit],
        "requestBody": { "required": required, "content": { "application/json": { "schema": input } } },
        "responses": { "200": returned, "default": { "$ref": "#/components/responses/Error" } },
        "x-tool-id": entry.id.to_string(),
    });
    if let Some(hints) = hints(entry.tool.hints) {
        operation["x-tool-hints"] = hints;
    }
    if !entry.tool.description.is_empty() {
        operation["description"] = entry.tool.description.as_str().into();
    }
    operation
}

/// What the author says of a tool's behaviour, which OpenAPI has no words for.
fn hints(hints: Hints) -> Option<Value> {
    let said = [
        ("read_only", hints.read_only),
        ("idempotent", hints.idempotent),
        ("destructive", hints.destructive),
        ("open_world", hints.open_world),
    ];
    let said: Map<String, Value> =
        said.into_iter().filter_map(|(name, said)| Some((name.to_owned(), said?.into()))).collect();
    (!said.is_empty()).then_some(Value::Object(said))
}

/// Whether there is an argument that every call must have.
fn input_is_required(schema: &Value) -> bool {
    schema.get("required").and_then(Value::as_array).is_some_and(|names| !names.is_empty())
}
