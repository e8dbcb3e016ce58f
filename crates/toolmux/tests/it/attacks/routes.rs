//! Routes opened without a key, with a wrong one, across sites, or beyond a toolset.

use std::io::{BufRead, BufReader, Read, Write};

use serde_json::{Value, json};
use toolmux::listener::served;
use toolmux_http::serve::{Access, Route};

use crate::process::{ECHO, Serving, folder, request};

/// Alice may do everything. For bob there is `echo` alone; `echoh` is hidden from him, and `echou` is not served.
const CALLERS: &str = r#"
allow_stop = true
store = "memory"

[sources.Shell]
kind = "command"

[sources.Shell.tools.echo]
description = "Says it back"
command = ["echo", "{text}"]
parameters.text = { type = "string" }

[sources.Shell.tools.echoh]
description = "Says a secret"
command = ["echo", "a secret"]

[sources.Shell.tools.delay]
description = "Waits for ever"
command = ["sleep", "600"]

[sources.Shell.tools.echou]
description = "Is one too many"
command = ["echo", "unserved"]

[toolsets.public]
tools = ["Shell.echo"]

[toolsets.admin]
tools = ["Shell.*"]

[keys.alice]
key = "alice-key"

[keys.bob]
key = "bob-key"
toolset = "public"

[limits]
tools_per_source = 3
"#;

const ALICE: &str = "authorization: Bearer alice-key\r\n";
const BOB: &str = "authorization: Bearer bob-key\r\n";
const EVENTS: &str = "accept: text/event-stream\r\n";
const METHODS: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/// What only alice may know.
const HIDDEN: [&str; 5] = ["Says a secret", "Shell_delay", "Shell_echou", "one too many", "a secret\""];

/// What a stranger may not know either.
const INSIDE: [&str; 4] = ["Shell", "admin", "anthropic", "alice"];

/// Every route that there is, from the list that the router is made of.
fn every_route() -> Vec<Route> {
    let routes: Vec<Route> = served().flat_map(|served| (served.routes)().list().to_vec()).collect();
    assert!(routes.len() > 30, "{routes:?}");
    routes
}

/// The address of a route with something in each place.
fn address(path: &str, task: &str) -> String {
    let parts = [
        ("{agent}", "admin"),
        ("{task}", task),
        ("{tool}", "Shell_echoh"),
        ("{vendor}", "nobody"),
        ("{challenge}", "unknown"),
        ("{provider}", "unknown"),
        ("{toolset}", "admin"),
        ("{key}", "alice"),
        ("{receipt}", "019e0000-0000-7000-8000-000000000001"),
        ("{asset}", "console.css"),
        ("{source}", "Shell"),
        ("{question}", "unknown"),
        ("{*rest}", "else"),
    ];
    let address = parts.iter().fold(path.to_owned(), |path, (part, value)| path.replace(part, value));
    assert!(!address.contains('{'), "what stands in `{address}`?");
    address
}

/// Status, head and body of an answer; of a stream, its beginning.
fn ask(serving: &Serving, line: &str, headers: &str, body: &[u8]) -> (u16, String, String) {
    let mut stream = serving.connect();
    stream.write_all(&request(line, headers, body)).ok();
    let (mut answer, mut piece) = (Vec::new(), [0; 4096]);
    while let Ok(read @ 1..) = stream.read(&mut piece) {
        answer.extend_from_slice(&piece[..read]);
        if String::from_utf8_lossy(&answer).contains("content-type: text/event-stream") {
            break;
        }
    }
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    (status, head.to_owned(), body.to_owned())
}

fn task_of(serving: &Serving, tool: &str, key: &str) -> String {
    let (status, body) = serving.post(&format!("/call_tool/{tool}"), key, b"{}");
    assert_eq!(status, 200, "{body}");
    body.split('"').nth(3).expect("a task id").to_owned()
}

