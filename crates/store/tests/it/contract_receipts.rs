//! What every store must do with receipts, and what a chain shows of whoever changed it.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use toolmux_core::ports::store::{ReceiptHead, ReceiptLink, Store};
use toolmux_core::receipt::{ChainFault, ReceiptId, SeenChain, Verification, link, verify};

use crate::contract::Fact;
use crate::facts;

pub(crate) const FACTS: &[(&str, Fact)] = facts![
    receipts_come_back_newest_first,
    a_chain_is_read_in_its_order,
    a_write_that_is_made_again_changes_nothing,
    old_receipts_are_removed_with_a_new_head,
    one_server_reports_a_killed_one,
    a_server_that_writes_again_can_be_reported_again,
    a_changed_chain_is_found_out,
    a_chain_that_was_rolled_back_is_found_out,
];

/// An id of so many milliseconds after a fixed time.
fn id(millis: u64) -> ReceiptId {
    ReceiptId::first_at(SystemTime::UNIX_EPOCH + Duration::from_millis(1_700_000_000_000 + millis))
}

fn links(server: &str, seqs: std::ops::RangeInclusive<u64>) -> Vec<ReceiptLink> {
    let mut hash = [0; 32];
    let all = (1..=*seqs.end()).map(|seq| {
        let body = format!(r#"{{"receipt":"{server} {seq} \u0000"}}"#);
        hash = link(&hash, seq, &body);
        let place = if server == "a" { seq * 2 } else { seq * 2 + 1 };
        ReceiptLink { server: server.to_owned(), seq, id: id(place), body, hash }
    });
    all.filter(|link| link.seq >= *seqs.start()).collect()
}

fn head(server: &str, seq: u64, pruned: u64) -> ReceiptHead {
    let hash_at = |seq: u64| match seq {
        0 => "00".repeat(32),
        seq => toolmux_core::hex::to_hex(&links(server, seq..=seq)[0].hash),
    };
    let body = format!(
        r#"{{"server":"{server}","host":"h","pid":1,"seq":{seq},"hash":"{}","pruned":{pruned},"pruned_hash":"{}","at":1,"begun":9,"accounted":7,"stopped":true}}"#,
        hash_at(seq),
        hash_at(pruned)
    );
    ReceiptHead { server: server.to_owned(), body, public_key: vec![1, 0], signature: vec![0, 2] }
}

async fn add(store: &Arc<dyn Store>, server: &str, seqs: std::ops::RangeInclusive<u64>) {
    let last = *seqs.end();
    store.receipt_add(&links(server, seqs), &head(server, last, 0)).await.unwrap();
}

async fn receipts_come_back_newest_first(store: Arc<dyn Store>) {
    add(&store, "a", 1..=70).await;
    add(&store, "b", 1..=2).await;
    let list = async |from, before, most| -> Vec<ReceiptId> {
        let found = store.receipt_list(from, before, most).await.unwrap();
        found.into_iter().map(|(id, _)| id).collect()
    };
    assert_eq!(list(id(0), None, 2).await, [id(140), id(138)]);
    assert_eq!(list(id(3), Some(id(6)), 9).await, [id(5), id(4), id(3)]);
    assert_eq!(list(id(6), Some(id(6)), 9).await, []);
    let body = store.receipt_find(id(3)).await.unwrap();
    assert_eq!(body.as_deref(), Some(r#"{"receipt":"b 1 \u0000"}"#));
    assert_eq!(store.receipt_find(id(141)).await.unwrap(), None);
}

async fn a_chain_is_read_in_its_order(store: Arc<dyn Store>) {
    add(&store, "a", 1..=5).await;
    add(&store, "b", 1..=1).await;
    assert_eq!(store.receipt_chain("a", 1, 3).await.unwrap(), links("a", 2..=4));
    assert_eq!(store.receipt_chain("c", 0, 3).await.unwrap(), []);
    assert_eq!(store.receipt_heads().await.unwrap(), [head("a", 5, 0), head("b", 1, 0)]);
}

async fn a_write_that_is_made_again_changes_nothing(store: Arc<dyn Store>) {
    add(&store, "a", 1..=2).await;
    add(&store, "a", 1..=3).await;
    assert_eq!(store.receipt_chain("a", 0, 9).await.unwrap(), links("a", 1..=3));
    assert_eq!(store.receipt_heads().await.unwrap(), [head("a", 3, 0)]);
}

async fn old_receipts_are_removed_with_a_new_head(store: Arc<dyn Store>) {
    add(&store, "a", 1..=5).await;
    add(&store, "b", 1..=2).await;
    store.receipt_prune(3, &head("a", 5, 3)).await.unwrap();
    assert_eq!(store.receipt_chain("a", 0, 9).await.unwrap(), links("a", 4..=5));
    assert_eq!(faults(&store).await, [vec![], vec![]]);
    store.receipt_forget("b").await.unwrap();
    assert_eq!(store.receipt_chain("b", 0, 9).await.unwrap(), []);
    assert_eq!(store.receipt_heads().await.unwrap(), [head("a", 5, 3)]);
}

async fn report(store: &Arc<dyn Store>, killed: &str, by: &str, seq: u64) -> bool {
    store.receipt_report_killed(killed, &links(by, seq..=seq)[0], &head(by, seq, 0)).await.unwrap()
}

/// Both or nothing: whoever reports has its link there, and nobody else has.
async fn one_server_reports_a_killed_one(store: Arc<dyn Store>) {
    add(&store, "a", 1..=1).await;
    add(&store, "b", 1..=1).await;
    add(&store, "c", 1..=1).await;
    let mut reported = Vec::new();
    // The second is the first again, whose answer was lost.
    for (killed, by, seq) in [("a", "b", 2), ("a", "b", 2), ("a", "c", 2), ("none", "c", 2)] {
        reported.push(report(&store, killed, by, seq).await);
    }
    assert_eq!(reported, [true, true, false, false]);
    assert_eq!(store.receipt_chain("b", 0, 9).await.unwrap(), links("b", 1..=2));
    assert_eq!(store.receipt_chain("c", 0, 9).await.unwrap(), links("c", 1..=1));
    assert_eq!(store.receipt_heads().await.unwrap(), [head("a", 1, 0), head("b", 2, 0), head("c", 1, 0)]);
}

async fn a_server_that_writes_again_can_be_reported_again(store: Arc<dyn Store>) {
    add(&store, "a", 1..=1).await;
    add(&store, "b", 1..=1).await;
    assert!(report(&store, "a", "b", 2).await);
    assert!(!report(&store, "a", "b", 3).await);
    add(&store, "a", 2..=2).await;
    assert!(report(&store, "a", "b", 3).await);
}

/// What is wrong with each chain. Signatures are those of this file, whose heads nobody edits.
async fn faults(store: &Arc<dyn Store>) -> Vec<Vec<ChainFault>> {
    faults_against(store, &[]).await
}

async fn faults_against(store: &Arc<dyn Store>, anchors: &[SeenChain]) -> Vec<Vec<ChainFault>> {
    let keep = Duration::from_hours(24);
    let verification = Verification { check_key: &|_| Ok(()), keep, anchors };
    let reports = verify(&**store, &verification).await.unwrap();
    reports.into_iter().map(|report| report.faults).collect()
}

fn seen(server: &str, seq: u64) -> SeenChain {
    let hash = toolmux_core::hex::to_hex(&links(server, seq..=seq)[0].hash);
    let at =
        u64::try_from(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis()).unwrap();
    SeenChain { server: server.to_owned(), seq, hash, at, key: "0100".to_owned() }
}

/// An old head is signed as well as a new one. What others noted of later ones shows that there were.
async fn a_chain_that_was_rolled_back_is_found_out(store: Arc<dyn Store>) {
    add(&store, "a", 1..=4).await;
    assert_eq!(faults_against(&store, &[seen("a", 4)]).await, [vec![]]);
    store.receipt_forget("a").await.unwrap();
    add(&store, "a", 1..=2).await;
    assert_eq!(faults(&store).await, [vec![]], "nothing in the chain itself shows it");
    let by = || "the anchor file of the server".to_owned();
    let cut = || ChainFault::Cut { by: by(), seq: 4 };
    assert_eq!(faults_against(&store, &[seen("a", 4)]).await, [vec![cut()]]);
    let other_key = SeenChain { key: "ff".to_owned(), ..seen("a", 2) };
    assert_eq!(faults_against(&store, &[other_key]).await, [vec![ChainFault::KeyChanged { by: by() }]]);
    store.receipt_forget("a").await.unwrap();
    assert_eq!(faults_against(&store, &[seen("a", 4)]).await, [vec![cut()]], "the whole chain is gone");
    assert_eq!(faults_against(&store, &[SeenChain { at: 1, ..seen("a", 4) }]).await, [] as [Vec<_>; 0]);
    // What retention removed was not cut.
    add(&store, "a", 1..=5).await;
    store.receipt_prune(4, &head("a", 5, 4)).await.unwrap();
    assert_eq!(faults_against(&store, &[seen("a", 3)]).await, [vec![]]);
}

async fn a_changed_chain_is_found_out(store: Arc<dyn Store>) {
    let put = async |server: &str, change: &(dyn Fn(&mut Vec<ReceiptLink>) + Sync)| {
        let mut links = links(server, 1..=4);
        change(&mut links);
        store.receipt_add(&links, &head(server, 4, 0)).await.unwrap();
    };
    put("a", &|_| {}).await;
    put("b", &|links| links[1].body = links[1].body.replace("b 2", "b 3")).await;
    put("c", &|links| drop(links.remove(1))).await;
    put("d", &|links| {
        (links[1].seq, links[2].seq) = (3, 2);
    })
    .await;
    put("e", &|links| links.truncate(2)).await;
    put("f", &|links| {
        links[1].body = links[1].body.replace("f 2", "f 3");
        let mut hash = [0; 32];
        for each in links {
            hash = link(&hash, each.seq, &each.body);
            each.hash = hash;
        }
    })
    .await;
    let expect = [
        vec![],
        vec![ChainFault::Edited(2)],
        vec![ChainFault::Missing(2)],
        vec![ChainFault::Edited(2)],
        vec![ChainFault::Truncated { found: 2, head: 4 }],
        vec![ChainFault::Edited(4)],
    ];
    assert_eq!(faults(&store).await, expect);
}
