//! Input that would cost more memory or time than its size allows: arguments with many faults, long addresses, schemas
//! of an upstream that expand without end.

use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Map, Value, json};

use super::upstream::{Answer, Heard, Upstream};
use crate::process::{Serving, folder};

/// How much more memory one request of three megabytes may take, in mebibytes.
const MOST_GROWTH: u64 = 128;

/// A modern MCP server whose tools take a list in every way that validators find hard.
fn lists(heard: &Heard) -> Answer {
    let four = json!([{ "type": "integer" }, { "type": "null" }, { "type": "array" }, { "type": "boolean" }]);
    let whole = json!([{ "items": { "type": "integer" } }, { "items": { "type": "null" } }]);
    let nested = json!({ "oneOf": [{ "anyOf": whole }, { "oneOf": whole }, { "not": { "type": "array" } }] });
    let schemas = [
        ("integers", json!({ "items": { "type": "integer" } })),
        ("alternatives", json!({ "items": { "anyOf": four } })),
        ("exclusive", json!({ "items": { "oneOf": four } })),
        ("denied", json!({ "items": { "not": { "type": "string" } } })),
        ("either_list", json!({ "anyOf": whole })),
        ("nested", nested),
        ("unevaluated", json!({ "anyOf": [true], "unevaluatedItems": { "type": "integer" } })),
    ];
    let tools = schemas.map(|(name, list)| json!({ "name": name, "inputSchema": input(&list) }));
    answer(heard, &tools)
}

fn input(list: &Value) -> Value {
    json!({ "type": "object", "properties": { "list": list } })
}

/// Answers as a server with these tools and one template of resources.
fn answer(heard: &Heard, tools: &[Value]) -> Answer {
    let asked = heard.json();
    let result = match asked["method"].as_str().unwrap_or_default() {
        "server/discover" => {
            let capabilities = json!({ "tools": {}, "resources": {} });
            json!({ "supportedVersions": ["2026-07-28"], "capabilities": capabilities })
        }
        "tools/list" => json!({ "tools": tools }),
        "resources/list" => json!({ "resources": [] }),
        "resources/templates/list" => {
            json!({ "resourceTemplates": [{ "uriTemplate": "item://{id}/view", "name": "item" }] })
        }
        "resources/read" => json!({ "contents": [{ "uri": "item://1/view", "text": "the item" }] }),
        _ => json!({ "content": [{ "type": "text", "text": "it ran" }] }),
    };
    Answer::good(json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result }))
}

fn serve(upstream: &Upstream) -> (tempfile::TempDir, Serving) {
    let folder = folder(&format!(
        "store = \"memory\"\n[limits]\ndefinitions_bytes = 0\n[sources.Up]\nkind = \"mcp\"\nurl = \"{}/mcp\"\n",
        upstream.base
    ));
    let serving = Serving::start(folder.path());
    (folder, serving)
}

/// The most memory that a process has taken so far, in mebibytes.
fn peak(serving: &Serving) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", serving.id())).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("Linux says so");
    let kibibytes: u64 = line.trim().trim_end_matches("kB").trim().parse().expect("a number");
    kibibytes / 1024
}

fn call(serving: &Serving, tool: &str, input: &Value) -> (u16, String) {
    let body = json!({ "tool_id": format!("Up.{tool}"), "input": input }).to_string();
    serving.post("/tools/call", "", body.as_bytes())
}

/// Does the work while somebody else asks for `/health` again and again, and is answered each time.
fn while_others_are_answered<T>(serving: &Serving, work: impl FnOnce() -> T) -> T {
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                assert_eq!(serving.get("/health", "").0, 200);
            }
        });
        let done = work();
        ended.store(true, Ordering::Relaxed);
        done
    })
}

#[test]
fn a_list_full_of_faults_does_not_take_the_memory_of_the_server() {
    let upstream = Upstream::start(lists);
    let (_folder, serving) = serve(&upstream);
    let list = json!({ "list": vec!["twelve bytes"; 200_000] });
    let before = peak(&serving);
    for (tool, fault) in [
        ("integers", "list[0]"),
        ("alternatives", "list[0]"),
        ("exclusive", "list[0]"),
        ("denied", "list[0]"),
        ("either_list", "must be an integer"),
        ("nested", "list"),
        ("unevaluated", "list"),
    ] {
        let (status, told) = while_others_are_answered(&serving, || call(&serving, tool, &list));
        assert!(status == 422 && told.contains(fault), "{tool}: {status} {told:.300}");
        assert!(told.len() < 10_000, "{tool}: {} bytes", told.len());
        let grown = peak(&serving) - before;
        assert!(grown < MOST_GROWTH, "{tool}: {grown} MiB more for a body of 3 MB");
    }
}