#[test]
fn a_stranger_is_told_nothing_on_any_route() {
    let folder = folder(CALLERS);
    let serving = Serving::start(folder.path());
    let task = task_of(&serving, "Shell_delay", ALICE);
    let routes = every_route();
    let is_open = |path: &str, method: &str| {
        let method = if method == "HEAD" { "GET" } else { method };
        let mut same = routes.iter().filter(|route| route.path == path && route.method.as_str() == method);
        same.any(|route| route.access == Access::Anybody)
    };
    let wrong = ["", "authorization: Bearer wrong\r\n", "oxp-api-key: wrong\r\n"];
    for path in routes.iter().map(|route| &route.path) {
        for method in METHODS.into_iter().filter(|method| !is_open(path, method)) {
            for headers in wrong {
                let at = |prefix: &str| {
                    let line = format!("{method} {prefix}{}", address(path, &task));
                    let (status, head, body) = ask(&serving, &line, headers, b"{}");
                    assert_eq!(status, 401, "{line} {headers}: {body}");
                    assert!(!HIDDEN.iter().chain(&INSIDE).any(|word| body.contains(word)), "{line}: {body}");
                    let head: Vec<&str> = head.lines().filter(|line| !line.starts_with("date:")).collect();
                    (head.join("\n").replace(prefix, ""), body)
                };
                at("");
                assert_eq!(at("/sets/public"), at("/sets/absent"), "whether a toolset exists: {path}");
            }
        }
    }
    for line in ["GET /", "GET /nowhere", "POST /call_tool/%ff", "POST /model/%ff/run", "GET /sets/public//x"]
    {
        assert_eq!(ask(&serving, line, "", b"").0, 401, "{line}");
    }
    assert_eq!(serving.get("/health", "").0, 200);
}

#[test]
fn a_toolset_is_not_left_by_any_route() {
    let folder = folder(CALLERS);
    let serving = Serving::start(folder.path());
    let task = task_of(&serving, "Shell_delay", ALICE);
    for route in every_route().into_iter().filter(|route| route.access != Access::Anybody) {
        // By bob's own toolset, and by that of the address.
        for (prefix, key) in [("", BOB), ("/sets/public", ALICE), ("/sets/admin", BOB)] {
            let line = format!("{} {prefix}{}", route.method, address(&route.path, &task));
            if key == ALICE && (line.contains("/callback") || line.contains("/cancel")) {
                continue;
            }
            let (status, _, body) = ask(&serving, &line, key, b"{}");
            assert!(!HIDDEN.iter().any(|word| body.contains(word)), "{line}: {body}");
            if matches!(route.access, Access::UnlimitedCallers | Access::Operators) {
                assert_eq!(status, 404, "{line}: {body}");
            }
        }
    }
    let (_, state) = serving.post("/mcp", ALICE, mcp("ping", &json!({})).as_bytes());
    assert!(state.contains("result"), "the server goes on: {state}");
    assert!(
        serving.get(&format!("/cancel/{task}"), ALICE).1.contains("cancelled"),
        "it was running until now"
    );
}

#[test]
fn an_address_of_a_toolset_does_not_list_another_one() {
    let folder = folder(CALLERS);
    let serving = Serving::start(folder.path());
    let names = |path: &str, key: &str| {
        let tools: Value = serde_json::from_str(&serving.get(path, key).1).expect("a list");
        tools.as_array().expect("a list").iter().map(|tool| tool["name"].to_string()).collect::<Vec<_>>()
    };
    assert_eq!(names("/get_tool/admin", ALICE).len(), 3);
    assert_eq!(names("/sets/public/get_tool/admin", ALICE), ["\"Shell_echo\""]);
    assert_eq!(names("/sets/public/get_tool/nobody", ALICE), ["\"Shell_echo\""]);
    assert_eq!(names("/sets/admin/get_tool/public", ALICE), ["\"Shell_echo\""]);
    assert_eq!(names("/get_tool/admin", BOB), ["\"Shell_echo\""]);
    assert_eq!(names("/sets/admin/get_tool/admin", BOB), ["\"Shell_echo\""]);
}

