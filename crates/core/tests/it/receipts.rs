//! Receipts: exactly one for each request, whatever comes of it, and a chain in the store that a stop ends cleanly.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use serde_json::{Value, json};
use tokio::time::timeout;
use toolmux_core::gateway::{Gateway, ReceiptKeeping, ReceiptSigner, Settings};
use toolmux_core::memory::MemoryStore;
use toolmux_core::message::Message;
use toolmux_core::metrics::MetricsFormat;
use toolmux_core::ports::store::{
    ReceiptHead, ReceiptLink, ReceiptReader, ReceiptStore, StoreError, StoreFuture,
};
use toolmux_core::progress::Progress;
use toolmux_core::receipt::{
    ChainChange, ChainEvent, ChainHead, ChainReport, ProcessMark, Receipt, ReceiptFilter, ReceiptId,
    ReceiptOutcome, ReceiptSettings, Verification, list_kept, verify,
};
use toolmux_core::sources::{Mount, Naming};
use toolmux_core::task::TaskId;

use crate::fixture::{Fixture, LONG, anyone, call, gateway, request, tool};

const TOOLS: [&str; 7] = ["run", "fail", "unreached", "lost", "forever", "panic", "wait"];

async fn fixture() -> Arc<Gateway> {
    gateway(Settings::default(), &Fixture::with(TOOLS.map(tool).into())).await
}

fn receipts(gateway: &Gateway) -> Vec<Receipt> {
    gateway.receipts().list(|_| true, 100)
}

