//! Credentials reach the tool and nothing else.

use std::collections::HashMap;
use std::io::Write;
use std::sync::{Arc, Mutex};

use http::{HeaderMap, Method};
use serde_json::{Value, json};
use toolmux_core::delivery::{Delivery, GrantName, Place};
use toolmux_core::gateway::{Gateway, Settings};
use toolmux_core::memory::MemoryStore;
use toolmux_core::requirements::{Authorization, Requirements};
use toolmux_core::secret::Secret;
use toolmux_core::sources::{Mount, Naming, ToolSettings};
use toolmux_core::toolset::Pattern;
use toolmux_protocols::registry::Opening;
use tracing_subscriber::fmt::MakeWriter;

use crate::oxp::{SETTLE, Server, listen};

const SECRET: &str = "hunter2-hunter2";
const TOKEN: &str = "gho_verysecrettoken";

fn needs(deliver: &[(GrantName, Place)]) -> ToolSettings {
    let deliver =
        deliver.iter().map(|(grant, place)| Delivery { grant: grant.clone(), place: place.clone() });
    ToolSettings {
        requires: Some(Requirements {
            authorization: vec![Authorization::new("github", Vec::new())],
            secrets: vec!["SHOP".into()],
            user_id: true,
            ..Requirements::default()
        }),
        deliver: deliver.collect(),
        ..ToolSettings::default()
    }
}

fn settings(tool: ToolSettings) -> Settings {
    Settings {
        tools: vec![(Pattern::new("Kit.*"), tool)],
        vault: HashMap::from([("SHOP".to_owned(), Secret::new(SECRET))]),
        ..Settings::default()
    }
}

async fn serve(kind: &str, table: Value, tool: ToolSettings) -> Server {
    let kind = toolmux_protocols::SOURCES.iter().find(|known| known.kind == kind).expect("registered");
    let opening = Opening {
        name: "x",
        table,
        folder: std::path::Path::new("."),
        secrets: &|_| Err("no secrets".to_owned()),
    };
    let source = (kind.open)(&opening).unwrap_or_else(|error| panic!("{error}"));
    let gateway = Gateway::new(settings(tool), Arc::new(MemoryStore::default()));
    gateway.sources().mount(Mount::new("x", "Kit", Naming::Prefixed, source));
    gateway.sources().settled(SETTLE).await;
    Server::serve(gateway).await
}

fn call(tool: &str) -> Value {
    json!({ "tool_id": tool, "call_id": "1", "context": { "user_id": "bob", "authorization": [{ "id": "github", "token": TOKEN }] } })
}

#[tokio::test]
async fn a_command_finds_them_in_its_environment() {
    let deliver = needs(&[
        (GrantName::Secret("SHOP".into()), Place::Environment("SHOP_KEY".into())),
        (GrantName::Token("github".into()), Place::Environment("GITHUB".into())),
        (GrantName::User, Place::Environment("WHO".into())),
    ]);
    let table = json!({ "tools": { "show": { "description": "", "command": ["sh", "-c", "printf %s/%s/%s $SHOP_KEY $GITHUB $WHO"] } } });
    let server = serve("command", table, deliver).await;
    let (_, answer) = server.call(&call("Kit.show")).await;
    assert_eq!(answer["value"], format!("{SECRET}/{TOKEN}/bob"), "{answer}");
}

#[tokio::test]
async fn a_source_behind_http_finds_them_in_headers() {
    let deliver = needs(&[(
        GrantName::Token("github".into()),
        Place::Header { name: "X-Auth".into(), prefix: "Bearer ".into() },
    )]);
    let tools = || async {
        json!({ "items": [{ "id": "Up.Show", "name": "Show", "description": "", "version": "1.0.0" }] })
            .to_string()
    };
    let show = |headers: HeaderMap| async move {
        let value = headers["x-auth"].to_str().expect("text").to_owned();
        json!({ "call_id": "1", "success": true, "value": value }).to_string()
    };
    let router = axum::Router::new()
        .route("/tools", axum::routing::get(tools))
        .route("/tools/call", axum::routing::post(show));
    let (base, serving) = listen(router).await;
    let server = serve("oxp", json!({ "url": base }), deliver).await;
    let (_, answer) = server.call(&call("Kit.Show")).await;
    assert_eq!(answer["value"], format!("Bearer {TOKEN}"), "{answer}");
    serving.abort();
}

#[tokio::test]
async fn an_argument_is_filled_in_and_hidden_from_models() {
    let deliver = needs(&[(GrantName::Secret("SHOP".into()), Place::Argument("key".into()))]);
    let table = json!({ "tools": { "show": { "description": "", "command": ["echo", "{key}", "{a}"],
        "parameters": { "key": { "type": "string" }, "a": { "type": "string" } } } } });
    let server = serve("command", table, deliver).await;
    let list = server.ask(Method::GET, "/tools", &[], "").await.2;
    assert_eq!(list["items"][0]["input_schema"]["properties"], json!({ "a": { "type": "string" } }));
    let mut request = call("Kit.show");
    request["input"] = json!({ "a": "x" });
    assert_eq!(server.call(&request).await.1["value"], format!("{SECRET} x"));
    request["call_id"] = json!("2");
    request["input"] = json!({ "a": "x", "key": "from a model" });
    assert_eq!(server.call(&request).await.0.as_u16(), 422);
}

#[derive(Clone, Default)]
struct Captured(Arc<Mutex<Vec<u8>>>);

impl Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("not poisoned").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Captured {
    type Writer = Captured;

    fn make_writer(&'a self) -> Captured {
        self.clone()
    }
}

#[tokio::test]
async fn neither_logs_nor_lists_nor_errors_show_them() {
    // The subscriber is for the whole binary: with one per thread, what other tests ask first decides
    // whether a place in the code logs at all.
    let captured = Captured::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_span_events(tracing_subscriber::fmt::format::FmtSpan::FULL)
        .with_writer(captured.clone())
        .finish();
    tracing::subscriber::set_global_default(subscriber).expect("no other test logs");
    let deliver = needs(&[
        (GrantName::Secret("SHOP".into()), Place::Argument("key".into())),
        (GrantName::Token("github".into()), Place::Environment("GITHUB".into())),
    ]);
    let table = json!({ "tools": {
        "good": { "description": "", "command": ["true", "{key}"], "parameters": { "key": { "type": "string" } } },
        "bad": { "description": "", "command": ["false", "{key}"], "parameters": { "key": { "type": "string" } } },
        "gone": { "description": "", "command": ["/no/such/program", "{key}"], "parameters": { "key": { "type": "string" } } } } });
    let server = serve("command", table, deliver).await;
    let mut told = server.ask(Method::GET, "/tools", &[], "").await.2.to_string();
    for tool in ["good", "bad", "gone"] {
        let mut request = call(&format!("Kit.{tool}"));
        request["call_id"] = json!(tool);
        told.push_str(&server.call(&request).await.1.to_string());
        request["input"] = json!({ "unknown": 1 });
        told.push_str(&server.call(&request).await.1.to_string());
    }
    told.push_str(&server.ask(Method::GET, "/metrics", &[], "").await.2.to_string());
    let log = String::from_utf8(captured.0.lock().expect("not poisoned").clone()).expect("text");
    assert!(log.contains("Kit_good"), "the log was captured");
    for secret in [SECRET, TOKEN] {
        assert!(!told.contains(secret), "{told}");
        assert!(!log.contains(secret), "{log}");
    }
}
