//! A server on standard streams as it starts, ends and is started again, and what it says of itself and asks for.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::{advance, timeout};
use toolmux_core::gateway::Settings;
use toolmux_core::json_text::raw_of;
use toolmux_core::limits::Limits;
use toolmux_core::ports::source::{Relay, Source};
use toolmux_core::progress::Progress;
use toolmux_core::requirements::Grants;

use crate::mcp_client::{ask, call, modern, modern_as, rpc, send, session, text};
use crate::mcp_fixture::{Served, open, serve};

/// A server in this mode, with a folder of its own.
pub(crate) fn child(folder: &Path, era: &str, mode: &str) -> Value {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/peers/mcp/child.py");
    let folder = folder.to_str().expect("a path of letters");
    json!({ "command": ["python3", script, folder, era, mode], "max_message": 50_000 })
}

/// How often something was noted.
pub(crate) fn noted(folder: &Path, what: &str) -> usize {
    std::fs::read_to_string(folder.join(what)).map_or(0, |text| text.lines().count())
}

/// Behind a gateway whose breaker never opens.
async fn served(era: &str, mode: &str) -> (Served, TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let limits = Limits { breaker_failures: u32::MAX, ..Limits::default() };
    let source = open(child(folder.path(), era, mode));
    (serve(Settings { limits, ..Settings::default() }, vec![("Up", source)]).await, folder)
}

#[tokio::test]
async fn a_server_that_crashes_again_and_again_is_back_at_once_and_once_for_all_callers() {
    let (served, folder) = served("modern", "good").await;
    for crash in 1..=8 {
        let told = join_all((0..16).map(|_| call(&served.url, "Up_pid"))).await;
        assert!(told.iter().all(|answer| *answer == told[0] && answer.contains("content")), "{told:?}");
        assert!(call(&served.url, "Up_die").await.contains("may have run"));
        let told = join_all((0..16).map(|_| call(&served.url, "Up_t"))).await;
        assert!(told.iter().all(|answer| answer.contains("ok")), "after {crash} crashes: {told:?}");
        assert_eq!(noted(folder.path(), "starts"), crash + 1);
    }
}

#[tokio::test]
async fn a_server_that_never_starts_is_left_alone_for_longer_and_longer() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = open(child(folder.path(), "modern", "fails"));
    for _ in 0..40 {
        source.tools().await.expect_err("it does not start");
    }
    // Each attempt greets in both eras, with a start for each.
    let starts = noted(folder.path(), "starts");
    assert!((4..80).contains(&starts), "{starts} starts");
}

/// Waits for a fact while the clock of the test stands still.
async fn until(what: impl Fn() -> bool) {
    let begun = std::time::Instant::now();
    while !what() {
        assert!(begun.elapsed() < Duration::from_mins(1), "it comes to that");
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_start_takes_as_long_as_a_list_may_and_no_caller_ends_it() {
    for era in ["legacy", "modern"] {
        let folder = tempfile::tempdir().expect("a folder");
        let source: Arc<dyn Source> = open(child(folder.path(), era, "slow"));
        // As long as something blocks a thread, the clock goes on only where it is told to.
        let (done, blocked) = std::sync::mpsc::channel::<()>();
        let blocking = tokio::task::spawn_blocking(move || blocked.recv().ok());
        let caller = {
            let source = Arc::clone(&source);
            tokio::spawn(async move {
                let relay = Relay {
                    protocol: "mcp",
                    caller: "somebody".into(),
                    method: "ping".into(),
                    item: String::new(),
                    trace: None,
                    params: raw_of(&json!({})),
                };
                timeout(
                    Duration::from_secs(3),
                    source.relay(&relay, &Grants::default(), &Progress::unheard()),
                )
                .await
                .is_err()
            })
        };
        until(|| noted(folder.path(), "starts") == 1).await;
        let listing = {
            let source = Arc::clone(&source);
            tokio::spawn(async move { timeout(Duration::from_mins(2), source.tools()).await })
        };
        for _ in 0..100 {
            advance(Duration::from_secs(1)).await;
        }
        assert!(caller.await.expect("it ends"), "the caller lost patience");
        std::fs::write(folder.path().join("go"), "").expect("written");
        until(|| listing.is_finished()).await;
        let listed = listing.await.expect("it ends").expect("in time").expect("a list");
        assert_eq!((listed.tools.len(), noted(folder.path(), "starts")), (4, 1), "{era}");
        drop(done);
        blocking.await.expect("it ends");
    }
}

#[tokio::test]
async fn a_server_that_says_nothing_within_the_time_of_a_list_is_started_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = open(child(folder.path(), "modern", "slow"));
    tokio::select! {
        listed = source.tools() => panic!("{listed:?}"),
        () = until(|| noted(folder.path(), "starts") == 1) => {}
    }
    std::fs::write(folder.path().join("go"), "").expect("written");
    assert_eq!(source.tools().await.expect("a list").tools.len(), 4);
    assert_eq!(noted(folder.path(), "starts"), 2);
}

#[tokio::test]
async fn what_servers_say_of_their_tools_reaches_whoever_sees_any() {
    for era in ["legacy", "modern"] {
        let (served, _folder) = served(era, "good").await;
        let expect = "Tools of several sources behind one server.\n\n# Up\nUse me gently.";
        let (_, greeted) = session(&served.url, "2025-11-25", json!({})).await;
        assert_eq!(greeted["instructions"], expect, "{era}");
        let (_, body) = ask(&served.url, modern("server/discover", json!({}))).await;
        let discovered: Value = serde_json::from_str(&body).expect("JSON");
        assert_eq!(discovered["result"]["instructions"], expect, "{era}");
    }
}

#[tokio::test]
async fn no_result_is_signed_by_the_server_behind_us() {
    let (served, _folder) = served("modern", "good").await;
    let modern = call(&served.url, "Up_t").await;
    let legacy = rpc(1, "tools/call", json!({ "name": "Up_t" }));
    let legacy = text(send(&served.url, http::Method::POST, &[], legacy).await).await.1;
    for body in [modern, legacy] {
        assert!(body.contains("ok") && !body.contains("child"), "{body}");
    }
}

#[tokio::test]
async fn a_caller_with_roots_is_asked_for_them_and_any_other_has_none() {
    let (served, _folder) = served("legacy", "good").await;
    let none = call(&served.url, "Up_roots").await;
    assert!(none.contains(r#"{\"roots\": []}"#), "{none}");
    let can = json!({ "roots": {} });
    let (_, asked) =
        ask(&served.url, modern_as("tools/call", json!({ "name": "Up_roots" }), can.clone())).await;
    let asked: Value = serde_json::from_str(&asked).expect("JSON");
    let (key, question) =
        asked["result"]["inputRequests"].as_object().and_then(|all| all.iter().next()).expect("a question");
    assert_eq!(question["method"], "roots/list");
    let roots = json!({ "roots": [{ "uri": "file:///home" }] });
    let again = json!({ "name": "Up_roots", "requestState": asked["result"]["requestState"],
        "inputResponses": { key.as_str(): roots } });
    let (_, told) = ask(&served.url, modern_as("tools/call", again, can)).await;
    assert!(told.contains("file:///home"), "{told}");
}
