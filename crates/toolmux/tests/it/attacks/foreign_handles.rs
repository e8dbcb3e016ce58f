//! Handles of C libraries that belong to another caller: using them, using them up, and keeping them.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;

use serde_json::{Value, json};

use crate::opendyn_fixture::{LIBRARY, document, objects};
use crate::process::{Serving, folder, request, until, write};

const ALICE: &str = "the key of alice";
const BOB: &str = "the key of bob";

/// Two sources of one library and a key for bob; more is added by each test.
fn config(settings: &str, keys: &str) -> String {
    let source = |name: &str| {
        let library = LIBRARY.display();
        format!(
            "[sources.{name}]\nkind = \"opendyn\"\ndocument = \"objects.json\"\nlibrary = \"{library}\"\n{settings}\n"
        )
    };
    let keys = format!("[keys.bob]\nkey = \"{BOB}\"\n{keys}");
    format!("store = \"memory\"\n{}{}{keys}", source("F"), source("G"))
}

fn alice(key: &str) -> String {
    format!("[keys.alice]\nkey = \"{key}\"\n")
}

fn start(config: &str) -> (tempfile::TempDir, Serving) {
    let folder = folder(config);
    std::fs::write(folder.path().join("objects.json"), document(objects()).to_string()).expect("written");
    let serving = Serving::start(folder.path());
    (folder, serving)
}

/// Calls over OXP; the whole answer but for the id and the time of the call.
fn call_for(serving: &Serving, (key, user): (&str, Option<&str>), tool: &str, input: &Value) -> Value {
    let body = json!({ "tool_id": tool, "input": input, "context": { "user_id": user } }).to_string();
    let (status, answer) =
        serving.post("/tools/call", &format!("authorization: Bearer {key}\r\n"), body.as_bytes());
    let mut answer: Value = serde_json::from_str(&answer).expect("JSON");
    let members = answer.as_object_mut().expect("an object");
    for varying in ["call_id", "duration_ms", "duration"] {
        members.remove(varying);
    }
    members.insert("status".to_owned(), status.into());
    answer
}

fn call(serving: &Serving, key: &str, tool: &str, input: &Value) -> Value {
    call_for(serving, (key, None), tool, input)
}

fn open(serving: &Serving, key: &str) -> Value {
    opened(&call(serving, key, "F.obj_new", &json!({ "v": 7 })))
}

/// The arguments that lead to an opened object.
fn opened(answer: &Value) -> Value {
    let value = &answer["value"];
    assert!(value["obj"].is_string(), "{answer}");
    value.clone()
}

fn check_reads(serving: &Serving, key: &str, object: &Value) {
    let answer = call(serving, key, "F.obj_get", object);
    assert_eq!(answer["value"], json!({ "v": 7 }), "{answer}");
}

fn until_live(serving: &Serving, expect: i64) {
    until("objects to be closed", || {
        let live = call(serving, BOB, "F.obj_live", &json!({}));
        (live["value"]["result"] == expect).then_some(())
    });
}

#[test]
fn a_caller_does_not_read_or_close_the_handle_of_another() {
    let (_folder, serving) = start(&config("", &alice(ALICE)));
    let object = open(&serving, ALICE);
    let never_given = json!({ "obj": "obj#AAAAAAAAAAAAAAAAAAAAAA" });
    for tool in ["F.obj_get", "F.obj_free"] {
        let refused = call(&serving, BOB, tool, &object);
        assert_eq!(refused["status"], 422, "{refused}");
        assert!(refused.to_string().contains("is not open"), "{refused}");
        assert_eq!(refused, call(&serving, BOB, tool, &never_given));
        assert_eq!(refused, call(&serving, BOB, tool, &json!({ "obj": "obj#1.1" })));
    }
    check_reads(&serving, ALICE, &object);
    assert_eq!(call(&serving, ALICE, "F.obj_free", &object)["status"], 200);
    until_live(&serving, 0);
}