fn only(gateway: &Gateway) -> Receipt {
    let mut all = receipts(gateway);
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

fn steps(receipt: &Receipt) -> String {
    receipt.steps.iter().map(|step| step.step.clone()).collect::<Vec<_>>().join(" ")
}

/// What the receipt of one call says: verdict, outcome, attempts, errors and steps.
async fn check(tool: &str, arguments: Value, expect: &str) {
    let gateway = fixture().await;
    call(&gateway, tool, arguments).await;
    let receipt = only(&gateway);
    let said = format!(
        "{} {} {} {} [{}] {}",
        receipt.tool,
        receipt.verdict,
        receipt.outcome.as_str(),
        receipt.attempts,
        receipt.errors.join(" "),
        steps(&receipt)
    );
    assert_eq!(said, expect);
    assert_eq!(receipt.caller.as_ref(), "anonymous");
    assert_eq!(receipt.argument_values, None);
}

#[tokio::test(start_paused = true)]
async fn every_end_of_a_call_has_its_receipt() {
    let path = "resolve validate queue run finish";
    check("Kit.run", json!({}), &format!("Kit.run@1.0.0 allowed returned 1 [] {path}")).await;
    check("Kit.fail", json!({}), &format!("Kit.fail@1.0.0 allowed failed 1 [] {path}")).await;
    check("Kit.lost", json!({}), &format!("Kit.lost@1.0.0 allowed failed 1 [lost] {path}")).await;
    check("Kit.panic", json!({}), &format!("Kit.panic@1.0.0 allowed failed 1 [panicked] {path}")).await;
    let tried = "unavailable refused 3 [not_reached not_reached not_reached]";
    check("Kit.unreached", json!({}), &format!("Kit.unreached@1.0.0 {tried} {path}")).await;
    let unknown = "Kit.none unknown_tool refused 0 [] finish";
    check("Kit.none", json!({}), unknown).await;
    let invalid = "Kit.run@1.0.0 invalid refused 0 [] resolve validate finish";
    check("Kit.run", json!({ "a": "one" }), invalid).await;
}

#[tokio::test]
async fn a_call_whose_caller_leaves_has_a_receipt() {
    let gateway = fixture().await;
    let caller = anyone(&gateway);
    let left = gateway.call(&caller, request("Kit.forever", json!({})), &Progress::unheard()).now_or_never();
    assert!(left.is_none());
    let receipt = only(&gateway);
    assert_eq!((receipt.outcome, receipt.attempts), (ReceiptOutcome::Cancelled, 1));
}

#[tokio::test]
async fn the_same_call_again_says_that_it_is_a_repeat() {
    let gateway = fixture().await;
    for _ in 0..2 {
        let request = toolmux_core::call::Request { id: Some("7".into()), ..request("Kit.run", json!({})) };
        gateway.call(&anyone(&gateway), request, &Progress::unheard()).await.expect("an outcome");
    }
    let [second, first] = receipts(&gateway).try_into().expect("two receipts");
    assert_eq!((first.repeated, second.repeated), (false, true));
    assert_eq!((first.attempts, second.attempts), (1, 0));
    assert_eq!((first.call_id.as_deref(), &first.result), (Some("7"), &second.result));
    assert_eq!(steps(&first), "resolve validate record queue run finish");
}

async fn until_receipts(gateway: &Gateway, count: usize) -> Vec<Receipt> {
    let found = async {
        loop {
            let all = receipts(gateway);
            if all.len() >= count {
                return all;
            }
            tokio::task::yield_now().await;
        }
    };
    timeout(LONG, found).await.expect("a receipt comes")
}

async fn submit(gateway: &Arc<Gateway>, tool: &str) -> TaskId {
    gateway.tasks().submit(&anyone(gateway), request(tool, json!({})), None).await.expect("accepted")
}

#[tokio::test]
async fn a_task_has_one_receipt_when_it_ends() {
    let gateway = fixture().await;
    let id = submit(&gateway, "Kit.run").await;
    let ended = until_receipts(&gateway, 1).await;
    assert_eq!((ended[0].task.as_deref(), ended[0].outcome), (Some(id.as_str()), ReceiptOutcome::Returned));
    let id = submit(&gateway, "Kit.forever").await;
    gateway.tasks().cancel(&anyone(&gateway), &id).await.expect("a store").expect("a task");
    let ended = until_receipts(&gateway, 2).await;
    assert_eq!((ended[0].task.as_deref(), ended[0].outcome), (Some(id.as_str()), ReceiptOutcome::Cancelled));
    let refused = gateway.tasks().submit(&anyone(&gateway), request("Kit.none", json!({})), None).await;
    assert!(refused.is_err());
    let ended = until_receipts(&gateway, 3).await;
    assert_eq!((&*ended[0].verdict, ended[0].outcome), ("unknown_tool", ReceiptOutcome::Refused));
    assert_eq!(receipts(&gateway).len(), 3, "one for each");
}

#[tokio::test]
async fn arguments_are_kept_only_when_wanted() {
    let source = Fixture::with(vec![tool("run")]);
    let receipts = ReceiptSettings { arguments: true, log: false };
    let gateway = gateway(Settings { receipts, ..Settings::default() }, &source).await;
    call(&gateway, "Kit.run", json!({ "a": 5 })).await;
    assert_eq!(only(&gateway).argument_values.as_deref(), Some(r#"{"a":5}"#));
}

#[tokio::test]
async fn the_newest_are_kept_and_followers_miss_nothing_of_them() {
    let gateway = fixture().await;
    let begin = gateway.receipts().position();
    for _ in 0..600 {
        call(&gateway, "Kit.run", json!({})).await;
    }
    let first = gateway.receipts().after(begin, 500);
    let rest = gateway.receipts().after(first.next, 500);
    assert_eq!((first.receipts.len(), rest.receipts.len(), first.missed), (500, 100, 0));
    for _ in 0..10_500 {
        call(&gateway, "Kit.none", json!({})).await;
    }
    assert_eq!(gateway.receipts().list(|_| true, 20_000).len(), 10_000);
    assert!(gateway.receipts().after(begin, 1).missed >= 1_000);
    let filter = ReceiptFilter { failed: true, ..ReceiptFilter::default() };
    assert_eq!(gateway.receipts().list(|receipt| filter.fits(receipt), 7).len(), 7);
}

/// More calls than are held end before a store takes any: what was lost is counted, noted in the chain, and accounted for.
#[tokio::test]
async fn what_the_store_did_not_take_is_noted_in_the_chain() {
    let (store, source) = (Arc::new(MemoryStore::default()), Fixture::with(vec![tool("run")]));
    let gateway = Gateway::new(Settings::default(), store.clone());
    gateway.sources().mount(Mount::new("Kit", "Kit", Naming::Prefixed, source));
    gateway.sources().settled(LONG).await;
    for _ in 0..12_000 {
        call(&gateway, "Kit.none", json!({})).await;
    }
    gateway.receipts().position();
    gateway.stored_receipts().keep(keeping("here"));
    call(&gateway, "Kit.run", json!({})).await;
    gateway.close(LONG).await;
    let lost = gateway.stored_receipts().backlog().lost;
    let reports = verified(&store).await;
    let kept = list_kept(&*store, &ReceiptFilter::default(), 20_000).await.expect("a store");
    assert_eq!(kept.receipts.len() as u64 + lost, 12_001);
    assert!(lost > 1_000 && reports[0].lost == lost, "{lost}");
    assert_eq!(heads(&store).await[0].unaccounted(), 0);
    let metric = format!("toolmux_receipts_lost_total {lost}");
    let text = gateway.metrics_text(MetricsFormat::Prometheus);
    assert!(text.contains(&metric), "{metric}");
}

struct NoSignature;

impl ReceiptSigner for NoSignature {
    fn public_key(&self) -> &[u8] {
        b"key"
    }

    fn sign(&self, _: &[u8]) -> Vec<u8> {
        Vec::new()
    }
}

fn keeping(host: &str) -> ReceiptKeeping {
    let keep = Duration::from_hours(24);
    ReceiptKeeping { keep, host: host.to_owned(), signer: Arc::new(NoSignature), anchor: None }
}

async fn verified(store: &MemoryStore) -> Vec<ChainReport> {
    let verification = Verification { check_key: &|_| Ok(()), keep: Duration::from_hours(1), anchors: &[] };
    verify(store, &verification).await.expect("a store")
}

async fn heads(store: &MemoryStore) -> Vec<ChainHead> {
    let heads = store.receipt_heads().await.expect("a store");
    heads.iter().map(|head| ChainHead::read(&head.body).expect("a head")).collect()
}

#[tokio::test]
async fn what_ended_before_a_stop_is_in_the_chain() {
    let store = Arc::new(MemoryStore::default());
    for round in 1..=2 {
        let gateway = Gateway::new(Settings::default(), store.clone());
        let source = Fixture::with(TOOLS.map(tool).into());
        gateway.sources().mount(Mount::new("Kit", "Kit", Naming::Prefixed, source));
        gateway.sources().settled(LONG).await;
        gateway.stored_receipts().keep(keeping("here"));
        for _ in 0..700 {
            call(&gateway, "Kit.run", json!({})).await;
        }
        gateway.close(LONG).await;
        let kept = list_kept(&*store, &ReceiptFilter::default(), 10_000).await.expect("a store");
        assert_eq!(kept.receipts.len(), round * 700);
        assert_eq!(gateway.stored_receipts().backlog().waiting, 0);
    }
    let heads = heads(&store).await;
    assert!(heads.iter().all(|head| head.stopped && head.unaccounted() == 0), "{heads:?}");
    let reports = verified(&store).await;
    assert!(reports.iter().all(|report| report.faults.is_empty() && report.links == 701), "{reports:?}");
    // The second server saw the chain of the first, which nobody can remove unseen.
    let first = reports[0].server.clone();
    store.receipt_forget(&first).await.expect("a store");
    let reports = verified(&store).await;
    assert!(reports.iter().any(|report| report.server == first && !report.faults.is_empty()), "{reports:?}");
}

/// Takes every write and reports an error for two of three: the answer was lost.
struct LostAnswers {
    kept: Arc<MemoryStore>,
    writes: std::sync::atomic::AtomicUsize,
}

impl LostAnswers {
    fn answer<'a, T: Send + 'a>(&'a self, written: StoreFuture<'a, T>) -> StoreFuture<'a, T> {
        Box::pin(async move {
            let written = written.await?;
            match self.writes.fetch_add(1, std::sync::atomic::Ordering::Relaxed) % 3 {
                2 => Ok(written),
                _ => Err(StoreError::new(Message::public("the answer was lost"))),
            }
        })
    }
}

impl ReceiptReader for LostAnswers {
    fn receipt_list(
        &self,
        from: ReceiptId,
        before: Option<ReceiptId>,
        most: usize,
    ) -> StoreFuture<'_, Vec<(ReceiptId, String)>> {
        self.kept.receipt_list(from, before, most)
    }

    fn receipt_find(&self, id: ReceiptId) -> StoreFuture<'_, Option<String>> {
        self.kept.receipt_find(id)
    }

    fn receipt_chain<'a>(
        &'a self,
        server: &'a str,
        after: u64,
        most: usize,
    ) -> StoreFuture<'a, Vec<ReceiptLink>> {
        self.kept.receipt_chain(server, after, most)
    }

    fn receipt_heads(&self) -> StoreFuture<'_, Vec<ReceiptHead>> {
        self.kept.receipt_heads()
    }
}

