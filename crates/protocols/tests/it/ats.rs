//! ATS over real sockets: every route, and the weak points of the first implementation.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use insta::assert_snapshot;
use serde_json::{Value, json};
use tokio::sync::Notify;
use toolmux_core::BoxFuture;
use toolmux_core::call::Call;
use toolmux_core::catalog::UnservedCause;
use toolmux_core::gateway::{Gateway, Settings};
use toolmux_core::memory::MemoryStore;
use toolmux_core::message::Message;
use toolmux_core::outcome::Outcome;
use toolmux_core::ports::source::{Listing, Source, SourceError};
use toolmux_core::progress::Progress;
use toolmux_core::sources::{Mount, Naming};
use toolmux_core::toolset::{Pattern, Toolset};
use toolmux_http::client::{HttpClient, HttpLimits};

use crate::oxp::{SETTLE, Server};
use crate::scripted_source::Scripted;

async fn server() -> (Arc<Scripted>, Server) {
    let source = Scripted::new();
    (Arc::clone(&source), Server::start(Settings::default(), source).await)
}

async fn start(server: &Server, tool: &str, arguments: &Value) -> String {
    let path = format!("/call_tool/{tool}");
    let (status, _, body) = server.ask(Method::POST, &path, &[], &arguments.to_string()).await;
    assert_eq!(status, StatusCode::OK, "{body}");
    body["task_id"].as_str().expect("a task id").to_owned()
}

/// The whole stream of a task as text.
async fn stream(server: &Server, task: &str, after: Option<&str>) -> String {
    let mut headers = HeaderMap::new();
    headers.insert(header::ACCEPT, HeaderValue::from_static("text/event-stream"));
    if let Some(after) = after {
        headers.insert("last-event-id", after.parse().expect("a header"));
    }
    let url = format!("{}/callback/{task}", server.base).parse().expect("an address");
    let answer = HttpClient::new(HttpLimits::default()).send(Method::GET, &url, headers, "").await;
    let answer = answer.expect("an answer");
    let kind = answer.headers().get(header::CONTENT_TYPE).cloned();
    assert_eq!(kind, Some(HeaderValue::from_static("text/event-stream; charset=utf-8")));
    String::from_utf8(answer.body().await.expect("a stream that ends").to_vec()).expect("UTF-8")
}

