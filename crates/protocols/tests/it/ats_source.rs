//! An ATS server as a source of another gateway: what goes in on one side comes out on the other.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::routing::{get, post};
use http::{Method, StatusCode};
use serde_json::{Value, json};
use toolmux_core::arguments::Arguments;
use toolmux_core::call::Request;
use toolmux_core::gateway::{Credential, Gateway, Settings};
use toolmux_core::memory::MemoryStore;
use toolmux_core::names::ToolRef;
use toolmux_core::outcome::{Outcome, Retry};
use toolmux_core::progress::Progress;
use toolmux_core::refusal::Refusal;
use toolmux_core::sources::{Mount, Naming};
use toolmux_protocols::SOURCES;
use toolmux_protocols::registry::Opening;

use crate::oxp::{SETTLE, Server, listen};
use crate::scripted_source::Scripted;

struct Pair {
    scripted: Arc<Scripted>,
    upstream: Server,
    near: Arc<Gateway>,
}

/// A gateway whose source is the server at `base`.
async fn near(base: &str) -> Arc<Gateway> {
    let kind = SOURCES.iter().find(|kind| kind.kind == "ats").expect("the kind is registered");
    let opening = Opening {
        name: "far",
        table: json!({ "url": base }),
        folder: std::path::Path::new("."),
        secrets: &|_| Err("no secrets here".to_owned()),
    };
    let near = Gateway::new(Settings::default(), Arc::new(MemoryStore::default()));
    near.sources().mount(Mount::new("far", "Far", Naming::Bare, (kind.open)(&opening).expect("opens")));
    near.sources().settled(SETTLE).await;
    near
}

async fn pair() -> Pair {
    let scripted = Scripted::new();
    let upstream = Server::start(Settings::default(), scripted.clone()).await;
    let near = near(&upstream.base).await;
    Pair { scripted, upstream, near }
}

impl Pair {
    async fn call(&self, tool: &str, arguments: Value) -> Result<Outcome, Refusal> {
        let caller = self.near.admit(Credential::None, None).expect("open");
        let Value::Object(map) = arguments else { panic!("arguments are an object") };
        let request = Request::new(ToolRef::flat(tool), Arguments::from_map(map));
        self.near.call(&caller, request, &Progress::unheard()).await
    }
}

#[tokio::test]
async fn values_come_through_as_they_are() {
    let pair = pair().await;
    let Ok(Outcome::Returned(output)) = pair.call("Kit_Add", json!({ "a": 1, "b": 2 })).await else {
        panic!("it returns")
    };
    assert_eq!((output.value.get(), output.content.len()), ("3.0", 0));
}

#[tokio::test]
async fn failures_keep_their_hints() {
    let pair = pair().await;
    let Ok(Outcome::Failed(error)) = pair.call("Kit_Stumble", json!({})).await else { panic!("it fails") };
    assert_eq!(error.message.public, "Doorbell ID not found");
    assert_eq!(error.retry, Retry::After(std::time::Duration::from_millis(500)));
    assert_eq!(error.prompt.as_deref(), Some("ids: doorbell42,doorbell84"));
}

#[tokio::test]
async fn what_the_schema_forbids_does_not_travel() {
    let pair = pair().await;
    let refused = pair.call("Kit_Add", json!({ "a": "x" })).await.expect_err("refused");
    assert_eq!(refused.name(), "invalid");
    assert_eq!(pair.scripted.runs(), 0);
}