impl ReceiptStore for LostAnswers {
    fn receipt_add<'a>(&'a self, links: &'a [ReceiptLink], head: &'a ReceiptHead) -> StoreFuture<'a, ()> {
        self.answer(self.kept.receipt_add(links, head))
    }

    fn receipt_prune<'a>(&'a self, up_to: u64, head: &'a ReceiptHead) -> StoreFuture<'a, ()> {
        self.answer(self.kept.receipt_prune(up_to, head))
    }

    fn receipt_forget<'a>(&'a self, server: &'a str) -> StoreFuture<'a, ()> {
        self.kept.receipt_forget(server)
    }

    fn receipt_report_killed<'a>(
        &'a self,
        killed: &'a str,
        link: &'a ReceiptLink,
        head: &'a ReceiptHead,
    ) -> StoreFuture<'a, bool> {
        self.answer(self.kept.receipt_report_killed(killed, link, head))
    }
}

async fn mounted(store: &Arc<MemoryStore>) -> Arc<Gateway> {
    let gateway = Gateway::new(Settings::default(), store.clone());
    gateway.sources().mount(Mount::new("Kit", "Kit", Naming::Prefixed, Fixture::with(vec![tool("run")])));
    gateway.sources().settled(LONG).await;
    gateway
}

/// The head of a server that was killed with one call running.
async fn killed_server(store: &MemoryStore, process: ProcessMark) {
    let pid = std::process::id();
    let body = json!({
        "server": "killed", "host": "here", "pid": pid, "process": process, "seq": 0, "hash": "00".repeat(32),
        "pruned": 0, "pruned_hash": "00".repeat(32), "at": 1, "begun": 3, "accounted": 2, "stopped": false,
    });
    let (public_key, signature) = (b"key".to_vec(), Vec::new());
    let head = ReceiptHead { server: "killed".to_owned(), body: body.to_string(), public_key, signature };
    store.receipt_add(&[], &head).await.expect("a store");
}