fn mcp(method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string()
}

/// A call of a tool over every protocol: where, and the body.
fn calls(tool: &str) -> Vec<(String, String)> {
    let flat = format!("Shell_{tool}");
    let at = |path: &str, body: Value| (path.to_owned(), body.to_string());
    let call = json!({ "id": "c", "type": "function", "function": { "name": flat, "arguments": "{}" } });
    let use_tool = json!([{ "type": "tool_use", "id": "c", "name": flat, "input": {} }]);
    vec![
        at("/tools/call", json!({ "tool_id": format!("Shell.{tool}"), "input": {} })),
        at("/tools/call", json!({ "tool_id": format!("Shell.{tool}@1.0.0"), "input": {} })),
        at("/tools/call", json!({ "tool_id": format!("Shell.{tool}@9.0.0"), "input": {} })),
        at("/opentool/call", json!({ "jsonrpc": "2.0", "id": "1", "method": flat, "params": {} })),
        at("/opentool/streamCall", json!({ "jsonrpc": "2.0", "id": "1", "method": flat, "params": {} })),
        at(&format!("/call_tool/{flat}"), json!({})),
        at(&format!("/rest/{flat}"), json!({})),
        at(&format!("/rest/Shell.{tool}@1.0.0"), json!({})),
        ("/mcp".to_owned(), mcp("tools/call", &json!({ "name": flat, "arguments": {} }))),
        at("/model/anthropic/run", json!({ "role": "assistant", "content": use_tool })),
        at("/model/openai/run", json!({ "choices": [{ "message": { "tool_calls": [call] } }] })),
    ]
}

#[test]
fn a_hidden_tool_cannot_be_told_from_one_that_does_not_exist() {
    let folder = folder(CALLERS);
    let serving = Serving::start(folder.path());
    let told = |tool: &str, key: &str| -> Vec<(u16, String)> {
        let answers = calls(tool).into_iter().map(|(path, body)| serving.post(&path, key, body.as_bytes()));
        answers.map(|(status, body)| (status, body.replace(tool, "TOOL"))).collect()
    };
    // As long as each other, and as near to what bob may call.
    let absent = told("echoq", BOB);
    assert!(absent.iter().all(|(_, body)| !body.contains("a secret")), "{absent:?}");
    assert!(absent[0].1.contains("did you mean `Shell.echo`"), "{absent:?}");
    assert_eq!(told("echoh", BOB), absent);
    assert_eq!(told("echou", BOB), absent);
    assert_eq!(told("echou", ALICE), told("echoq", ALICE));
    assert!(told("echoh", ALICE)[0].1.contains("a secret"));
}

#[test]
fn tasks_and_sessions_of_another_caller_look_unknown() {
    let folder = folder(CALLERS);
    let serving = Serving::start(folder.path());
    let (task, absent) = (task_of(&serving, "Shell_delay", ALICE), uuid::Uuid::new_v4().to_string());
    let told = |id: &str| {
        let (callback, cancel) = (format!("/callback/{id}"), format!("/cancel/{id}"));
        let events = format!("{BOB}{EVENTS}");
        let answers = [
            serving.get(&callback, BOB),
            serving.get(&callback, &events),
            serving.get(&cancel, BOB),
            serving.post(&cancel, BOB, b""),
            serving.post("/mcp", BOB, mcp("tasks/get", &json!({ "taskId": id })).as_bytes()),
            serving.post("/mcp", BOB, mcp("tasks/cancel", &json!({ "taskId": id })).as_bytes()),
        ];
        answers.map(|(status, body)| (status, body.replace(id, "ID")))
    };
    assert_eq!(told(&task), told(&absent));
    let hello = mcp("initialize", &json!({ "protocolVersion": "2025-06-18", "capabilities": {} }));
    let (_, head, _) = ask(&serving, "POST /mcp", ALICE, hello.as_bytes());
    let session = head.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).expect("a session");
    let ping = |key: &str| {
        let headers = format!("{key}mcp-session-id: {session}\r\n");
        serving.post("/mcp", &headers, mcp("ping", &json!({})).as_bytes()).0
    };
    let end = |key: &str| ask(&serving, "DELETE /mcp", &format!("{key}mcp-session-id: {session}\r\n"), b"").0;
    assert_eq!((ping(BOB), end(BOB)), (404, 404));
    assert_eq!(ping(ALICE), 200, "nobody else ends a session");
    let mut opened = serving.connect();
    opened.write_all(&request("GET /sse", ALICE, b"")).expect("sent");
    let mut lines = BufReader::new(opened).lines().map(|line| line.expect("open"));
    let endpoint = lines.find_map(|line| line.strip_prefix("data:").map(str::to_owned)).expect("an address");
    assert_eq!(serving.post(&endpoint, BOB, mcp("ping", &json!({})).as_bytes()).0, 404);
    assert_eq!(serving.post(&endpoint, ALICE, mcp("ping", &json!({})).as_bytes()).0, 202);
    assert!(serving.get(&format!("/cancel/{task}"), ALICE).1.contains("cancelled"));
}

