//! APIs behind OpenAPI documents, called through a gateway: what is sent, what is required, and when a document is fetched.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use toolmux_core::gateway::{Gateway, Settings};
use toolmux_core::memory::MemoryStore;
use toolmux_core::ports::store::Store;
use toolmux_core::requirements::GrantAllowlist;
use toolmux_core::secret::Secret;
use toolmux_core::sources::{Mount, Naming};

use crate::loopback::contract::until;
use crate::openapi_api::{EchoApi, call, gateway_for, gateway_of, open, told};
use crate::oxp::SETTLE;

/// A document of 3.0 with these paths.
fn document(paths: Value) -> Value {
    let pet = json!({ "type": "object", "required": ["name"], "properties": {
        "id": { "type": "integer", "readOnly": true },
        "name": { "type": "string" },
        "children": { "type": "array", "items": { "$ref": "#/components/schemas/Pet" } },
    } });
    let schemes = json!({
        "key": { "type": "apiKey", "in": "header", "name": "X-Key" },
        "asked": { "type": "apiKey", "in": "query", "name": "k" },
        "cookie": { "type": "apiKey", "in": "cookie", "name": "session" },
        "basic": { "type": "http", "scheme": "basic" },
        "bearer": { "type": "http", "scheme": "bearer" },
    });
    json!({ "openapi": "3.0.3", "info": { "title": "API", "version": "2.1" }, "servers": [{ "url": "/v1" }],
        "paths": paths, "components": { "schemas": { "Pet": pet }, "securitySchemes": schemes } })
}

fn parameter(name: &str, place: &str, schema: Value) -> Value {
    json!({ "name": name, "in": place, "required": place == "path", "schema": schema })
}

fn json_body(schema: Value) -> Value {
    json!({ "required": true, "content": { "application/json": { "schema": schema } } })
}

fn paths_of_every_kind() -> Value {
    let list = json!({ "type": "array", "items": { "type": "string" } });
    json!({
        "/pets/{id}": {
            "parameters": [parameter("id", "path", json!({ "type": "integer" }))],
            "get": { "operationId": "getPet", "parameters": [
                parameter("tags", "query", list.clone()),
                parameter("id", "query", json!({ "type": "string" })),
                parameter("X-Key", "header", json!({ "type": "string" })),
                parameter("filter[name]", "query", json!({ "type": "string" })),
            ] },
            "put": { "operationId": "putPet", "requestBody": json_body(json!({ "$ref": "#/components/schemas/Pet" })) },
            "delete": { "responses": { "204": { "description": "gone" } } },
        },
        "/pets": {
            "post": { "operationId": "addPet", "requestBody": json_body(json!({ "$ref": "#/components/schemas/Pet" })) },
        },
        "/list": { "post": { "operationId": "sendList", "requestBody": json_body(list) } },
        "/form": { "post": { "operationId": "sendForm", "requestBody": { "content": {
            "application/x-www-form-urlencoded": { "schema": { "type": "object", "properties": { "a b": { "type": "string" } } } } } } } },
        "/xml": { "post": { "operationId": "sendXml", "requestBody": { "content": { "application/xml": { "schema": { "$ref": "#/components/schemas/Pet" } } } } } },
        "/find?kind=pet&q={query}#first": { "get": { "operationId": "find", "parameters": [parameter("query", "path", json!({ "type": "string" }))] } },
        "/text": { "post": { "operationId": "sendText", "requestBody": { "content": { "text/plain": { "schema": { "type": "string" } } } } } },
    })
}

