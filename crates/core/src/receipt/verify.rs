//! Whether the chains in a store are what their servers wrote.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, SystemTime};

use super::chain::{ChainChange, ChainEvent, ChainHead, SeenChain, hash_of, link};
use super::timestamp::millis;
use crate::hex::to_hex;
use crate::ports::store::{ReceiptHead, ReceiptLink, ReceiptReader, StoreError};

/// How many links are read at a time.
const READ_TOGETHER: usize = 1_000;

/// What is wrong with a chain.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChainFault {
    /// The head cannot be read, or its signature is not that of its key.
    #[error("the head of the chain is not signed by its key: it was edited")]
    Signature,
    /// The key is not the one that is trusted.
    #[error("the head of the chain is signed by another key than the one of this configuration")]
    OtherKey,
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
    /// Another server saw more of this chain.
    #[error("server {by} saw receipt {seq} of the chain, which is not there: the chain was cut or removed")]
    Cut {
        /// The chain of the server that saw it.
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
    /// What its head says; none when it cannot be read or is gone.
    pub head: Option<ChainHead>,
    /// How many links were read.
    pub links: u64,
    /// How many receipts the chain says were lost.
    pub lost: u64,
    /// What is wrong with it; empty for a good one.
    pub faults: Vec<ChainFault>,
}

/// Checks every chain of a store. `check_key` says whether a head is signed, and by a key that is trusted; `keep` is how
/// long receipts are kept: chains that are older may be gone.
pub async fn verify(
    store: &dyn ReceiptReader,
    check_key: &(dyn Fn(&ReceiptHead) -> Result<(), ChainFault> + Sync),
    keep: Duration,
) -> Result<Vec<ChainReport>, StoreError> {
    let heads = store.receipt_heads().await?;
    // Read first, so that of long chains only the hashes that others saw are kept.
    let mut seen = Vec::new();
    for head in &heads {
        seen.extend(seen_by(store, head).await?.into_iter().map(|seen| (head.server.clone(), seen)));
    }
    let (mut reports, mut hashes) = (Vec::new(), LinkHashes::new());
    for head in &heads {
        let wanted = seen.iter().filter(|(_, seen)| seen.server == head.server).map(|(_, seen)| seen.seq);
        let mut walk = Walk::new(head, wanted.collect(), check_key(head).err());
        while walk.next(store).await? {}
        hashes.extend(walk.hashes.drain().map(|(seq, hash)| ((head.server.clone(), seq), hash)));
        reports.push(walk.report());
    }
    let cutoff = millis(SystemTime::now() - keep);
    for (by, seen) in seen {
        check_seen(&mut reports, &hashes, by, &seen, cutoff);
    }
    Ok(reports)
}

/// What the first link of a chain says of other chains; nothing when retention has removed it.
async fn seen_by(store: &dyn ReceiptReader, head: &ReceiptHead) -> Result<Vec<SeenChain>, StoreError> {
    let first = store.receipt_chain(&head.server, 0, 1).await?;
    let event = first.first().and_then(|first| serde_json::from_str::<ChainEvent>(&first.body).ok());
    Ok(match event.map(|event| event.event) {
        Some(ChainChange::Started { seen }) => seen,
        _ => Vec::new(),
    })
}

/// The hashes of links by chain and number.
type LinkHashes = HashMap<(String, u64), [u8; 32]>;

fn check_seen(
    reports: &mut Vec<ChainReport>,
    hashes: &LinkHashes,
    by: String,
    seen: &SeenChain,
    cutoff: u64,
) {
    let fault = ChainFault::Cut { by, seq: seen.seq };
    let Some(report) = reports.iter_mut().find(|report| report.server == seen.server) else {
        if seen.at >= cutoff {
            let (server, faults) = (seen.server.clone(), vec![fault]);
            reports.push(ChainReport { server, head: None, links: 0, lost: 0, faults });
        }
        return;
    };
    let pruned = report.head.as_ref().map_or(0, |head| head.pruned);
    let hash = hashes.get(&(seen.server.clone(), seen.seq)).map(|hash| to_hex(hash));
    if seen.seq > pruned && hash.as_deref() != Some(&seen.hash) && report.faults.is_empty() {
        report.faults.push(fault);
    }
}

/// One chain, from its first link to its head.
struct Walk<'a> {
    stored: &'a ReceiptHead,
    head: Option<ChainHead>,
    seq: u64,
    hash: [u8; 32],
    links: u64,
    lost: u64,
    /// The numbers of links whose hashes are asked for later.
    wanted: HashSet<u64>,
    hashes: HashMap<u64, [u8; 32]>,
    /// The hash of the link that the head names.
    at_head: Option<[u8; 32]>,
    faults: Vec<ChainFault>,
}

impl<'a> Walk<'a> {
    fn new(stored: &'a ReceiptHead, wanted: HashSet<u64>, key_fault: Option<ChainFault>) -> Self {
        let head = ChainHead::read(&stored.body).filter(|head| head.server == stored.server);
        let unreadable = if head.is_none() { Some(ChainFault::Signature) } else { None };
        let (seq, hash) = head.as_ref().map_or((0, None), |head| (head.pruned, hash_of(&head.pruned_hash)));
        Walk {
            stored,
            head,
            seq,
            hash: hash.unwrap_or_default(),
            links: 0,
            lost: 0,
            wanted,
            hashes: HashMap::new(),
            at_head: None,
            faults: key_fault.or(unreadable).into_iter().collect(),
        }
    }

    /// Reads the next links; false when there are no more, or when one is not what was written.
    async fn next(&mut self, store: &dyn ReceiptReader) -> Result<bool, StoreError> {
        let links = store.receipt_chain(&self.stored.server, self.seq, READ_TOGETHER).await?;
        for link in &links {
            if let Err(fault) = self.check(link) {
                self.faults.push(fault);
                return Ok(false);
            }
        }
        Ok(!links.is_empty())
    }

    fn check(&mut self, found: &ReceiptLink) -> Result<(), ChainFault> {
        if found.seq != self.seq + 1 {
            return Err(ChainFault::Missing(self.seq + 1));
        }
        self.hash = link(&self.hash, found.seq, &found.body);
        if self.hash != found.hash {
            return Err(ChainFault::Edited(found.seq));
        }
        (self.seq, self.links) = (found.seq, self.links + 1);
        if self.wanted.contains(&found.seq) {
            self.hashes.insert(found.seq, found.hash);
        }
        if self.head.as_ref().is_some_and(|head| head.seq == found.seq) {
            self.at_head = Some(found.hash);
        }
        if let Ok(ChainEvent { event: ChainChange::Lost { receipts }, .. }) =
            serde_json::from_str(&found.body)
        {
            self.lost += receipts;
        }
        Ok(())
    }

    fn report(mut self) -> ChainReport {
        let intact = self.faults.is_empty();
        if let Some(head) = self.head.as_ref().filter(|_| intact) {
            // A server that runs goes on writing while its chain is read: links after the head are good if they fit.
            if self.seq < head.seq {
                self.faults.push(ChainFault::Truncated { found: self.seq, head: head.seq });
            } else if head.seq > head.pruned && self.at_head != hash_of(&head.hash) {
                self.faults.push(ChainFault::Edited(head.seq));
            }
        }
        let Walk { stored, head, links, lost, faults, .. } = self;
        ChainReport { server: stored.server.clone(), head, links, lost, faults }
    }
}