#[test]
fn a_web_page_elsewhere_reaches_no_route() {
    let folder = folder(ECHO);
    let serving = Serving::start(folder.path());
    for route in every_route() {
        let line = format!("{} {}", route.method, address(&route.path, "none"));
        for site in ["cross-site", "same-site"] {
            // What an embedded address sends, and what a form or a script does.
            for headers in ["", "origin: null\r\n", "origin: http://localhost:1\r\n"] {
                let headers = format!("sec-fetch-site: {site}\r\nsec-fetch-mode: no-cors\r\n{headers}");
                assert_eq!(ask(&serving, &line, &headers, b"{}").0, 403, "{line} {headers}");
            }
        }
        let another_port = "origin: http://localhost:1\r\ncontent-type: text/plain\r\n";
        assert_eq!(ask(&serving, &line, another_port, b"{}").0, 403, "{line}");
    }
    // A link that a user follows, and a provider that leads back.
    let link = "sec-fetch-site: cross-site\r\nsec-fetch-mode: navigate\r\n";
    for page in ["/auth/start/unknown", "/auth/callback/unknown"] {
        assert_ne!(serving.get(page, link).0, 403, "{page}");
    }
}

#[test]
fn a_web_page_elsewhere_neither_resets_sources_nor_cancels_tasks() {
    let config = CALLERS.replace(
        "[keys.alice]\nkey = \"alice-key\"\n\n[keys.bob]\nkey = \"bob-key\"\ntoolset = \"public\"\n",
        "",
    );
    let folder = folder(&format!("origins = [\"https://page.example\"]\n{config}"));
    let serving = Serving::start(folder.path());
    let task = task_of(&serving, "Shell_delay", "");
    let cancel = format!("/cancel/{task}");
    let page = "origin: https://page.example\r\nsec-fetch-site: cross-site\r\n";
    for path in ["/reset", &cancel] {
        for headers in ["sec-fetch-site: cross-site\r\n", "sec-fetch-site: same-site\r\n", page] {
            assert_eq!(serving.get(path, headers).0, 403, "{path} {headers}");
        }
        assert_eq!(ask(&serving, &format!("HEAD {path}"), "", b"").0, 405, "{path}");
    }
    for headers in ["", "sec-fetch-site: none\r\n", "sec-fetch-site: same-origin\r\n"] {
        let (status, told) = serving.get("/reset", headers);
        assert!(status == 200 && told.contains("\"Shell\""), "{told}");
    }
    assert_eq!(serving.post("/reset", page, b"").0, 200, "a page that the configuration names");
    assert_eq!(serving.get("/sets/public/reset", "").0, 404);
    assert!(serving.get(&cancel, "").1.contains("cancelled"), "it was running until now");
}