#[tokio::test]
async fn arguments_go_where_the_document_says() {
    let paths = paths_of_every_kind();
    let (gateway, _api) = gateway_for(&document(paths), json!({})).await;
    for (tool, arguments, expect) in [
        (
            "getPet",
            json!({ "id": 7, "tags": ["a", "b c"] }),
            json!({ "request": "GET /v1/pets/7?tags=a&tags=b%20c" }),
        ),
        (
            "getPet",
            json!({ "id": 7, "id_query": "x", "filter_name_": "y" }),
            json!({ "request": "GET /v1/pets/7?id=x&filter%5Bname%5D=y" }),
        ),
        ("getPet", json!({ "id": 7, "X-Key": "k" }), json!({ "key": "k" })),
        (
            "putPet",
            json!({ "id": 7, "name": "Rex" }),
            json!({ "request": "PUT /v1/pets/7", "body": "{\"name\":\"Rex\"}", "type": "application/json" }),
        ),
        ("delete_pets_id", json!({ "id": 7 }), json!({ "request": "DELETE /v1/pets/7" })),
        (
            "addPet",
            json!({ "name": "Rex", "children": [{ "name": "Max" }] }),
            json!({ "body": "{\"name\":\"Rex\",\"children\":[{\"name\":\"Max\"}]}" }),
        ),
        ("sendList", json!({ "body": ["a"] }), json!({ "body": "[\"a\"]" })),
        (
            "sendForm",
            json!({ "a_b": "c d" }),
            json!({ "body": "a%20b=c%20d", "type": "application/x-www-form-urlencoded" }),
        ),
        ("sendXml", json!({ "body": "<a/>" }), json!({ "body": "<a/>", "type": "application/xml" })),
        ("find", json!({ "q": "a&b" }), json!({ "request": "GET /v1/find?kind=pet&q=a%26b" })),
        ("sendText", json!({ "body": "hello" }), json!({ "body": "hello", "type": "text/plain" })),
    ] {
        let told = told(&gateway, tool, arguments.clone()).await;
        for (member, value) in expect.as_object().unwrap() {
            assert_eq!(&told[member], value, "{tool} {arguments}: {told}");
        }
    }
}

#[tokio::test]
async fn what_is_not_configured_disables_only_the_operations_that_need_it() {
    let secured = |schemes: Value| json!({ "security": schemes });
    let paths = json!({
        "/open": { "get": { "operationId": "open" } },
        "/key": { "get": secured(json!([{ "key": [] }])) },
        "/asked": { "get": secured(json!([{ "asked": [] }])) },
        "/cookie": { "get": secured(json!([{ "cookie": [] }])) },
        "/basic": { "get": secured(json!([{ "basic": [] }])) },
        "/either": { "get": secured(json!([{ "basic": [] }, { "bearer": [] }])) },
        "/both": { "get": secured(json!([{ "key": [], "bearer": [] }])) },
    });
    let api = EchoApi::start(&document(paths)).await;
    let table =
        json!({ "document": format!("{}/openapi.json", api.base), "headers": { "X-Key": { "env": "K" } } });
    let source = open(table, Path::new(".")).expect("opened");
    let names = ["asked", "bearer", "cookie"];
    let vault = names.iter().map(|name| ((*name).to_owned(), Secret::new(format!("the {name}")))).collect();
    let gateway = Gateway::new(Settings { vault, ..Settings::default() }, Arc::new(MemoryStore::default()));
    let secrets = names.iter().map(|name| (*name).to_owned()).collect();
    let mount = Mount::new("Api", "Api", Naming::Bare, source);
    gateway.sources().mount(mount.allowing(GrantAllowlist { secrets, ..GrantAllowlist::default() }));
    gateway.sources().settled(SETTLE).await;

    for (tool, expect) in [
        ("open", json!({ "request": "GET /v1/open", "key": "secret K", "authorization": null })),
        ("get_key", json!({ "key": "secret K" })),
        ("get_asked", json!({ "request": "GET /v1/asked?k=the%20asked" })),
        ("get_cookie", json!({ "cookie": "session=the%20cookie" })),
        ("get_either", json!({ "authorization": "Bearer the bearer" })),
        ("get_both", json!({ "key": "secret K", "authorization": "Bearer the bearer" })),
    ] {
        let told = told(&gateway, tool, json!({})).await;
        for (member, value) in expect.as_object().unwrap() {
            assert_eq!(&told[member], value, "{tool}: {told}");
        }
    }
    let catalog = gateway.catalog();
    let [unserved] = catalog.unserved() else { panic!("{:?}", catalog.unserved()) };
    assert_eq!(unserved.tool, "get_basic");
    assert!(unserved.reason.contains("the secret `basic`"), "{}", unserved.reason);
}