#[tokio::test]
async fn a_call_nobody_waits_for_is_cancelled_over_there() {
    let pair = pair().await;
    let waiting = pair.call("Kit_Slow", json!({}));
    let ran = async {
        while pair.scripted.runs() == 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        _ = waiting => panic!("it does not end by itself"),
        () = ran => {}
    }
    let caller = pair.upstream.gateway.admit(Credential::None, None).expect("open");
    let started = std::time::Instant::now();
    loop {
        let tasks = pair.upstream.gateway.tasks().list(&caller, None).await.expect("the store answers");
        if tasks.iter().all(|task| task.status.as_str() == "cancelled") {
            break;
        }
        assert!(started.elapsed() < SETTLE, "{tasks:?}");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_server_that_is_gone_is_unavailable() {
    let pair = pair().await;
    let base = pair.upstream.base.clone();
    let Pair { upstream, near, scripted } = pair;
    upstream.ask(Method::GET, "/health", &[], "").await;
    drop(upstream);
    let pair = Pair { upstream: Server::start(Settings::default(), Scripted::new()).await, near, scripted };
    assert_ne!(pair.upstream.base, base);
    let refused = pair.call("Kit_Nothing", json!({})).await;
    assert_eq!(refused.expect_err("nobody is there").name(), "unavailable");
}

/// What becomes of a call that a server answers like this.
async fn check_answer(status: StatusCode, body: &'static str, expect: &str) {
    let list = r#"[{"name":"t","description":"","input_schema":{"type":"object"}}]"#;
    let routes = axum::Router::new()
        .route("/get_tool", get(move || async move { list }))
        .route("/call_tool/{tool}", post(move || async move { (status, body) }));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let base = format!("http://{}", listener.local_addr().expect("an address"));
    let server = tokio::spawn(async move { axum::serve(listener, routes).await });
    let near = near(&base).await;
    let caller = near.admit(Credential::None, None).expect("open");
    let request = Request::new(ToolRef::flat("t"), Arguments::from_map(serde_json::Map::new()));
    let answer = match near.call(&caller, request, &Progress::unheard()).await {
        Ok(Outcome::Failed(error)) => format!("failed: {}", error.message.public),
        Ok(Outcome::Returned(_)) => "returned".to_owned(),
        Err(refusal) => format!("{}: {}", refusal.name(), refusal.message().public),
    };
    assert!(answer.starts_with(expect), "{status} {body}: {answer}");
    server.abort();
}

#[tokio::test]
async fn refusals_of_a_server_come_out_as_what_they_are() {
    let own = r#"{"detail":"no","parameter_errors":[{"parameter":"a","message":"is wrong"}]}"#;
    check_answer(StatusCode::UNPROCESSABLE_ENTITY, own, "invalid").await;
    let listed = r#"{"detail":[{"loc":["body","a"],"msg":"field required"}]}"#;
    check_answer(StatusCode::UNPROCESSABLE_ENTITY, listed, "invalid").await;
    check_answer(StatusCode::NOT_FOUND, r#"{"detail":"gone"}"#, "unknown").await;
    check_answer(StatusCode::CONFLICT, r#"{"detail":"other arguments"}"#, "conflict").await;
    check_answer(StatusCode::BAD_REQUEST, r#"{"detail":"bad"}"#, "malformed: bad").await;
    let missing = r#"{"detail":"x","authorization":[{"id":"p","authorization_url":"http://a/"}]}"#;
    check_answer(StatusCode::BAD_REQUEST, missing, "challenged").await;
}

#[tokio::test]
async fn a_call_that_may_have_begun_is_lost_and_not_tried_again() {
    let unavailable = StatusCode::SERVICE_UNAVAILABLE;
    let lost = [
        (StatusCode::INTERNAL_SERVER_ERROR, "oops"),
        (StatusCode::OK, "not JSON"),
        (unavailable, "<html>"),
        (StatusCode::CONFLICT, "{}"),
        (StatusCode::NOT_FOUND, "<html>"),
        (StatusCode::UNPROCESSABLE_ENTITY, "{}"),
    ];
    for (status, body) in lost {
        check_answer(status, body, "failed: ").await;
    }
    check_answer(unavailable, r#"{"detail":"starting"}"#, "unavailable: starting").await;
}

/// What becomes of a call whose task a server tells of like this, one answer for each time it is asked.
async fn check_followed(kind: &'static str, answers: &'static [&'static str], expect: &str) {
    let list = r#"[{"name":"t","description":"","input_schema":{"type":"object"}}]"#;
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let follow = move || async move {
        let answer = answers[counted.fetch_add(1, Ordering::SeqCst)];
        ([("content-type", kind)], answer)
    };
    let routes = axum::Router::new()
        .route("/get_tool", get(move || async move { list }))
        .route("/call_tool/{tool}", post(|| async { r#"{"task_id":"1"}"# }))
        .route("/callback/{task}", get(follow));
    let (base, server) = listen(routes).await;
    let near = near(&base).await;
    let caller = near.admit(Credential::None, None).expect("open");
    let request = Request::new(ToolRef::flat("t"), Arguments::from_map(serde_json::Map::new()));
    let answer = match near.call(&caller, request, &Progress::unheard()).await {
        Ok(Outcome::Returned(output)) => format!("returned: {}", output.value.get()),
        Ok(Outcome::Failed(error)) => format!("failed: {}", error.message.public),
        Err(refusal) => format!("{}: {}", refusal.name(), refusal.message().public),
    };
    assert_eq!(
        (answer.as_str(), asked.load(Ordering::SeqCst)),
        (expect, answers.len()),
        "{kind} {answers:?}"
    );
    server.abort();
}

#[tokio::test]
async fn a_task_is_followed_by_events_or_asked_for_until_it_ends() {
    const EVENTS: &str = "text/event-stream";
    const JSON: &str = "application/json; charset=utf-8";
    const DONE: &str = r#"{"status":"completed","result":[{"type":"text","text":"7"}],"error":null}"#;
    const GOES_ON: &str = r#"{"status":"running","result":null,"error":null}"#;
    check_followed(
        EVENTS,
        &["data: {\"status\":\"completed\",\"result\":[{\"type\":\"text\",\"text\":\"7\"}]}\n\n"],
        "returned: 7",
    )
    .await;
    check_followed(JSON, &[DONE], "returned: 7").await;
    check_followed(JSON, &[r#"{"status":"pendding","result":null}"#, GOES_ON, DONE], "returned: 7").await;
    check_followed(JSON, &[r#"{"data":{"status":"completed","result":[]}}"#], "returned: []").await;
    check_followed(JSON, &[r#"{"status":"failed","result":null,"error":"it broke"}"#], "failed: it broke")
        .await;
    let lost = "failed: Source `far` lost the task; the tool may have run";
    check_followed(JSON, &[GOES_ON, r#"{"detail":"?"}"#], lost).await;
}
