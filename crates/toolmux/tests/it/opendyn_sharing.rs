//! What callers of one library share: its worker or not, its pauses, and the words about it.

use serde_json::{Value, json};

use crate::opendyn_fixture::{LIBRARY, Libraries, document, function};
use crate::process::{Serving, folder};

const KEYS: &str = "[keys.alice]\nkey = \"the key of alice\"\n[keys.bob]\nkey = \"the key of bob\"\n";

/// A server whose only tool is `getpid` of the C library: the process that the library runs in.
fn serving(workers: &str) -> (tempfile::TempDir, Serving) {
    let source = "[sources.C]\nkind = \"opendyn\"\ndocument = \"libc.json\"\nlibrary = \"libc.so.6\"\n";
    let folder = folder(&format!("store = \"memory\"\n{source}workers = {workers}\n{KEYS}"));
    let document = document(json!([function("getpid", "int", &[])]));
    std::fs::write(folder.path().join("libc.json"), document.to_string()).expect("written");
    let serving = Serving::start(folder.path());
    (folder, serving)
}

/// The process that answers a caller.
fn process(serving: &Serving, caller: &str) -> u64 {
    let body = json!({ "tool_id": "C.getpid", "input": {} }).to_string();
    let key = format!("authorization: Bearer the key of {caller}\r\n");
    let (_, answer) = serving.post("/tools/call", &key, body.as_bytes());
    let answer: Value = serde_json::from_str(&answer).expect("JSON");
    answer["value"]["result"].as_u64().unwrap_or_else(|| panic!("{answer}"))
}

#[test]
fn each_caller_may_have_a_worker_of_its_own() {
    let (_folder, serving) = serving("\"per-caller\"");
    let (alice, bob) = (process(&serving, "alice"), process(&serving, "bob"));
    assert_ne!(alice, bob);
    assert_eq!((process(&serving, "alice"), process(&serving, "bob")), (alice, bob));
}

#[test]
fn callers_share_a_worker_unless_told_otherwise() {
    let (_folder, serving) = serving("1");
    assert_eq!(process(&serving, "alice"), process(&serving, "bob"));
}

#[tokio::test]
async fn a_library_that_crashes_now_and_then_is_not_paused() {
    let add = function("add", "int", &[("a", "int"), ("b", "int")]);
    let functions = json!([add, function("segv", "void", &[])]);
    let libraries = Libraries::fixture(functions, json!({ "limits": { "crash_share": 20 } })).await;
    for round in 0..8 {
        for b in 0..6 {
            let sum = libraries.call("Fixture.add", json!({ "a": round, "b": b })).await;
            assert_eq!(sum, Ok(json!({ "result": round + b })), "round {round}");
        }
        let crashed = libraries.call("Fixture.segv", json!({})).await.expect_err("it crashes");
        assert!(crashed.contains("crashed (SIGSEGV)"), "{crashed}");
    }
    libraries.close().await;
}

#[tokio::test]
async fn what_a_document_says_about_its_library_is_told_with_each_function() {
    let mut document = document(json!([function("add", "int", &[("a", "int"), ("b", "int")])]));
    document["info"]["description"] = "sums and other arithmetic".into();
    let libraries = Libraries::new();
    libraries.add("Fixture", &document, &LIBRARY, Value::Null).await;
    assert_eq!(libraries.description("add"), "add\n\nThe library: sums and other arithmetic");
    libraries.close().await;
}