#[tokio::test]
async fn a_document_is_fetched_once_and_then_asked_for_by_its_tag() {
    let one = document(json!({ "/a": { "get": { "operationId": "a" } } }));
    let api = EchoApi::start(&one).await;
    let table = json!({ "document": format!("{}/openapi.json", api.base) });
    let source = open(table, Path::new(".")).expect("opened");
    let names = |listing: toolmux_core::ports::source::Listing| {
        listing.tools.iter().map(|tool| tool.name.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(names(source.tools().await.expect("listed")), ["a"]);
    assert_eq!(names(source.tools().await.expect("listed")), ["a"]);
    assert_eq!(api.document_requests(), (1, 2), "sent once, asked for twice");
    api.change_document(&document(json!({ "/b": { "get": { "operationId": "b" } } })));
    assert_eq!(names(source.tools().await.expect("listed")), ["b"]);
    assert_eq!(api.document_requests(), (2, 3));
}

#[tokio::test]
async fn a_restart_needs_no_network_for_the_document() {
    let store: Arc<MemoryStore> = Arc::default();
    let api = EchoApi::start(&document(json!({ "/a": { "get": { "operationId": "a" } } }))).await;
    let other = EchoApi::start(&json!({})).await;
    let mounted = |store: &Arc<MemoryStore>, at: &str| {
        let gateway = Gateway::new(Settings::default(), Arc::clone(store) as Arc<dyn Store>);
        let table = json!({ "document": format!("{at}/openapi.json"), "url": other.base });
        let source = open(table, Path::new(".")).expect("opened");
        let mount = Mount::new("Api", "Api", Naming::Bare, source).kept_by("the same settings".to_owned());
        gateway.sources().mount(mount);
        gateway
    };
    let first = mounted(&store, &api.base);
    first.sources().settled(SETTLE).await;
    told(&first, "a", json!({})).await;
    first.close(SETTLE).await;
    // Nobody answers there: the document comes from the store.
    let second = mounted(&store, "http://127.0.0.1:1");
    assert_eq!(told(&second, "a", json!({})).await["request"], "GET /a");
}

#[tokio::test]
async fn answers_are_checked_as_the_source_says() {
    let wrong = json!({ "200": { "description": "d", "content": { "application/json": { "schema": {
        "type": "object", "required": ["missing"], "properties": { "missing": { "type": "string" } } } } } } });
    let paths = json!({ "/a": { "get": { "operationId": "a", "responses": wrong } } });
    let document = document(paths);
    for (output, expect) in [("off", "Returned"), ("warn", "does not fit"), ("strict", "Failed")] {
        let (gateway, _api) = gateway_for(&document, json!({ "output": output })).await;
        let came = format!("{:?}", call(&gateway, "a", json!({})).await);
        assert!(came.contains(expect), "{output}: {came}");
        assert_eq!(came.contains("missing"), output != "off", "{output}: {came}");
    }
}

#[tokio::test]
async fn a_server_that_the_document_names_is_not_called_in_a_private_network() {
    let inside = EchoApi::start(&json!({})).await;
    let mut named = document(json!({ "/a": { "get": { "operationId": "a" } } }));
    named["servers"] = json!([{ "url": inside.base }]);
    let (gateway, _api) = gateway_for(&named, json!({})).await;
    let refused = call(&gateway, "a", json!({})).await;
    assert!(refused.is_err(), "{refused:?}");
    let (gateway, _api) = gateway_for(&named, json!({ "allow_private": true })).await;
    assert_eq!(told(&gateway, "a", json!({})).await["request"], "GET /a");
    let (gateway, _api) = gateway_for(&named, json!({ "url": inside.base })).await;
    assert_eq!(told(&gateway, "a", json!({})).await["request"], "GET /a");
}

#[tokio::test]
async fn a_server_that_only_the_document_names_gets_no_credentials() {
    let other = EchoApi::start(&json!({})).await;
    let mut named = document(json!({
        "/open": { "get": { "operationId": "open" } },
        "/key": { "get": { "operationId": "key", "security": [{ "key": [] }] } },
        "/maybe": { "get": { "operationId": "maybe", "security": [{ "key": [] }, {}] } },
        "/near": { "get": { "operationId": "near", "security": [{ "key": [] }], "servers": [{ "url": "/v2" }] } },
    }));
    named["servers"] = json!([{ "url": other.base }]);
    let mounted = async |more: Value| {
        let api = EchoApi::start(&named).await;
        let mut table = json!({ "document": format!("{}/openapi.json", api.base), "allow_private": true });
        table.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
        let source = open(table, Path::new(".")).expect("opened");
        let vault = [("key".to_owned(), Secret::new("hunter2"))].into();
        let settings = Settings { vault, ..Settings::default() };
        let gateway = Gateway::new(settings, Arc::new(MemoryStore::default()));
        let secrets = vec!["key".to_owned()];
        let mount = Mount::new("Api", "Api", Naming::Bare, source);
        gateway.sources().mount(mount.allowing(GrantAllowlist { secrets, ..GrantAllowlist::default() }));
        gateway.sources().settled(SETTLE).await;
        (gateway, api)
    };
    let unserved = |gateway: &Gateway| {
        let catalog = gateway.catalog();
        let all = catalog.unserved().iter().map(|tool| (tool.tool.clone(), tool.reason.clone()));
        all.collect::<Vec<_>>()
    };
    let (gateway, _api) = mounted(json!({})).await;
    assert_eq!(told(&gateway, "open", json!({})).await["key"], Value::Null);
    assert_eq!(told(&gateway, "maybe", json!({})).await["key"], Value::Null);
    assert_eq!(told(&gateway, "near", json!({})).await["key"], "hunter2");
    let [(name, reason)] = &unserved(&gateway)[..] else { panic!("{:?}", unserved(&gateway)) };
    assert_eq!(name, "key");
    assert!(reason.contains("the secret `key`; that is not sent to"), "{reason}");
    assert!(reason.contains(&format!("add `url = \"{}/\"`", other.base)), "{reason}");

    let (gateway, _api) = mounted(json!({ "headers": { "X-Key": { "env": "K" } } })).await;
    assert_eq!(told(&gateway, "near", json!({})).await["key"], "secret K");
    let names: Vec<String> = unserved(&gateway).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["open", "key", "maybe"]);

    let (gateway, _api) = mounted(json!({ "url": other.base })).await;
    assert_eq!(told(&gateway, "key", json!({})).await["key"], "hunter2");
    assert_eq!(unserved(&gateway), []);
}

#[tokio::test]
async fn a_document_in_a_file_is_patched_filtered_and_followed() {
    let folder = tempfile::tempdir().unwrap();
    let api = EchoApi::start(&json!({})).await;
    let yaml = |id: &str| {
        format!(
            "openapi: 3.0.0\ninfo: {{title: t, version: 1.2.3}}\npaths:\n  /a:\n    get: {{operationId: {id}, tags: [pets]}}\n  /b:\n    get: {{operationId: other}}\n"
        )
    };
    std::fs::write(folder.path().join("api.yaml"), yaml("first")).unwrap();
    let patch = json!([{ "op": "add", "path": "/servers", "value": [{ "url": format!("{}/x", api.base) }] }]);
    std::fs::write(folder.path().join("patch.json"), patch.to_string()).unwrap();
    let table =
        json!({ "document": "api.yaml", "patch": "patch.json", "include": ["pe*"], "allow_private": true });
    let gateway = gateway_of(open(table, folder.path()).expect("opened")).await;
    assert_eq!(told(&gateway, "first", json!({})).await["request"], "GET /x/a");
    let catalog = gateway.catalog();
    let ids: Vec<String> = catalog.every().map(|entry| entry.id.to_string()).collect();
    assert_eq!(ids, ["Api.first@1.2.3"]);
    std::fs::write(folder.path().join("api.yaml"), yaml("second")).unwrap();
    until("the change is seen", || gateway.catalog().every().any(|entry| &*entry.tool.name == "second"))
        .await;
}
