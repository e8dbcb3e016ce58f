//! What is relayed to a source takes the path of calls: permitted, limited, counted, audited.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use tokio::sync::Notify;
use toolmux_core::BoxFuture;
use toolmux_core::audit::AuditAction;
use toolmux_core::call::{Call, Caller};
use toolmux_core::gateway::{Admission, ApiKey, Credential, Gateway, Settings};
use toolmux_core::json_text::raw_of;
use toolmux_core::limits::Limits;
use toolmux_core::memory::MemoryStore;
use toolmux_core::metrics::MetricsFormat;
use toolmux_core::outcome::Outcome;
use toolmux_core::ports::source::{Listing, Relay, Relayed, Source, SourceError};
use toolmux_core::ports::store::AuditStore;
use toolmux_core::progress::Progress;
use toolmux_core::refusal::Refusal;
use toolmux_core::requirements::Grants;
use toolmux_core::secret::Secret;
use toolmux_core::sources::{Mount, Naming};
use toolmux_core::toolset::{Pattern, Toolset};

use crate::fixture::LONG;

/// Answers whatever is relayed; `slow` waits until it may go on.
#[derive(Default)]
struct Library {
    asked: AtomicUsize,
    go: Notify,
}

impl Source for Library {
    fn tools(&self) -> BoxFuture<'_, Result<Listing, SourceError>> {
        Box::pin(std::future::ready(Ok(Listing::default())))
    }

    fn call<'a>(&'a self, _: &'a Call, _: &'a Progress) -> BoxFuture<'a, Result<Outcome, SourceError>> {
        Box::pin(std::future::pending())
    }

    fn relay<'a>(
        &'a self,
        relay: &'a Relay,
        _: &'a Grants,
        _: &'a Progress,
    ) -> BoxFuture<'a, Result<Relayed, SourceError>> {
        Box::pin(async move {
            self.asked.fetch_add(1, Ordering::SeqCst);
            if relay.item == "slow" {
                self.go.notified().await;
            }
            Ok(Ok(raw_of(&json!("a page"))))
        })
    }
}

struct Server {
    gateway: Arc<Gateway>,
    library: Arc<Library>,
    store: Arc<MemoryStore>,
}

fn settings(limits: Limits) -> Settings {
    let key = |name: &str, toolset: Option<&str>| ApiKey {
        name: name.into(),
        sha256: Secret::new(name).sha256(),
        toolset: toolset.map(Into::into),
    };
    Settings {
        admission: Admission { keys: vec![key("alice", Some("open")), key("bob", None)], jwt: None },
        toolsets: vec![Toolset { name: "open".to_owned(), tools: vec![Pattern::new("Lib.open")] }],
        limits,
        ..Settings::default()
    }
}

async fn server(limits: Limits) -> Server {
    let (library, store) = (Arc::new(Library::default()), Arc::new(MemoryStore::default()));
    let gateway = Gateway::new(settings(limits), store.clone());
    gateway.sources().mount(Mount::new("lib", "Lib", Naming::Prefixed, library.clone()));
    gateway.sources().settled(LONG).await;
    Server { gateway, library, store }
}

fn about(item: &str) -> Relay {
    Relay {
        protocol: "test",
        caller: "somebody".into(),
        method: "pages/read".to_owned(),
        item: item.to_owned(),
        trace: None,
        params: raw_of(&json!({})),
    }
}

impl Server {
    fn caller(&self, key: &str) -> Caller {
        self.gateway.admit(Credential::Key(key), None).expect("the key is good")
    }

    async fn relay(&self, caller: &str, item: &str) -> Result<Relayed, Refusal> {
        self.gateway.relays().send(&self.caller(caller), "lib", &about(item), &Progress::unheard()).await
    }

    async fn listen(&self, caller: &str, item: &str) -> Result<Relayed, Refusal> {
        self.gateway.relays().listen(&self.caller(caller), "lib", &about(item), &Progress::unheard()).await
    }

