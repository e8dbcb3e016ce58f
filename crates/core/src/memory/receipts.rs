//! Receipts in memory. They are as many as their writer leaves: it removes what is too old.

use std::collections::{BTreeMap, HashSet};
use std::ops::Bound;

use super::store::{MemoryStore, ready};
use crate::ports::store::{ReceiptHead, ReceiptLink, ReceiptReader, ReceiptStore, StoreFuture};
use crate::receipt::ReceiptId;

#[derive(Debug, Default)]
pub(super) struct Receipts {
    links: BTreeMap<(String, u64), ReceiptLink>,
    by_id: BTreeMap<ReceiptId, (String, u64)>,
    heads: BTreeMap<String, ReceiptHead>,
    reported_killed: HashSet<String>,
}

impl Receipts {
    fn add(&mut self, links: &[ReceiptLink], head: &ReceiptHead) {
        for link in links {
            let key = (link.server.clone(), link.seq);
            self.by_id.entry(link.id).or_insert_with(|| key.clone());
            self.links.entry(key).or_insert_with(|| link.clone());
        }
        self.heads.insert(head.server.clone(), head.clone());
        self.reported_killed.remove(&head.server);
    }

    fn report_killed(&mut self, killed: &str, link: &ReceiptLink, head: &ReceiptHead) -> bool {
        let is_there = self.links.get(&(link.server.clone(), link.seq)).is_some_and(|there| there == link);
        let reports = self.heads.contains_key(killed) && self.reported_killed.insert(killed.to_owned());
        if reports {
            self.add(std::slice::from_ref(link), head);
        }
        reports || is_there
    }

    fn remove(&mut self, server: &str, up_to: u64) {
        let gone = self.links.extract_if((server.to_owned(), 0)..=(server.to_owned(), up_to), |_, _| true);
        for (_, link) in gone {
            self.by_id.remove(&link.id);
        }
    }

    fn list(&self, from: ReceiptId, before: Option<ReceiptId>, most: usize) -> Vec<(ReceiptId, String)> {
        let before = before.map_or(Bound::Unbounded, Bound::Excluded);
        let newest = self.by_id.range((Bound::Included(from), before)).rev().take(most);
        newest.filter_map(|(id, key)| Some((*id, self.links.get(key)?.body.clone()))).collect()
    }

    fn chain(&self, server: &str, after: u64, most: usize) -> Vec<ReceiptLink> {
        let last = (server.to_owned(), u64::MAX);
        let range = (Bound::Excluded((server.to_owned(), after)), Bound::Included(last));
        self.links.range(range).take(most).map(|(_, link)| link.clone()).collect()
    }
}

impl ReceiptReader for MemoryStore {
    fn receipt_list(
        &self,
        from: ReceiptId,
        before: Option<ReceiptId>,
        most: usize,
    ) -> StoreFuture<'_, Vec<(ReceiptId, String)>> {
        let nothing = before.is_some_and(|before| before <= from);
        ready(if nothing { Vec::new() } else { self.records(|kept| kept.receipts.list(from, before, most)) })
    }

    fn receipt_find(&self, id: ReceiptId) -> StoreFuture<'_, Option<String>> {
        ready(self.records(|kept| {
            let link = kept.receipts.links.get(kept.receipts.by_id.get(&id)?)?;
            Some(link.body.clone())
        }))
    }

    fn receipt_chain<'a>(
        &'a self,
        server: &'a str,
        after: u64,
        most: usize,
    ) -> StoreFuture<'a, Vec<ReceiptLink>> {
        ready(self.records(|kept| kept.receipts.chain(server, after, most)))
    }

    fn receipt_heads(&self) -> StoreFuture<'_, Vec<ReceiptHead>> {
        ready(self.records(|kept| kept.receipts.heads.values().cloned().collect()))
    }
}

impl ReceiptStore for MemoryStore {
    fn receipt_add<'a>(&'a self, links: &'a [ReceiptLink], head: &'a ReceiptHead) -> StoreFuture<'a, ()> {
        self.records(|kept| kept.receipts.add(links, head));
        ready(())
    }

    fn receipt_prune<'a>(&'a self, up_to: u64, head: &'a ReceiptHead) -> StoreFuture<'a, ()> {
        self.records(|kept| {
            kept.receipts.remove(&head.server, up_to);
            kept.receipts.add(&[], head);
        });
        ready(())
    }

    fn receipt_forget<'a>(&'a self, server: &'a str) -> StoreFuture<'a, ()> {
        self.records(|kept| {
            kept.receipts.remove(server, u64::MAX);
            kept.receipts.heads.remove(server);
            kept.receipts.reported_killed.remove(server);
        });
        ready(())
    }

    fn receipt_report_killed<'a>(
        &'a self,
        killed: &'a str,
        link: &'a ReceiptLink,
        head: &'a ReceiptHead,
    ) -> StoreFuture<'a, bool> {
        ready(self.records(|kept| kept.receipts.report_killed(killed, link, head)))
    }
}