#[test]
fn a_handle_of_another_source_or_an_earlier_worker_looks_like_one_never_given() {
    let (_folder, serving) = start(&config("", &alice(ALICE)));
    let object = open(&serving, ALICE);
    let never_given = json!({ "obj": "obj#AAAAAAAAAAAAAAAAAAAAAA" });
    let unknown = call(&serving, ALICE, "F.obj_get", &never_given);
    let elsewhere = call(&serving, ALICE, "G.obj_get", &object);
    assert_eq!(elsewhere, call(&serving, ALICE, "G.obj_get", &never_given));
    check_reads(&serving, ALICE, &object);
    call(&serving, BOB, "F.segv", &json!({}));
    assert_eq!(call(&serving, ALICE, "F.obj_get", &object), unknown);
}

#[test]
fn one_user_of_a_key_does_not_use_the_handle_of_another() {
    let (_folder, serving) = start(&config("", &alice(ALICE)));
    let object = opened(&call_for(&serving, (ALICE, Some("carol")), "F.obj_new", &json!({ "v": 7 })));
    for user in [Some("dave"), None] {
        let refused = call_for(&serving, (ALICE, user), "F.obj_get", &object);
        assert!(refused.to_string().contains("is not open"), "{user:?}: {refused}");
    }
    assert_eq!(call_for(&serving, (ALICE, Some("carol")), "F.obj_get", &object)["status"], 200);
}

#[test]
fn one_caller_does_not_use_up_the_handles_of_all() {
    let limits = "limits = { handles = 20, handles_per_caller = 5 }";
    let (_folder, serving) = start(&config(limits, &alice(ALICE)));
    let objects: Vec<Value> = (0..5).map(|_| open(&serving, ALICE)).collect();
    let too_many = call_for(&serving, (ALICE, Some("carol")), "F.obj_new", &json!({ "v": 1 })).to_string();
    assert!(too_many.contains("close some with `obj_free`"), "{too_many}");
    assert!(too_many.contains("you have 5 objects of this library open"), "{too_many}");
    assert!(!too_many.contains("retry_after_ms\":1"), "{too_many}");
    open(&serving, BOB);
    assert_eq!(call(&serving, ALICE, "F.obj_free", &objects[0])["status"], 200);
    open(&serving, ALICE);
}

#[test]
fn a_caller_that_leaves_before_the_answer_does_not_keep_the_handle() {
    let tools = "[tools.\"F.obj_new\"]\ntimeout = \"20ms\"\n";
    let (_folder, serving) = start(&config("", &[&alice(ALICE), tools].concat()));
    let mut answered_in_time = 0;
    std::thread::scope(|scope| {
        let sleeping = scope.spawn(|| call(&serving, BOB, "F.sleep_ms", &json!({ "n": 1000 })));
        until("a call that waits longer than its caller", || {
            let answer = call(&serving, ALICE, "F.obj_new", &json!({ "v": 1 })).to_string();
            let left = answer.contains("did not answer within");
            answered_in_time += i64::from(!left);
            left.then_some(())
        });
        assert_eq!(sleeping.join().expect("answered")["status"], 200);
    });
    until_live(&serving, answered_in_time);
}

fn until_admitted(serving: &Serving, key: &str, expect: u16) {
    let header = format!("authorization: Bearer {key}\r\n");
    until("the new keys", || (serving.get("/opentool/version", &header).0 == expect).then_some(()));
}

fn check_released(folder: &Path, serving: &Serving, keys: &str) {
    let of_bob = open(serving, BOB);
    let object = open(serving, ALICE);
    open(serving, ALICE);
    write(folder, &config("", keys));
    until_admitted(serving, ALICE, 401);
    until_live(serving, 1);
    check_reads(serving, BOB, &of_bob);
    if !keys.is_empty() {
        let refused = call(serving, "another key", "F.obj_get", &object);
        assert!(refused.to_string().contains("is not open"), "{refused}");
    }
}