#[tokio::test]
async fn the_list_is_a_bare_array() {
    let (_, server) = server().await;
    let (status, _, body) = server.ask(Method::GET, "/get_tool", &[], "").await;
    assert_eq!(status, StatusCode::OK);
    let nothing = body.as_array().expect("an array").iter().find(|tool| tool["name"] == "Kit_Nothing");
    assert_snapshot!(nothing.expect("a tool"), @r#"{"name":"Kit_Nothing","description":"Does Nothing","input_schema":{}}"#);
}

#[tokio::test]
async fn a_call_is_a_task_whose_changes_are_events() {
    let (_, server) = server().await;
    let task = start(&server, "Kit_Add", &json!({ "a": 1, "b": 2 })).await;
    assert_snapshot!(stream(&server, &task, None).await, @r#"
    id:1
    data:{"status":"pending","result":null,"error":null}

    id:2
    data:{"status":"running","result":null,"error":null}

    id:3
    data:{"status":"completed","result":[{"type":"text","text":"3.0"}],"error":null,"value":3.0}
    "#);
}

#[tokio::test]
async fn a_follower_resumes_behind_the_last_event_it_saw() {
    let (_, server) = server().await;
    let task = start(&server, "Kit_Nothing", &json!({})).await;
    stream(&server, &task, None).await;
    assert_snapshot!(stream(&server, &task, Some("2")).await, @r#"
    id:3
    data:{"status":"completed","result":[],"error":null,"value":null}
    "#);
    assert_eq!(stream(&server, &task, Some("3")).await, "");
}

#[tokio::test]
async fn who_asks_for_json_gets_one_document_at_the_end() {
    let (source, server) = server().await;
    let task = start(&server, "Kit_Slow", &json!({})).await;
    let path = format!("/callback/{task}");
    let accept = [("accept", "application/json")];
    let asked = server.ask(Method::GET, &path, &accept, "");
    let (answer, ()) = tokio::join!(asked, async { source.turns.add_permits(1) });
    assert_snapshot!(answer.2, @r#"{"status":"completed","result":[{"type":"text","text":"1"}],"error":null,"value":1}"#);
    let (status, _, body) = server.ask(Method::GET, "/callback/nobody", &accept, "").await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    assert_eq!(body["detail"], "The task does not exist or has been cleared");
}

/// Whether an answer to `/callback` with these headers is a stream of events.
async fn is_stream(server: &Server, task: &str, headers: &[(&str, &str)]) -> bool {
    let (status, told, _) = server.ask(Method::GET, &format!("/callback/{task}"), headers, "").await;
    assert_eq!(status, StatusCode::OK);
    let kind = told[header::CONTENT_TYPE].to_str().expect("text").to_owned();
    assert!(kind.starts_with("text/event-stream") || kind.starts_with("application/json"), "{kind}");
    kind.starts_with("text/event-stream")
}

#[tokio::test]
async fn events_are_for_who_asks_for_them_and_everybody_else_gets_the_document() {
    let (_, server) = server().await;
    let task = start(&server, "Kit_Nothing", &json!({})).await;
    assert!(!is_stream(&server, &task, &[]).await);
    for (accept, expect) in [
        ("text/event-stream", true),
        ("Text/Event-Stream; charset=utf-8", true),
        ("application/json, text/event-stream", true),
        ("text/event-stream, */*;q=0.1", true),
        ("text/event-stream;q=0.9, application/json;q=0.5", true),
        ("text/event-stream;q=0.5, application/json", false),
        ("text/event-stream;q=0, */*", false),
        ("*/*", false),
        ("application/json", false),
        ("application/json, text/plain, */*", false),
        ("text/html,application/xhtml+xml,*/*;q=0.8", false),
        ("", false),
    ] {
        assert_eq!(is_stream(&server, &task, &[("accept", accept)]).await, expect, "{accept}");
    }
    // Who resumes has been reading events.
    assert!(is_stream(&server, &task, &[("last-event-id", "1")]).await);
    assert!(is_stream(&server, &task, &[("last-event-id", "1"), ("accept", "*/*")]).await);
    assert!(!is_stream(&server, &task, &[("last-event-id", "1"), ("accept", "application/json")]).await);
}

#[tokio::test]
async fn an_unknown_task_is_one_error_event() {
    let (_, server) = server().await;
    assert_snapshot!(stream(&server, "nobody", None).await, @r"
    event:error
    data:The task does not exist or has been cleared
    ");
}

#[tokio::test]
async fn a_cancelled_task_ends_for_everybody() {
    let (_, server) = server().await;
    let task = start(&server, "Kit_Slow", &json!({})).await;
    let cancel = async {
        let path = format!("/cancel/{task}");
        let (_, _, body) = server.ask(Method::GET, &path, &[], "").await;
        assert_snapshot!(body, @r#"{"data":{"status":"cancelled","result":null,"error":null}}"#);
    };
    let (told, ()) = tokio::join!(stream(&server, &task, None), cancel);
    assert!(told.ends_with("data:{\"status\":\"cancelled\",\"result\":null,\"error\":null}\n\n"), "{told}");
    let (status, _, _) = server.ask(Method::GET, "/cancel/nobody", &[], "").await;
    assert_eq!(status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn an_idempotency_key_makes_the_same_call_the_same_task() {
    let (source, server) = server().await;
    let send = async |body: &str| {
        let key = [("idempotency-key", "order-1")];
        server.ask(Method::POST, "/call_tool/Kit_Add", &key, body).await
    };
    let (_, _, first) = send(r#"{"a":1,"b":2}"#).await;
    let (_, _, again) = send(r#"{"b":2,"a":1}"#).await;
    assert_eq!(first, again);
    assert_eq!(send(r#"{"a":1,"b":3}"#).await.0, StatusCode::CONFLICT);
    stream(&server, first["task_id"].as_str().expect("a task id"), None).await;
    assert_eq!(source.runs(), 1);
}

#[tokio::test]
async fn an_agent_gets_its_toolset_and_one_without_gets_all() {
    let toolset =
        |name: &str, pattern: &str| Toolset { name: name.into(), tools: vec![Pattern::new(pattern)] };
    let toolsets = vec![toolset("math", "Kit.Add"), toolset("nothing", "Nowhere.*")];
    let settings = Settings { toolsets, ..Settings::default() };
    let server = Server::start(settings, Scripted::new()).await;
    let count = async |path: &str| {
        let (_, _, body) = server.ask(Method::GET, path, &[], "").await;
        body.as_array().expect("an array").len()
    };
    assert_eq!(count("/get_tool/math").await, 1);
    let all = count("/get_tool").await;
    assert!(all > 1);
    assert_eq!(count("/get_tool/nothing").await, all);
    assert_eq!(count("/get_tool/stranger").await, all);
}

#[tokio::test]
async fn weak_point_a_quick_tool_is_not_polled_for() {
    let (_, server) = server().await;
    let (begun, mut quickest) = (Instant::now(), Duration::MAX);
    // Whoever polls once a second is never quicker than that; a busy machine is, once in many times.
    while quickest >= Duration::from_secs(1) && begun.elapsed() < SETTLE {
        let started = Instant::now();
        let task = start(&server, "Kit_Nothing", &json!({})).await;
        stream(&server, &task, None).await;
        quickest = quickest.min(started.elapsed());
    }
    assert!(quickest < Duration::from_secs(1), "{quickest:?}");
}

/// Counts how often it was opened and closed; the last one opened may refuse to list.
#[derive(Default)]
struct Lives {
    opened: AtomicUsize,
    closed: AtomicUsize,
    closing: Notify,
    broken: AtomicUsize,
}

struct Mortal(Arc<Scripted>, Arc<Lives>, usize);

impl Source for Mortal {
    fn tools(&self) -> BoxFuture<'_, Result<Listing, SourceError>> {
        if self.1.broken.load(Ordering::SeqCst) == self.2 {
            let gone = SourceError::NotReached(Message::public("It is gone"));
            return Box::pin(std::future::ready(Err(gone)));
        }
        self.0.tools()
    }

    fn call<'a>(&'a self, call: &'a Call, told: &'a Progress) -> BoxFuture<'a, Result<Outcome, SourceError>> {
        self.0.call(call, told)
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.1.closed.fetch_add(1, Ordering::SeqCst);
        self.1.closing.notify_waiters();
        Box::pin(std::future::ready(()))
    }
}

async fn mortal() -> (Arc<Scripted>, Arc<Lives>, Server) {
    let (scripted, lives) = (Scripted::new(), Arc::new(Lives::default()));
    let open = {
        let (scripted, lives) = (Arc::clone(&scripted), Arc::clone(&lives));
        move || -> Result<Arc<dyn Source>, Message> {
            let life = lives.opened.fetch_add(1, Ordering::SeqCst) + 1;
            Ok(Arc::new(Mortal(Arc::clone(&scripted), Arc::clone(&lives), life)))
        }
    };
    let gateway = Gateway::new(Settings::default(), Arc::new(MemoryStore::default()));
    let first = open().expect("opens");
    gateway.sources().mount(Mount::new("mortal", "Kit", Naming::Prefixed, first).reopened_by(Arc::new(open)));
    gateway.sources().settled(SETTLE).await;
    (scripted, lives, Server::serve(gateway).await)
}

async fn until_closed(lives: &Lives, times: usize) {
    let closed = async {
        loop {
            // Listened for before it is looked at, so that none is missed between the two.
            let next = lives.closing.notified();
            if lives.closed.load(Ordering::SeqCst) >= times {
                return;
            }
            next.await;
        }
    };
    tokio::time::timeout(SETTLE, closed).await.expect("the old source is closed");
}

#[tokio::test]
async fn weak_point_reset_neither_leaks_a_source_nor_doubles_a_tool() {
    let (scripted, lives, server) = mortal().await;
    let (_, _, before) = server.ask(Method::GET, "/get_tool", &[], "").await;
    let running = start(&server, "Kit_Slow", &json!({})).await;
    for _ in 0..3 {
        let (_, _, body) = server.ask(Method::GET, "/reset", &[], "").await;
        assert_eq!(
            (&body["status"], &body["sources"][0]["name"]),
            (&json!("ok"), &json!("mortal")),
            "{body}"
        );
    }
    let (_, _, after) = server.ask(Method::GET, "/get_tool", &[], "").await;
    assert_eq!(before, after);
    scripted.turns.add_permits(1);
    let told = stream(&server, &running, None).await;
    assert!(told.contains("completed"), "a call in flight finishes: {told}");
    until_closed(&lives, 3).await;
    assert_eq!(lives.opened.load(Ordering::SeqCst) - lives.closed.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn weak_point_a_source_that_fails_is_named_and_the_old_one_stays() {
    let (_, lives, server) = mortal().await;
    lives.broken.store(2, Ordering::SeqCst);
    let (status, _, body) = server.ask(Method::GET, "/reset", &[], "").await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(body["status"], "error");
    assert_eq!(body["sources"][0]["error"], "It is gone");
    let (_, _, tools) = server.ask(Method::GET, "/get_tool", &[], "").await;
    assert!(tools.as_array().expect("an array").len() > 1);
    until_closed(&lives, 1).await;
}

#[tokio::test]
async fn reset_is_ok_while_any_source_is_ready_and_names_those_that_are_not() {
    let (_, lives, server) = mortal().await;
    server.gateway.sources().mount(Mount::new("other", "Other", Naming::Prefixed, Scripted::new()));
    server.gateway.sources().settled(SETTLE).await;
    lives.broken.store(2, Ordering::SeqCst);
    let (_, _, body) = server.ask(Method::GET, "/reset", &[], "").await;
    assert_eq!(body["status"], "ok");
    let sources = body["sources"].as_array().expect("an array");
    let told: Vec<_> =
        sources.iter().map(|source| (source["name"].clone(), source["status"].clone())).collect();
    assert_eq!(told, [(json!("mortal"), json!("error")), (json!("other"), json!("ok"))]);
    let gateway = Gateway::new(Settings::default(), Arc::new(MemoryStore::default()));
    let empty = Server::serve(gateway).await;
    let (_, _, body) = empty.ask(Method::GET, "/reset", &[], "").await;
    assert_eq!(body, json!({ "status": "ok", "sources": [] }));
}

#[tokio::test]
async fn weak_point_the_last_of_two_tools_of_one_name_does_not_win() {
    let gateway = Gateway::new(Settings::default(), Arc::new(MemoryStore::default()));
    let (first, second) = (Scripted::new(), Scripted::new());
    for (name, source) in [("one", &first), ("two", &second)] {
        gateway.sources().mount(Mount::new(name, "Kit", Naming::Prefixed, source.clone()));
    }
    gateway.sources().settled(SETTLE).await;
    assert!(gateway.catalog().unserved().iter().all(|tool| tool.cause == UnservedCause::Collision));
    let server = Server::serve(gateway).await;
    let task = start(&server, "Kit_Nothing", &json!({})).await;
    stream(&server, &task, None).await;
    assert_eq!((first.runs(), second.runs()), (1, 0));
}
