//! The answer grid: every row of the table of answers over every protocol, as status, headers and body. A new kind of
//! answer adds a row to [`rows`], a new protocol a column to [`Protocol`].

use std::fmt::Write;
use std::sync::Arc;

use serde_json::{Value, json};
use toolmux_core::gateway::{Admission, ApiKey, Settings};
use toolmux_core::limits::Limits;
use toolmux_core::requirements::{Authorization, Requirements};
use toolmux_core::secret::Secret;
use toolmux_core::sources::{Mount, Naming, ToolSettings};
use toolmux_core::toolset::{Pattern, Toolset};

use crate::grid_broker::{PROVIDERS, ScriptedBroker};
use crate::grid_columns::{Protocol, over};
use crate::oxp::{SETTLE, Server};
use crate::scripted_source::Scripted;

/// The key of a caller who may use every tool.
pub(crate) const KEY: &str = "0123456789abcdef0123456789abcdef";
/// The key of a caller who may use `Kit.Nothing` alone.
const FENCED: &str = "fencedfencedfencedfencedfencedfe";

/// One row: what happened, who asks (by key, if any) and for what.
pub(crate) struct Row {
    pub(crate) what: &'static str,
    pub(crate) key: Option<&'static str>,
    pub(crate) ask: Ask,
}

/// What is asked, in no protocol's words.
pub(crate) enum Ask {
    /// A body that is not JSON.
    NotJson,
    /// JSON that is no call.
    NotACall,
    /// A call of `Toolkit.Tool` with these arguments.
    Call(&'static str, Value),
    /// A call under an id that was used before for the same tool with no arguments.
    Reused(&'static str, Value),
}

fn settings() -> Settings {
    let key = |name: &str, key: &str, toolset: Option<&str>| ApiKey {
        name: name.into(),
        sha256: Secret::new(key).sha256(),
        toolset: toolset.map(Into::into),
    };
    let keys = vec![key("alice", KEY, None), key("fenced", FENCED, Some("few"))];
    Settings {
        admission: Admission { keys, jwt: None },
        toolsets: vec![Toolset { name: "few".into(), tools: vec![Pattern::new("Kit.Nothing")] }],
        // The grid fails on purpose, and often.
        limits: Limits { breaker_failures: 1_000, ..Limits::default() },
        developers: vec!["alice".to_owned()],
        broker: Some(Arc::new(ScriptedBroker)),
        tools: PROVIDERS.map(|(provider, tool)| (Pattern::new(tool), needs(provider))).to_vec(),
        ..Settings::default()
    }
}

fn needs(provider: &str) -> ToolSettings {
    let authorization = vec![Authorization::new(provider, Vec::new())];
    let requires = Some(Requirements { authorization, ..Requirements::default() });
    ToolSettings { requires, ..ToolSettings::default() }
}

/// A server whose toolkit `Kit` does what its tools' names say, and whose toolkit `Gate` needs tokens for some of them.
pub(crate) async fn server() -> Server {
    let server = Server::start(settings(), Scripted::new()).await;
    server.gateway.sources().mount(Mount::new("gate", "Gate", Naming::Prefixed, Scripted::new()));
    server.gateway.sources().settled(SETTLE).await;
    server
}

pub(crate) fn rows() -> Vec<Row> {
    let row = |what, ask| Row { what, key: Some(KEY), ask };
    let call = |what, tool, arguments| row(what, Ask::Call(tool, arguments));
    let plain = |what, tool| call(what, tool, json!({}));
    let by = |what, key, tool| Row { what, key, ask: Ask::Call(tool, json!({})) };
    vec![
        call("returned a number", "Kit.Add", json!({ "a": 10, "b": 5 })),
        call("returned an object", "Kit.Echo", json!({ "x": [1] })),
        plain("returned a text", "Kit.Text"),
        plain("returned nothing", "Kit.Nothing"),
        plain("returned blocks of content", "Kit.Blocks"),
        row("malformed: not JSON", Ask::NotJson),
        row("malformed: not a call", Ask::NotACall),
        by("unauthenticated: no key", None, "Kit.Nothing"),
        by("unauthenticated: unknown key", Some("wrong"), "Kit.Nothing"),
        plain("unknown tool", "Kit.Ad"),
        plain("unknown version", "Kit.Add@9.0.0"),
        by("unknown tool, asked for by who may use few", Some(FENCED), "Kit.Sub"),
        by("not permitted", Some(FENCED), "Kit.Add"),
        plain("challenged: token, secret and user id", "Kit.Needy"),
        plain("challenged: a page to open", "Gate.Challenge"),
        plain("challenged: the source says so", "Kit.Challenge"),
        call("invalid", "Kit.Add", json!({ "a": "one" })),
        call("invalid: not an object", "Kit.Add", json!([1])),
        plain("invalid: the source says so", "Kit.Picky"),
        row("conflict", Ask::Reused("Kit.Echo", json!({ "x": 1 }))),
        plain("busy", "Gate.Busy"),
        plain("busy: the source says so", "Kit.Busy"),
        plain("unavailable", "Kit.Down"),
        plain("unavailable for a known time", "Gate.Closed"),
        plain("unavailable for a known time: the source says so", "Kit.Closed"),
        plain("internal", "Gate.Broken"),
        plain("internal: the source says so", "Kit.Broken"),
        plain("failed", "Kit.Fail"),
        plain("failed, worth trying again later", "Kit.Stumble"),
        plain("failed, worth trying again at once", "Kit.Again"),
        plain("failed: lost, may have run", "Kit.Lost"),
        plain("failed: panicked", "Kit.Panic"),
    ]
}

/// The cells of one row.
async fn check(server: &Server, row: &Row) -> String {
    let mut cells = format!("{}\n", row.what);
    for protocol in Protocol::EVERY {
        let cell = over(server, protocol, row).await;
        writeln!(cells, "  {protocol:<15} {}", cell.replace('\n', "\n                  ")).expect("written");
    }
    cells
}

#[tokio::test]
async fn every_row_has_its_answer_over_every_protocol() {
    let server = server().await;
    let mut grid = String::new();
    for row in rows() {
        grid.push_str(&check(&server, &row).await);
    }
    insta::assert_snapshot!(grid);
}