    fn asked(&self) -> usize {
        self.library.asked.load(Ordering::SeqCst)
    }

    /// The subjects of calls that were refused, once there are as many as wanted.
    async fn until_audited(&self, wanted: usize) -> Vec<String> {
        for _ in 0..10_000 {
            let records = self.store.audit_list(10).await.expect("memory");
            if records.len() >= wanted {
                assert!(records.iter().all(|record| record.action == AuditAction::CallRefused));
                return records.iter().map(|record| record.subject.to_string()).collect();
            }
            tokio::task::yield_now().await;
        }
        panic!("nothing was recorded")
    }

    fn counts(&self, line: &str) -> bool {
        self.gateway.metrics_text(MetricsFormat::Prometheus).lines().any(|counted| counted == line)
    }
}

fn name(answer: Result<impl Sized, Refusal>) -> &'static str {
    answer.map_or_else(|refusal| refusal.name(), |_| "answered")
}

#[tokio::test]
async fn what_a_toolset_leaves_out_never_reaches_the_source() {
    let server = server(Limits::default()).await;
    assert_eq!(name(server.relay("alice", "hidden").await), "not_permitted");
    assert_eq!(name(server.listen("alice", "hidden").await), "not_permitted");
    let alice = server.caller("alice");
    assert_eq!(name(server.gateway.relays().check(&alice, "lib", "hidden").await), "not_permitted");
    assert_eq!(server.asked(), 0);
    assert!(server.counts("toolmux_refusals_total{reason=\"not_permitted\"} 3"));
    assert_eq!(server.until_audited(3).await, ["Lib.hidden not_permitted"; 3]);
}

#[tokio::test]
async fn what_a_toolset_holds_is_answered_and_counted() {
    let server = server(Limits::default()).await;
    assert_eq!(name(server.relay("alice", "open").await), "answered");
    assert_eq!(name(server.relay("bob", "hidden").await), "answered");
    assert_eq!(name(server.listen("alice", "open").await), "answered");
    assert_eq!(server.asked(), 3);
    assert!(server.counts("toolmux_calls_total{tool=\"lib.pages/read\",result=\"returned\"} 3"));
}

#[tokio::test]
async fn relays_of_one_source_wait_for_a_turn_as_calls_of_one_tool_do() {
    let server = server(Limits { concurrency: 1, queue: 0, ..Limits::default() }).await;
    let mut first = Box::pin(server.relay("bob", "slow"));
    assert!(futures_util::poll!(&mut first).is_pending());
    let refused = server.relay("bob", "open").await.expect_err("no turn");
    assert_eq!(refused.message().public, "The source is busy: the queue of this source is full");
    // What lasts takes no turn.
    assert_eq!(name(server.listen("bob", "open").await), "answered");
    server.library.go.notify_one();
    assert_eq!(name(first.await), "answered");
    assert_eq!(name(server.relay("bob", "open").await), "answered");
}

#[tokio::test]
async fn whoever_is_let_in_no_more_while_waiting_for_a_turn_is_refused() {
    let limits = Limits { concurrency: 1, ..Limits::default() };
    let server = server(limits).await;
    let mut first = Box::pin(server.relay("bob", "slow"));
    assert!(futures_util::poll!(&mut first).is_pending());
    let mut gone = Box::pin(server.relay("alice", "open"));
    let mut limited = Box::pin(server.relay("bob", "hidden"));
    assert!(futures_util::poll!(&mut gone).is_pending());
    assert!(futures_util::poll!(&mut limited).is_pending());
    let mut changed = settings(limits);
    changed.admission.keys.retain(|key| *key.name == *"bob");
    changed.admission.keys[0].toolset = Some("open".into());
    server.gateway.configure(changed);
    server.library.go.notify_one();
    assert_eq!(name(first.await), "answered");
    assert_eq!(name(gone.await), "unauthenticated");
    assert_eq!(name(limited.await), "not_permitted");
    assert_eq!(server.asked(), 1);
}