/// More calls end between a write whose answer was lost and the next: the same rows must be sent again, not others under
/// the same numbers.
#[tokio::test(start_paused = true)]
async fn a_write_whose_answer_was_lost_is_made_again_as_it_was() {
    let store = Arc::new(MemoryStore::default());
    let own = heads_of_a_stopped_server(&store).await.process.clone();
    killed_server(&store, ProcessMark { started: own.started - 1, ..own }).await;
    let lossy =
        Arc::new(LostAnswers { kept: Arc::clone(&store), writes: std::sync::atomic::AtomicUsize::default() });
    let gateway = mounted(&store).await;
    gateway.stored_receipts().keep_in(keeping("here"), lossy);
    for _ in 0..200 {
        call(&gateway, "Kit.run", json!({})).await;
        tokio::time::sleep(Duration::from_millis(70)).await;
    }
    until_written(&gateway).await;
    let reports = verified(&store).await;
    assert!(reports.iter().all(|report| report.faults.is_empty()), "{reports:?}");
    let kept = list_kept(&*store, &ReceiptFilter::default(), 20_000).await.expect("a store");
    assert_eq!(kept.receipts.len(), 200);
    assert_eq!(killed(&kept.events), 1, "{:?}", kept.events);
}

/// What the head of a server of this process says.
async fn heads_of_a_stopped_server(store: &Arc<MemoryStore>) -> ChainHead {
    let gateway = mounted(store).await;
    gateway.stored_receipts().keep(keeping("here"));
    gateway.close(LONG).await;
    heads(store).await.remove(0)
}

