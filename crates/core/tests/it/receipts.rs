//! Receipts: exactly one for each request, whatever comes of it, and a chain in the store that a stop ends cleanly.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use serde_json::{Value, json};
use tokio::time::timeout;
use toolmux_core::gateway::{Gateway, ReceiptKeeping, ReceiptSigner, Settings};
use toolmux_core::memory::MemoryStore;
use toolmux_core::ports::store::ReceiptReader;
use toolmux_core::progress::Progress;
use toolmux_core::receipt::{
    ChainHead, Receipt, ReceiptFilter, ReceiptOutcome, ReceiptSettings, list_kept, verify,
};
use toolmux_core::sources::{Mount, Naming};
use toolmux_core::task::{KEPT, TaskId};

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
    gateway.tasks().submit(&anyone(gateway), request(tool, json!({})), KEPT).await.expect("accepted")
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
    let refused = gateway.tasks().submit(&anyone(&gateway), request("Kit.none", json!({})), KEPT).await;
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
    gateway.keep_receipts(keeping("here"));
    call(&gateway, "Kit.run", json!({})).await;
    gateway.close(LONG).await;
    let lost = gateway.receipt_backlog().lost;
    let reports = verify(&*store, &|_| Ok(()), LONG).await.expect("a store");
    let kept = list_kept(&*store, &ReceiptFilter::default(), 20_000).await.expect("a store");
    assert_eq!(kept.receipts.len() as u64 + lost, 12_001);
    assert!(lost > 1_000 && reports[0].lost == lost, "{lost}");
    assert_eq!(heads(&store).await[0].unaccounted(), 0);
    let metric = format!("toolmux_receipts_lost_total {lost}");
    assert!(gateway.metrics().text().contains(&metric), "{metric}");
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
    ReceiptKeeping { keep, host: host.to_owned(), signer: Arc::new(NoSignature) }
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
        gateway.keep_receipts(keeping("here"));
        for _ in 0..700 {
            call(&gateway, "Kit.run", json!({})).await;
        }
        gateway.close(LONG).await;
        let kept = list_kept(&*store, &ReceiptFilter::default(), 10_000).await.expect("a store");
        assert_eq!(kept.receipts.len(), round * 700);
        assert_eq!(gateway.receipt_backlog().waiting, 0);
    }
    let heads = heads(&store).await;
    assert!(heads.iter().all(|head| head.stopped && head.unaccounted() == 0), "{heads:?}");
    let reports = verify(&*store, &|_| Ok(()), Duration::from_hours(1)).await.expect("a store");
    assert!(reports.iter().all(|report| report.faults.is_empty() && report.links == 701), "{reports:?}");
    // The second server saw the chain of the first, which nobody can remove unseen.
    let first = reports[0].server.clone();
    toolmux_core::ports::store::ReceiptStore::receipt_forget(&*store, &first).await.expect("a store");
    let reports = verify(&*store, &|_| Ok(()), Duration::from_hours(1)).await.expect("a store");
    assert!(reports.iter().any(|report| report.server == first && !report.faults.is_empty()), "{reports:?}");
}
