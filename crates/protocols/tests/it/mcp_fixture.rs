//! A gateway with tools of every kind of answer, served on a loopback port.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use toolmux_core::BoxFuture;
use toolmux_core::call::Call;
use toolmux_core::gateway::{Admission, ApiKey, Gateway, Settings};
use toolmux_core::json_text::raw_of;
use toolmux_core::memory::MemoryStore;
use toolmux_core::outcome::{Content, Outcome, Output, Retry, ToolError};
use toolmux_core::ports::source::{Listing, Source, SourceError};
use toolmux_core::ports::store::Store;
use toolmux_core::progress::{Progress, Update};
use toolmux_core::requirements::Requirements;
use toolmux_core::schema::Schema;
use toolmux_core::secret::Secret;
use toolmux_core::sources::{Mount, Naming};
use toolmux_core::tool::{Returns, Tool};
use toolmux_http::serve::{Web, WebLimits, router, shared_headers};
use toolmux_protocols::registry::{Opening, SecretSetting};

use crate::oxp::served;

/// A server that lives as long as this.
pub(crate) struct Served {
    pub(crate) url: String,
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) store: Arc<dyn Store>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Served {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Serves these sources, prefixed by their names.
pub(crate) async fn serve(settings: Settings, sources: Vec<(&str, Arc<dyn Source>)>) -> Served {
    serve_within(WebLimits::default(), settings, sources).await
}

/// The same within other limits.
pub(crate) async fn serve_within(
    limits: WebLimits,
    settings: Settings,
    sources: Vec<(&str, Arc<dyn Source>)>,
) -> Served {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let gateway = Gateway::new(settings, Arc::clone(&store));
    for (name, source) in sources {
        gateway.sources().mount(Mount::new(name, name, Naming::Prefixed, source));
    }
    gateway.sources().settled(Duration::from_mins(1)).await;
    let headers = shared_headers(served());
    let web = Arc::new(Web { gateway: Arc::clone(&gateway), limits, stop: None, headers });
    let routes = router(served()).with_state(web);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("as it must be");
    let url = format!("http://{}/mcp", listener.local_addr().expect("as it must be"));
    let task = tokio::spawn(async move { axum::serve(listener, routes).await.expect("as it must be") });
    Served { url, gateway, store, task }
}

/// Rules under which only `hunter2` is let in.
pub(crate) fn locked() -> Settings {
    let key = ApiKey { name: "alice".into(), sha256: Secret::new("hunter2").sha256(), toolset: None };
    Settings { admission: Admission { keys: vec![key], jwt: None }, ..Settings::default() }
}

/// Tools for every kind of answer.
pub(crate) struct Kit;

fn tool(name: &str, properties: &Value) -> Tool {
    let schema = json!({ "type": "object", "properties": properties, "additionalProperties": false });
    Tool::new(name, format!("The tool {name}"), Schema::new(schema))
}

impl Source for Kit {
    fn tools(&self) -> BoxFuture<'_, Result<Listing, SourceError>> {
        let mut echo = tool("echo", &json!({ "text": { "type": "string" }, "n": {} }));
        echo.hints.read_only = Some(true);
        let number = Schema::new(json!({ "type": "number" }));
        let count = Tool { returns: Returns::Matching(number), ..tool("count", &json!({})) };
        let authorization = vec![toolmux_core::requirements::Authorization::new("github", vec![])];
        let requires = Requirements { authorization, ..Requirements::default() };
        let guarded = Tool { requires, ..tool("guarded", &json!({})) };
        let routed = tool("routed", &json!({ "region": { "type": "string", "x-mcp-header": "Region" } }));
        let others = ["object", "nothing", "blocks", "fail", "lost", "steps", "ask"];
        let mut tools: Vec<Tool> = others.into_iter().map(|name| tool(name, &json!({}))).collect();
        tools.extend([echo, count, guarded, routed]);
        tools.sort_by(|a, b| a.name.cmp(&b.name));
        Box::pin(std::future::ready(Ok(tools.into())))
    }

    fn call<'a>(
        &'a self,
        call: &'a Call,
        progress: &'a Progress,
    ) -> BoxFuture<'a, Result<Outcome, SourceError>> {
        Box::pin(run(call, progress))
    }
}

async fn run(call: &Call, progress: &Progress) -> Result<Outcome, SourceError> {
    let value = match call.tool_name() {
        "echo" => call.arguments().value()["text"].clone(),
        "routed" => call.arguments().value()["region"].clone(),
        "object" => json!({ "big": 12_345_678_901_234_567_890_u64 }),
        "count" => json!(7),
        "nothing" => Value::Null,
        "blocks" => {
            let image = json!({ "type": "image", "data": "AA==", "mimeType": "image/png" });
            let content = vec![Content::text("see"), Content::raw(raw_of(&image))];
            return Ok(Outcome::Returned(Output { content, ..Output::value(raw_of(&Value::Null)) }));
        }
        "fail" => {
            let error = ToolError::new("No such order").retry(Retry::After(Duration::from_millis(250)));
            return Ok(Outcome::Failed(error.prompt("Orders: 1, 2")));
        }
        "steps" => {
            for done in [1.0, 2.0, 2.0, 2.5] {
                progress.send(Update::Progress { done, total: Some(3.0), message: None }).await;
            }
            progress.send(Update::Log { level: "info".into(), data: raw_of(&json!("half way")) }).await;
            json!("done")
        }
        "ask" => {
            let schema = json!({ "type": "object", "properties": { "name": { "type": "string" } } });
            let params = json!({ "message": "Your name?", "requestedSchema": schema });
            let question = json!({ "method": "elicitation/create", "params": params });
            let answer = progress.ask("mcp", raw_of(&question)).await;
            answer.map_or(json!("nobody answers"), |answer| {
                serde_json::from_str(answer.get()).expect("as it must be")
            })
        }
        other => {
            let message = toolmux_core::message::Message::public(format!("`{other}` was lost"));
            return Err(SourceError::Lost(message));
        }
    };
    Ok(Outcome::Returned(Output::value(raw_of(&value))))
}

/// An MCP source of the test server on standard streams, with more settings over the usual ones.
pub(crate) fn upstream(arguments: &[&str], more: &Value) -> Arc<dyn Source> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/peers/mcp/upstream.py");
    let command: Vec<&str> = ["python3", script].into_iter().chain(arguments.iter().copied()).collect();
    let mut table = json!({ "command": command, "max_restart_pause_ms": 1 });
    table.as_object_mut().expect("as it must be").extend(more.as_object().expect("as it must be").clone());
    open(table)
}

/// Any MCP source.
pub(crate) fn open(table: Value) -> Arc<dyn Source> {
    let kind = toolmux_protocols::SOURCES.iter().find(|kind| kind.kind == "mcp").expect("as it must be");
    let folder = std::env::temp_dir();
    let opening = Opening {
        name: "Up",
        table,
        folder: &folder,
        secrets: &|setting| match setting {
            SecretSetting::Text(text) => Ok(Secret::new(text.as_str())),
            SecretSetting::Env { .. } | SecretSetting::File { .. } => Err("not here".to_owned()),
        },
    };
    (kind.open)(&opening).expect("as it must be")
}