#[test]
fn a_removed_key_does_not_keep_its_handles() {
    let (folder, serving) = start(&config("", &alice(ALICE)));
    check_released(folder.path(), &serving, "");
}

#[test]
fn a_replaced_key_does_not_keep_its_handles() {
    let (folder, serving) = start(&config("", &alice(ALICE)));
    check_released(folder.path(), &serving, &alice("another key"));
}

#[test]
fn a_handle_that_nobody_uses_does_not_stay_open() {
    for in_process in [false, true] {
        let settings = format!("handle_idle = \"100ms\"\nin_process = {in_process}");
        let (_folder, serving) = start(&config(&settings, &alice(ALICE)));
        let object = open(&serving, ALICE);
        until_live(&serving, 0);
        let refused = call(&serving, ALICE, "F.obj_get", &object);
        assert!(refused.to_string().contains("is not open"), "{refused}");
    }
}

#[test]
fn a_caller_has_its_handles_in_every_protocol_in_tasks_and_in_the_steps_of_a_workflow() {
    let flow = "[sources.Flow]\nkind = \"workflow\"\ndocument = \"flow.json\"\n";
    let folder = folder(&config("", &[&alice(ALICE), flow].concat()));
    let put = |file: &str, value: Value| {
        std::fs::write(folder.path().join(file), value.to_string()).expect("written");
    };
    put("objects.json", document(objects()));
    let step = |function: &str, arguments: Value, results: &str, next: &str| json!({ "function": function, "arguments": arguments, "results": { results: null }, "next": next });
    put(
        "flow.json",
        json!({ "openworkflow": "1.0.0", "info": { "title": "Twice", "version": "1" }, "workflow": {
            "start": step("F.obj_new", json!({ "v": 7 }), "obj", "read"),
            "read": step("F.obj_get", json!({ "obj": "#/start/results/obj" }), "v", ""),
        } }),
    );
    let serving = Serving::start(folder.path());
    let header = format!("authorization: Bearer {ALICE}\r\n");
    let answer = call(&serving, ALICE, "Flow.Twice", &json!({}));
    assert_eq!(answer["value"], json!({ "v": 7 }), "{answer}");
    let object = open(&serving, ALICE);
    let params = json!({ "name": "F_obj_get", "arguments": object });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string();
    let answer = serving.post("/mcp", &header, body.as_bytes()).1;
    assert!(answer.contains(r#""structuredContent":{"v":7}"#), "{answer}");
    let (_, submitted) = serving.post("/call_tool/F_obj_get", &header, object.to_string().as_bytes());
    let task = submitted.split('"').nth(3).expect("a task id");
    let answer = serving.get(&format!("/callback/{task}"), &header).1;
    assert!(answer.contains(r#"{"v":7}"#), "{answer}");
}

fn message(method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string()
}

/// A legacy MCP session of alice over streamable HTTP.
struct Session<'a> {
    serving: &'a Serving,
    headers: String,
}

impl<'a> Session<'a> {
    fn begin(serving: &'a Serving) -> Self {
        let key = format!("authorization: Bearer {ALICE}\r\naccept: application/json\r\n");
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": { "name": "t", "version": "1" } });
        let body = message("initialize", &params);
        let answer = serving.exchange(&request("POST /mcp", &key, body.as_bytes()));
        let id = answer.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).expect("a session");
        Session { serving, headers: format!("{key}mcp-session-id: {id}\r\n") }
    }

    fn ask(&self, method: &str, params: &Value) -> Value {
        let (status, answer) = self.serving.post("/mcp", &self.headers, message(method, params).as_bytes());
        assert_eq!(status, 200, "{answer}");
        serde_json::from_str::<Value>(&answer).expect("JSON")["result"].take()
    }

    /// The structured result of a tool.
    fn call(&self, tool: &str, arguments: &Value) -> Value {
        let mut result = self.ask("tools/call", &json!({ "name": tool, "arguments": arguments }));
        assert!(result["structuredContent"].is_object(), "{result}");
        result["structuredContent"].take()
    }

    fn open(&self) -> Value {
        self.call("F_obj_new", &json!({ "v": 7 }))
    }

    fn end(&self) {
        let answer = self.serving.exchange(&request("DELETE /mcp", &self.headers, b""));
        assert!(answer.starts_with("HTTP/1.1 204"), "{answer}");
    }
}

#[test]
fn an_ended_session_does_not_keep_its_handles() {
    let (_folder, serving) = start(&config("limits = { handles_per_caller = 4 }", &alice(ALICE)));
    let (one, other) = (Session::begin(&serving), Session::begin(&serving));
    let (ended, stays, outside) = (one.open(), other.open(), open(&serving, ALICE));
    let params = json!({ "name": "F_obj_new", "arguments": { "v": 7 }, "task": { "ttl": 60_000 } });
    let task = one.ask("tools/call", &params)["task"]["taskId"].take();
    let of_task = one.ask("tasks/result", &json!({ "taskId": task }))["structuredContent"].take();
    for object in [&ended, &stays, &outside, &of_task] {
        assert_eq!(other.call("F_obj_get", object), json!({ "v": 7 }));
        check_reads(&serving, ALICE, object);
    }
    one.end();
    let refused = call(&serving, ALICE, "F.obj_get", &ended);
    assert!(refused.to_string().contains("is not open"), "{refused}");
    until_live(&serving, 3);
    for object in [&stays, &outside, &of_task] {
        check_reads(&serving, ALICE, object);
    }
    until("room for another object", || {
        let answer = call(&serving, ALICE, "F.obj_new", &json!({ "v": 1 }));
        (answer["status"] == 200).then_some(())
    });
}

#[test]
fn a_call_that_outlives_its_session_does_not_keep_its_handles() {
    let flow = "[sources.Flow]\nkind = \"workflow\"\ndocument = \"flow.json\"\n";
    let folder = folder(&config("", &[&alice(ALICE), flow].concat()));
    let put = |file: &str, value: Value| {
        std::fs::write(folder.path().join(file), value.to_string()).expect("written");
    };
    put("objects.json", document(objects()));
    let opens = |next: &str| json!({ "function": "F.obj_new", "arguments": { "v": 7 }, "results": { "obj": null }, "next": next });
    put(
        "flow.json",
        json!({ "openworkflow": "1.0.0", "info": { "title": "Slow", "version": "1" }, "workflow": {
            "start": opens("wait"),
            "wait": { "function": "G.sleep_ms", "arguments": { "n": 500 }, "results": { "result": null }, "next": "again" },
            "again": opens(""),
        } }),
    );
    let serving = Serving::start(folder.path());
    let session = Session::begin(&serving);
    std::thread::scope(|scope| {
        let running = scope.spawn(|| session.call("Flow_Slow", &json!({})));
        until_live(&serving, 1);
        session.end();
        assert!(running.join().expect("answered")["obj"].is_string());
    });
    until_live(&serving, 0);
}

#[test]
fn a_closed_stream_of_events_does_not_keep_its_handles() {
    let (_folder, serving) = start(&config("", &alice(ALICE)));
    let key = format!("authorization: Bearer {ALICE}\r\n");
    let mut stream = serving.connect();
    stream.write_all(&request("GET /sse", &key, b"")).expect("sent");
    let mut lines = BufReader::new(stream).lines().map(|line| line.expect("readable"));
    let mut heard = |mark: &str| lines.find(|line| line.contains(mark)).expect("the stream is open");
    let endpoint = heard("data:").replace("data:", "");
    let body = message("tools/call", &json!({ "name": "F_obj_new", "arguments": { "v": 7 } }));
    assert_eq!(serving.post(&endpoint, &key, body.as_bytes()).0, 202);
    let answer = heard("data:");
    assert!(answer.contains("obj#"), "{answer}");
    until_live(&serving, 1);
    drop(lines);
    until_live(&serving, 0);
}
