//! The chains of other servers as this one sees them: what they had come to is noted in the own chain, so that none can be
//! cut or rolled back unseen; servers that were killed are reported once; chains that are too old are removed.

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use tokio::time::Instant;

use super::Gateway;
use super::receipt_writer::{BatchWrite, ReceiptWriter};
use crate::plural::counted;
use crate::ports::store::StoreError;
use crate::receipt::{ChainChange, ChainHead, SeenChain, millis, rfc3339};

/// For how long a server whose process cannot be seen from here has not written its head when it is taken for dead. It
/// writes every five seconds.
const DEAD_AFTER: Duration = Duration::from_secs(30);
/// How many chains of others a chain names when it begins.
const MOST_SEEN: usize = 1_000;
/// How many chains of others a chain names later, each time it looks: with many replicas each is seen by some.
const NEIGHBOURS: usize = 8;

/// What is known of other servers.
#[derive(Default)]
pub(super) struct Peers {
    /// The time in the head of each when it last changed, and when that was seen. By our own clock: those of two machines
    /// may differ by more than a server is silent.
    changed: HashMap<String, (u64, Instant)>,
    /// Up to where each was noted in our chain.
    noted: HashMap<String, u64>,
}

impl Peers {
    fn see(&mut self, heads: &[(ChainHead, SeenChain)]) {
        self.changed.retain(|server, _| heads.iter().any(|(head, _)| head.server == *server));
        self.noted.retain(|server, _| heads.iter().any(|(head, _)| head.server == *server));
        for (head, _) in heads {
            let changed = self.changed.entry(head.server.clone()).or_insert((head.at, Instant::now()));
            if changed.0 != head.at {
                *changed = (head.at, Instant::now());
            }
        }
    }

    /// Those that went on since they were last noted, from our own place in the order of servers on.
    fn news(&self, own: &str, heads: &[(ChainHead, SeenChain)]) -> Vec<SeenChain> {
        let went_on =
            |seen: &&SeenChain| self.noted.get(&seen.server) != Some(&seen.seq) && seen.server != own;
        let mut news: Vec<&SeenChain> = heads.iter().map(|(_, seen)| seen).filter(went_on).collect();
        news.sort_by_key(|seen| (seen.server.as_str() < own, seen.server.as_str()));
        news.into_iter().take(NEIGHBOURS).cloned().collect()
    }

    fn note(&mut self, seen: &[SeenChain]) {
        self.noted.extend(seen.iter().map(|seen| (seen.server.clone(), seen.seq)));
    }
}

impl ReceiptWriter {
    /// What the first link names: the newest chains of others.
    pub(super) async fn first_look(&mut self) -> Result<Vec<SeenChain>, StoreError> {
        let heads = self.read_heads().await?;
        let seen: Vec<SeenChain> = heads.into_iter().rev().take(MOST_SEEN).map(|(_, seen)| seen).collect();
        self.peers.note(&seen);
        Ok(seen)
    }

    /// Everything about chains that is not the receipt of a call.
    pub(super) async fn look_after(&mut self, gateway: &Gateway) -> Result<(), StoreError> {
        let heads = self.read_heads().await?;
        self.report_killed(gateway, &heads).await?;
        let news = self.peers.news(&self.chain.head().server, &heads);
        if !news.is_empty() {
            let mut chain = self.chain.clone();
            let seen = chain.add_event(ChainChange::Seen { seen: news.clone() });
            self.send(gateway, chain, BatchWrite::Add(vec![seen])).await?;
            self.peers.note(&news);
        }
        let cutoff = SystemTime::now() - self.keeping.keep;
        self.prune(gateway, cutoff).await?;
        for (head, _) in heads.iter().filter(|(head, _)| head.at < millis(cutoff) && self.is_dead(head)) {
            self.store.receipt_forget(&head.server).await?;
        }
        Ok(())
    }

    /// Reports of each server that was killed how many of its calls may lack a receipt. Of several servers that find out one
    /// reports it.
    async fn report_killed(
        &mut self,
        gateway: &Gateway,
        heads: &[(ChainHead, SeenChain)],
    ) -> Result<(), StoreError> {
        for (head, _) in heads {
            if head.stopped || !self.is_dead(head) {
                continue;
            }
            let (server, calls) = (head.server.clone(), head.unaccounted());
            let mut chain = self.chain.clone();
            let link = chain.add_event(ChainChange::Killed { server: server.clone(), calls });
            if self.send(gateway, chain, BatchWrite::Killed { server, link }).await? {
                log_killed(head, calls);
            }
        }
        Ok(())
    }

    /// A process that can be seen from here is dead when it has ended; any other when its head has not changed for long.
    fn is_dead(&self, head: &ChainHead) -> bool {
        let own = self.chain.head();
        if head.server == own.server {
            return false;
        }
        match head.process.runs(head.pid, &own.process) {
            Some(runs) => !runs,
            None => {
                let changed = self.peers.changed.get(&head.server);
                changed.is_some_and(|(_, seen)| seen.elapsed() >= DEAD_AFTER)
            }
        }
    }

    /// The heads of all chains, the oldest first.
    async fn read_heads(&mut self) -> Result<Vec<(ChainHead, SeenChain)>, StoreError> {
        let heads = self.store.receipt_heads().await?;
        let read = heads.iter().filter_map(|stored| {
            let head = ChainHead::read(&stored.body)?;
            let seen = head.seen(&stored.public_key);
            Some((head, seen))
        });
        let mut heads: Vec<(ChainHead, SeenChain)> = read.collect();
        heads.sort_by_key(|(head, _)| head.at);
        self.peers.see(&heads);
        Ok(heads)
    }
}

fn log_killed(head: &ChainHead, calls: u64) {
    let calls = counted(usize::try_from(calls).unwrap_or(usize::MAX), "call");
    let last = rfc3339(SystemTime::UNIX_EPOCH + Duration::from_millis(head.at));
    tracing::warn!(
        server = head.server,
        host = head.host,
        pid = head.pid,
        "a server ended without a clean stop: {calls} may lack a receipt, and those that began after {last}"
    );
}
