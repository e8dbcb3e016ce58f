//! A caller that floods a tool takes no more than its share while others wait.

use std::sync::{Arc, Mutex};

use serde_json::json;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use toolmux_core::BoxFuture;
use toolmux_core::call::Call;
use toolmux_core::gateway::{Admission, ApiKey, Credential, Gateway, Settings};
use toolmux_core::json_text::raw_of;
use toolmux_core::limits::Limits;
use toolmux_core::memory::MemoryStore;
use toolmux_core::outcome::{Outcome, Output};
use toolmux_core::ports::source::{Listing, Source, SourceError};
use toolmux_core::progress::Progress;
use toolmux_core::secret::Secret;
use toolmux_core::sources::{Mount, Naming};

use crate::fixture::{LONG, line, request, tool};

const CONCURRENCY: usize = 4;
const QUEUE: usize = 200;

/// Notes whose call runs, and ends each when the test lets it.
struct Noting {
    ran: Mutex<Vec<String>>,
    go: Semaphore,
}

impl Source for Noting {
    fn tools(&self) -> BoxFuture<'_, Result<Listing, SourceError>> {
        Box::pin(std::future::ready(Ok(vec![tool("run")].into())))
    }

    fn call<'a>(&'a self, call: &'a Call, _: &'a Progress) -> BoxFuture<'a, Result<Outcome, SourceError>> {
        self.ran.lock().expect("not poisoned").push(call.caller().name().to_owned());
        Box::pin(async {
            self.go.acquire().await.expect("open").forget();
            Ok(Outcome::Returned(Output::value(raw_of(&json!("done")))))
        })
    }
}

fn key(name: &str) -> ApiKey {
    ApiKey { name: name.into(), sha256: Secret::new(name).sha256(), toolset: None }
}

fn call_often(gateway: &Arc<Gateway>, name: &str, times: usize) -> Vec<JoinHandle<String>> {
    let caller = gateway.admit(Credential::Key(name), None).expect("a known key");
    let one = || {
        let (gateway, caller) = (gateway.clone(), caller.clone());
        async move { line(&gateway.call(&caller, request("Kit_run", json!({})), &Progress::unheard()).await) }
    };
    (0..times).map(|_| tokio::spawn(one())).collect()
}

async fn answers(calls: Vec<JoinHandle<String>>) -> Vec<String> {
    let mut answers = Vec::new();
    for call in calls {
        answers.push(call.await.expect("joined"));
    }
    answers
}

/// Lets every call come as far as it can.
async fn until_all_wait() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_polite_caller_gets_its_answers_while_another_floods() {
    let source = Arc::new(Noting { ran: Mutex::default(), go: Semaphore::new(0) });
    let admission = Admission { keys: vec![key("flood"), key("polite")], jwt: None };
    let limits = Limits { concurrency: CONCURRENCY, queue: QUEUE, ..Limits::default() };
    let settings = Settings { admission, limits, ..Settings::default() };
    let gateway = Gateway::new(settings, Arc::new(MemoryStore::default()));
    gateway.sources().mount(Mount::new("Kit", "Kit", Naming::Prefixed, source.clone()));
    gateway.sources().settled(LONG).await;
    let flood = call_often(&gateway, "flood", 300);
    until_all_wait().await;
    let polite = call_often(&gateway, "polite", 10);
    until_all_wait().await;
    source.go.add_permits(1_000);
    assert_eq!(answers(polite).await, ["\"done\""; 10]);
    let flood = answers(flood).await;
    let busy = |words: &str| flood.iter().filter(|answer| answer.contains(words)).count();
    assert_eq!(busy("the queue of this tool is full"), 300 - CONCURRENCY - QUEUE);
    assert_eq!(busy("your share of the queue of this tool is used up"), 10, "displaced by the other caller");
    assert_eq!(busy("done"), CONCURRENCY + QUEUE - 10);
    let ran = source.ran.lock().expect("not poisoned");
    let last = ran.iter().rposition(|name| name == "polite").expect("it ran");
    assert!(last < CONCURRENCY + 20, "one after the other: {last}");
}
