//! Whether the chains in a store are what their servers wrote.

use std::time::{Duration, SystemTime};

use super::chain::{ChainHead, SeenChain};
use super::timestamp::millis;
use super::walk::Walk;
use crate::hex::to_hex;
use crate::ports::store::{ReceiptHead, ReceiptReader, StoreError};

/// What faults call the file in which a server notes its last head.
const ANCHOR: &str = "the anchor file of the server";

/// What is wrong with a chain.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChainFault {
    /// The head cannot be read, or its signature is not that of its key.
    #[error("the head of the chain is not signed by its key: it was edited")]
    Signature,
    /// The key is not the one that is trusted.
    #[error("the head of the chain is signed by a key that is not trusted")]
    OtherKey,
    /// The key is not the one that somebody saw.
    #[error("the head of the chain is signed by another key than the one that {by} saw")]
    KeyChanged {
        /// Who saw it.
        by: String,
    },
    /// A number is missing.
    #[error("receipt {0} of the chain is missing: it was removed or moved")]
    Missing(u64),
    /// The text of a link does not have the hash that the chain has for it.
    #[error("receipt {0} of the chain was edited or moved")]
    Edited(u64),
    /// The chain ends before its head.
    #[error("the chain ends at receipt {found} and its head is {head}: the newest were removed")]
    Truncated {
        /// The last link that is there.
        found: u64,
        /// The last that was written.
        head: u64,
    },
    /// Somebody saw more of this chain.
    #[error(
        "{by} saw receipt {seq} of the chain, which is not there: the chain was cut, rolled back or removed"
    )]
    Cut {
        /// Who saw it.
        by: String,
        /// Up to where.
        seq: u64,
    },
}

/// What was found of one chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainReport {
    /// The id of the chain.
    pub server: String,
    /// The public key that its head names, in hexadecimal.
    pub key: String,
    /// What its head says; none when it cannot be read or is gone.
    pub head: Option<ChainHead>,
    /// How many links were read.
    pub links: u64,
    /// How many receipts the chain says were lost.
    pub lost: u64,
    /// What is wrong with it; empty for a good one.
    pub faults: Vec<ChainFault>,
}

/// What chains are checked against.
pub struct Verification<'a> {
    /// Whether a head is signed by its key, and by one that is trusted.
    pub check_key: &'a (dyn Fn(&ReceiptHead) -> Result<(), ChainFault> + Sync),
    /// How long receipts are kept: chains that are older may be gone.
    pub keep: Duration,
    /// The last heads that servers noted outside of the store.
    pub anchors: &'a [SeenChain],
}

/// Checks every chain of a store.
pub async fn verify(
    store: &dyn ReceiptReader,
    verification: &Verification<'_>,
) -> Result<Vec<ChainReport>, StoreError> {
    let heads = store.receipt_heads().await?;
    let anchor = || ANCHOR.to_owned();
    let mut seen: Vec<(String, SeenChain)> =
        verification.anchors.iter().map(|seen| (anchor(), seen.clone())).collect();
    let mut reports = Vec::new();
    for head in &heads {
        let mut walk = Walk::new(head, (verification.check_key)(head).err());
        while walk.next(store).await? {}
        seen.extend(walk.take_seen().map(|seen| (format!("server {}", head.server), seen)));
        reports.push(walk.report());
    }
    let cutoff = millis(SystemTime::now() - verification.keep);
    for (by, seen) in seen {
        check_seen(store, &mut reports, by, &seen, cutoff).await?;
    }
    Ok(reports)
}

/// Compares what somebody saw of a chain with what is there. A chain with another fault has been reported already.
async fn check_seen(
    store: &dyn ReceiptReader,
    reports: &mut Vec<ChainReport>,
    by: String,
    seen: &SeenChain,
    cutoff: u64,
) -> Result<(), StoreError> {
    let Some(report) = reports.iter_mut().find(|report| report.server == seen.server) else {
        if seen.at >= cutoff {
            let faults = vec![ChainFault::Cut { by, seq: seen.seq }];
            let (server, key) = (seen.server.clone(), seen.key.clone());
            reports.push(ChainReport { server, key, head: None, links: 0, lost: 0, faults });
        }
        return Ok(());
    };
    if !report.faults.is_empty() {
        return Ok(());
    }
    if !seen.key.is_empty() && seen.key != report.key {
        report.faults.push(ChainFault::KeyChanged { by });
    } else if !is_there(store, report, seen).await? {
        report.faults.push(ChainFault::Cut { by, seq: seen.seq });
    }
    Ok(())
}

/// Whether a link that somebody saw is there, or was removed by retention.
async fn is_there(
    store: &dyn ReceiptReader,
    report: &ChainReport,
    seen: &SeenChain,
) -> Result<bool, StoreError> {
    let Some(before) = seen.seq.checked_sub(1) else { return Ok(true) };
    if report.head.as_ref().is_some_and(|head| head.pruned >= seen.seq) {
        return Ok(true);
    }
    let found = store.receipt_chain(&seen.server, before, 1).await?;
    if found.first().is_some_and(|found| found.seq == seen.seq && to_hex(&found.hash) == seen.hash) {
        return Ok(true);
    }
    // Retention may have removed it since the head was read.
    let heads = store.receipt_heads().await?;
    let now =
        heads.iter().find(|head| head.server == seen.server).and_then(|head| ChainHead::read(&head.body));
    Ok(now.is_none_or(|head| head.pruned >= seen.seq)
        && found.first().is_none_or(|found| found.seq > seen.seq))
}