async fn until_written(gateway: &Arc<Gateway>) {
    let written = async {
        while gateway.stored_receipts().backlog().waiting > 0 {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    timeout(LONG * 10, written).await.expect("everything is written");
}

fn killed(events: &[ChainEvent]) -> usize {
    events.iter().filter(|event| matches!(event.event, ChainChange::Killed { .. })).count()
}

/// Two containers have the same host name and the same process number: only the silence of the other shows its end.
#[tokio::test(start_paused = true)]
async fn a_server_elsewhere_is_killed_when_it_is_silent_and_not_before() {
    let store = Arc::new(MemoryStore::default());
    killed_server(&store, ProcessMark { space: "another".to_owned(), started: 1 }).await;
    let gateway = mounted(&store).await;
    gateway.stored_receipts().keep(keeping("here"));
    let events = async || list_kept(&*store, &ReceiptFilter::default(), 1).await.expect("a store").events;
    tokio::time::sleep(Duration::from_secs(25)).await;
    assert_eq!(killed(&events().await), 0);
    tokio::time::sleep(Duration::from_mins(1)).await;
    assert_eq!(killed(&events().await), 1);
    gateway.close(LONG).await;
}

/// Each server notes how far the others are, so that going back to an earlier head of one shows in the others.
#[tokio::test(start_paused = true)]
async fn a_rollback_of_one_chain_shows_in_another() {
    let store = Arc::new(MemoryStore::default());
    let (one, other) = (mounted(&store).await, mounted(&store).await);
    one.stored_receipts().keep(keeping("here"));
    other.stored_receipts().keep(keeping("here"));
    call(&one, "Kit.run", json!({})).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let early = store.receipt_heads().await.expect("a store");
    call(&one, "Kit.run", json!({})).await;
    tokio::time::sleep(Duration::from_mins(2)).await;
    assert!(verified(&store).await.iter().all(|report| report.faults.is_empty()));
    let server = one_with_calls(&store).await;
    let old = early.into_iter().find(|head| head.server == server).expect("it was there");
    let links = store.receipt_chain(&server, 0, 2).await.expect("a store");
    store.receipt_forget(&server).await.expect("a store");
    store.receipt_add(&links, &old).await.expect("a store");
    let reports = verified(&store).await;
    let faults =
        |server: &str| reports.iter().any(|report| report.server == server && !report.faults.is_empty());
    assert!(faults(&server), "{reports:?}");
}

/// The chain in which receipts of calls are.
async fn one_with_calls(store: &MemoryStore) -> String {
    for head in heads(store).await {
        let links = store.receipt_chain(&head.server, 0, 10).await.expect("a store");
        if links.iter().any(|link| link.body.contains("Kit.run")) {
            return head.server;
        }
    }
    panic!("no chain has calls");
}
