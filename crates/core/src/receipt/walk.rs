//! One chain, link by link from its first to its head.

use std::collections::HashMap;

use super::chain::{ChainChange, ChainEvent, ChainHead, SeenChain, hash_of, link};
use super::verify::{ChainFault, ChainReport};
use crate::hex::to_hex;
use crate::ports::store::{ReceiptHead, ReceiptLink, ReceiptReader, StoreError};

/// How many links are read at a time.
const READ_TOGETHER: usize = 1_000;

/// One chain, from its first link to its head.
pub(super) struct Walk<'a> {
    stored: &'a ReceiptHead,
    head: Option<ChainHead>,
    seq: u64,
    hash: [u8; 32],
    links: u64,
    lost: u64,
    /// The last that this chain says of each of the others.
    seen: HashMap<String, SeenChain>,
    /// The hash of the link that the head names.
    at_head: Option<[u8; 32]>,
    faults: Vec<ChainFault>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(stored: &'a ReceiptHead, key_fault: Option<ChainFault>) -> Self {
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
            seen: HashMap::new(),
            at_head: None,
            faults: key_fault.or(unreadable).into_iter().collect(),
        }
    }

    /// Reads the next links; false when there are no more, or when one is not what was written.
    pub(super) async fn next(&mut self, store: &dyn ReceiptReader) -> Result<bool, StoreError> {
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
        if self.head.as_ref().is_some_and(|head| head.seq == found.seq) {
            self.at_head = Some(found.hash);
        }
        if let Ok(ChainEvent { event, .. }) = serde_json::from_str(&found.body) {
            self.note(event);
        }
        Ok(())
    }

    fn note(&mut self, event: ChainChange) {
        match event {
            ChainChange::Lost { receipts } => self.lost += receipts,
            // Hashes are chained: whoever has the last that was seen has all before it.
            ChainChange::Started { seen } | ChainChange::Seen { seen } => {
                self.seen.extend(seen.into_iter().map(|seen| (seen.server.clone(), seen)));
            }
            ChainChange::Killed { .. } => {}
        }
    }

    /// What the links that are good say of other chains.
    pub(super) fn take_seen(&mut self) -> impl Iterator<Item = SeenChain> + use<> {
        std::mem::take(&mut self.seen).into_values()
    }

    pub(super) fn report(mut self) -> ChainReport {
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
        let (server, key) = (stored.server.clone(), to_hex(&stored.public_key));
        ChainReport { server, key, head, links, lost, faults }
    }
}
