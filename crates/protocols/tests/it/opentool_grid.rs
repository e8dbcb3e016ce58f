//! Every row of the design's table of answers, over OpenTool: called, and followed.

use std::fmt::Write;
use std::sync::Arc;

use http::Method;
use toolmux_core::gateway::{Admission, ApiKey, Settings};
use toolmux_core::limits::Limits;
use toolmux_core::secret::Secret;
use toolmux_core::toolset::{Pattern, Toolset};

use crate::opentool::{Scripted, Server};

const KEY: &str = "0123456789abcdef";
const FENCED: &str = "fencedfencedfenc";

fn settings() -> Settings {
    let key = |name: &str, key: &str, toolset: Option<&str>| ApiKey {
        name: name.into(),
        sha256: Secret::new(key).sha256(),
        toolset: toolset.map(Into::into),
    };
    Settings {
        admission: Admission {
            keys: vec![key("alice", KEY, None), key("fenced", FENCED, Some("few"))],
            jwt: None,
        },
        toolsets: vec![Toolset { name: "few".into(), tools: vec![Pattern::new("Kit.add")] }],
        // The grid fails on purpose, and often.
        limits: Limits { breaker_failures: 1_000, ..Limits::default() },
        ..Settings::default()
    }
}

fn call(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params},"id":"c1"}}"#)
}

async fn check(rows: &[(&str, &str, String)], path: &str) -> String {
    let server = Server::start(settings(), Arc::new(Scripted::default())).await;
    let mut grid = String::new();
    for (what, key, body) in rows {
        let bearer = format!("Bearer {key}");
        let headers = [("authorization", bearer.as_str())];
        let headers = if key.is_empty() { &[][..] } else { &headers[..] };
        let (status, _, answer) = server.ask(Method::POST, path, headers, body).await;
        writeln!(
            grid,
            "{what}\n  {status} {}",
            answer.replace("\n\n", "\n").trim_end().replace('\n', "\n      ")
        )
        .expect("written");
    }
    grid
}

fn rows() -> Vec<(&'static str, &'static str, String)> {
    vec![
        ("returned", KEY, call("add", r#"{"a":1,"b":2}"#)),
        ("returned an object", KEY, call("echo", r#"{"x":[1]}"#)),
        ("returned nothing", KEY, call("nothing", "{}")),
        ("returned blocks of content", KEY, call("blocks", "{}")),
        ("not a call: not JSON", KEY, "{".into()),
        ("not a call: no method", KEY, r#"{"id":"1"}"#.into()),
        ("who are you: no key", "", call("add", "{}")),
        ("who are you: wrong key", "wrong", call("add", "{}")),
        ("no such tool", KEY, call("ad", "{}")),
        ("no such version", KEY, call("add@9.0.0", "{}")),
        ("not allowed", FENCED, call("echo", "{}")),
        ("needs a secret", KEY, call("needy", "{}")),
        ("needs authorization", KEY, call("challenge", "{}")),
        ("bad arguments", KEY, call("add", r#"{"a":"one"}"#)),
        ("over a limit", KEY, call("busy", "{}")),
        ("source down", KEY, call("down", "{}")),
        ("our fault", KEY, call("broken", "{}")),
        ("tool failed", KEY, call("fail", "{}")),
        ("tool failed, with advice", KEY, call("stumble", "{}")),
        ("tool may have run", KEY, call("lost", "{}")),
    ]
}

#[tokio::test]
async fn every_row_of_the_table_has_its_answer() {
    insta::assert_snapshot!(check(&rows(), "/opentool/call").await);
}

#[tokio::test]
async fn every_row_of_the_table_has_its_stream() {
    insta::assert_snapshot!(check(&rows(), "/opentool/streamCall").await);
}

#[tokio::test]
async fn the_same_idempotency_key_for_another_call_is_a_conflict() {
    let server = Server::start(Settings::default(), Arc::new(Scripted::default())).await;
    let key = [("idempotency-key", "k1")];
    let ask = async |body: &str| server.ask(Method::POST, "/opentool/call", &key, body).await.2;
    let first = ask(&call("add", r#"{"a":1,"b":2}"#)).await;
    assert_eq!(ask(&call("add", r#"{"b":2,"a":1}"#)).await, first);
    insta::assert_snapshot!(ask(&call("add", r#"{"a":1,"b":3}"#)).await, @r#"{"jsonrpc":"2.0","result":{},"error":{"code":409,"message":"Call id `k1` was used before for another call"},"id":"c1"}"#);
}