#[test]
fn a_body_of_a_million_values_is_not_read() {
    let upstream = Upstream::start(lists);
    let (_folder, serving) = serve(&upstream);
    let before = peak(&serving);
    let list = json!({ "list": vec![""; 1_000_000] });
    let rpc = |method: &str, params: Value| {
        json!({ "jsonrpc": "2.0", "id": "1", "method": method, "params": params }).to_string()
    };
    let bodies = [
        ("/tools/call", json!({ "tool_id": "Up.integers", "input": list }).to_string()),
        ("/opentool/call", rpc("Up_integers", list.clone())),
        ("/mcp", rpc("tools/call", json!({ "name": "Up_integers", "arguments": list }))),
    ];
    for (path, body) in bodies {
        let (status, told) = while_others_are_answered(&serving, || serving.post(path, "", body.as_bytes()));
        assert!(told.contains("limits.body_values"), "{path}: {status} {told:.300}");
    }
    let grown = peak(&serving) - before;
    assert!(grown < 64, "{grown} MiB more");
}

#[test]
fn a_long_address_does_not_stop_the_server() {
    let upstream = Upstream::start(lists);
    let (_folder, serving) = serve(&upstream);
    let read = |uri: String| {
        let params = json!({ "uri": uri });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": params });
        serving.post("/mcp", "", body.to_string().as_bytes()).1
    };
    for _ in 0..2 {
        let uri = format!("item://{}", "x".repeat(250_000));
        let told = while_others_are_answered(&serving, || read(uri));
        assert!(told.contains("but at most 8192 are accepted"), "{told:.300}");
    }
    assert!(read("item://1/view".to_owned()).contains("the item"));
}

/// So many levels of definitions, each made of the next by `level`.
fn bomb(levels: usize, level: impl Fn(Value) -> Value) -> Value {
    let mut definitions = Map::new();
    for at in 0..levels {
        let next = json!({ "$ref": format!("#/$defs/l{}", at + 1) });
        definitions.insert(format!("l{at}"), level(next));
    }
    definitions.insert(format!("l{levels}"), json!({ "type": "string" }));
    let list = json!({ "$ref": "#/$defs/l0" });
    json!({ "type": "object", "properties": { "list": list, "n": { "type": "integer" } }, "$defs": definitions })
}

/// A server whose schemas are endless when their references are followed: for one value, or for a list of tools.
fn bombs(heard: &Heard) -> Answer {
    let all = bomb(40, |next| json!({ "allOf": [next, next] }));
    let any = bomb(40, |next| json!({ "anyOf": [next, { "not": next }], "unevaluatedProperties": false }));
    let wide =
        bomb(22, |next| json!({ "description": "x".repeat(500), "properties": { "a": next, "b": next } }));
    let named = |name: &str, schema: &Value| json!({ "name": name, "inputSchema": schema });
    let mut tools = vec![named("all", &all), named("any", &any)];
    tools.extend((0..60).map(|at| named(&format!("wide_{at}"), &wide)));
    answer(heard, &tools)
}

#[test]
fn a_schema_of_an_upstream_does_not_expand_without_end() {
    let upstream = Upstream::start(bombs);
    let (_folder, serving) = serve(&upstream);
    serving.told("the input schema was repaired");
    for tool in ["all", "any"] {
        let (status, told) = call(&serving, tool, &json!({ "list": "x", "n": 1 }));
        assert!(status == 200 && told.contains("it ran"), "{tool}: {status} {told}");
        let (status, told) = call(&serving, tool, &json!({ "list": "x", "n": "no number" }));
        assert!(status == 422 && told.contains("must be an integer"), "{tool}: the rest holds: {told}");
    }
    let listed: usize = upstream.heard().iter().map(lists_bytes).max().unwrap_or_default();
    for path in ["/tools", "/model/gemini/tools"] {
        let (status, list) = serving.get(path, "");
        assert_eq!(status, 200, "{list:.300}");
        assert!(list.contains("wide_59"), "every tool is listed");
        assert!(list.len() < 10 * listed.max(1 << 20), "{path}: {listed} bytes became {}", list.len());
    }
}

/// How long the list of tools is that answers a request.
fn lists_bytes(heard: &Heard) -> usize {
    bombs(heard).body.to_string().len()
}
