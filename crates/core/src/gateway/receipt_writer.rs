//! Receipts on their way to the store: written in the background as links of a hash chain whose head is signed, so that
//! no call waits for them. What the store does not take in time is counted, logged, and noted in the chain.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use tokio::time::{Instant, sleep};

use super::Gateway;
use crate::background::StorePauses;
use crate::plural::counted;
use crate::ports::store::{ReceiptHead, StoreError};
use crate::receipt::{ChainChange, ChainHead, ChainState, SeenChain, millis, rfc3339};

/// How long receipts gather before they are written.
const GATHER: Duration = Duration::from_millis(100);
/// How many are written in one transaction.
const TOGETHER: usize = 512;
/// How often a head is written at most when no call has ended: it counts calls that have begun.
const HEAD_EVERY: Duration = Duration::from_secs(1);
/// How often it is written at least: whoever finds it older takes the server for dead.
const HEARTBEAT: Duration = Duration::from_secs(5);
/// How old the head of a server on another machine is when that server is dead.
const DEAD_AFTER: Duration = Duration::from_secs(30);
/// How often receipts that are too old are removed, and dead servers are looked for.
const PRUNE_EVERY: Duration = Duration::from_mins(1);
/// How many chains of others a chain names when it begins.
const MOST_SEEN: usize = 1_000;

/// Signs the heads of chains.
pub trait ReceiptSigner: Send + Sync {
    /// The key by which a signature is checked.
    fn public_key(&self) -> &[u8];

    /// The signature of a text.
    fn sign(&self, text: &[u8]) -> Vec<u8>;
}

/// How receipts are kept in the store.
pub struct ReceiptKeeping {
    /// For how long.
    pub keep: Duration,
    /// The name of this machine.
    pub host: String,
    /// Who signs them.
    pub signer: Arc<dyn ReceiptSigner>,
}

/// How far the writing of receipts is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiptBacklog {
    /// Receipts that wait for the store.
    pub waiting: u64,
    /// Receipts that were lost since the start, because the store did not take them in time.
    pub lost: u64,
}

/// The writer between two uses of it: while the server runs it belongs to the task that writes.
#[derive(Default)]
pub(super) struct WriterSlot {
    open: AtomicBool,
    written: AtomicU64,
    lost: AtomicU64,
    writer: Mutex<Option<ReceiptWriter>>,
}

impl WriterSlot {
    pub(super) fn is_open(&self) -> bool {
        self.open.load(Ordering::Acquire)
    }

    fn writer<T>(&self, change: impl FnOnce(&mut Option<ReceiptWriter>) -> T) -> T {
        change(&mut self.writer.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

struct ReceiptWriter {
    keeping: ReceiptKeeping,
    chain: ChainState,
    /// The position in the log of what comes next.
    position: u64,
    accounted: u64,
    has_started: bool,
    head_written: Instant,
    pruned: Instant,
}

impl Gateway {
    /// Keeps the receipts of all calls from now on in the store.
    pub fn keep_receipts(self: &Arc<Self>, keeping: ReceiptKeeping) {
        if self.receipt_writer.open.swap(true, Ordering::AcqRel) {
            return;
        }
        self.receipts.note_written(0);
        let (chain, now) = (ChainState::new(&keeping.host), Instant::now());
        let mut writer = ReceiptWriter {
            keeping,
            chain,
            position: 0,
            accounted: 0,
            has_started: false,
            head_written: now,
            pruned: now,
        };
        let gateway = Arc::clone(self);
        self.background.spawn(async move {
            writer.run(&gateway).await;
            // For the last write, after everything else has ended.
            gateway.receipt_writer.writer(|slot| *slot = Some(writer));
        });
    }

    /// How many receipts wait for the store, and how many were lost.
    pub fn receipt_backlog(&self) -> ReceiptBacklog {
        if !self.receipt_writer.is_open() {
            return ReceiptBacklog::default();
        }
        let written = self.receipt_writer.written.load(Ordering::Relaxed);
        let waiting = self.receipts.position().saturating_sub(written);
        ReceiptBacklog { waiting, lost: self.receipt_writer.lost.load(Ordering::Relaxed) }
    }

    /// Writes what is left, and that this was the end.
    pub(super) async fn finish_receipts(&self) {
        let Some(mut writer) = self.receipt_writer.writer(Option::take) else { return };
        writer.chain.stop();
        if let Err(error) = writer.write(self).await {
            let waiting = self.receipt_backlog().waiting;
            tracing::warn!(
                developer = error.message.developer,
                "{waiting} receipts were not written at the end"
            );
        }
    }
}

impl ReceiptWriter {
    /// Ends when the server stops. A write is not interrupted: it is bounded by the patience of the store.
    async fn run(&mut self, gateway: &Arc<Gateway>) {
        let mut pauses = StorePauses::new();
        // The chain begins before the first call ends: a server that is killed soon is told of too.
        self.write(gateway).await.ok();
        loop {
            let waiting = async {
                tokio::select! {
                    () = sleep(GATHER) => {}
                    () = gateway.receipts.filled() => {}
                }
            };
            if gateway.background.stop().run_until_cancelled(waiting).await.is_none() {
                return;
            }
            match self.write(gateway).await {
                Ok(()) => pauses = StorePauses::new(),
                Err(error) => {
                    tracing::debug!(developer = error.message.developer, "receipts are not written yet");
                    if !pauses.wait(&gateway.background).await {
                        return;
                    }
                }
            }
            if self.pruned.elapsed() >= PRUNE_EVERY {
                self.pruned = Instant::now();
                if let Err(error) = self.prune(gateway).await {
                    tracing::debug!(developer = error.message.developer, "old receipts were not removed");
                }
            }
        }
    }

    /// Writes what has ended. The chain moves on only when the store took it: a write whose answer was lost is made again
    /// with the same numbers, and finds itself there.
    async fn write(&mut self, gateway: &Gateway) -> Result<(), StoreError> {
        if !self.has_started {
            self.start(gateway).await?;
        }
        loop {
            let (begun, _) = gateway.receipts.counts();
            let logged = gateway.receipts.after(self.position, TOGETHER);
            let (mut chain, mut links) = (self.chain.clone(), Vec::with_capacity(logged.receipts.len() + 1));
            if logged.missed > 0 {
                links.push(chain.add_event(ChainChange::Lost { receipts: logged.missed }));
            }
            links.extend(logged.receipts.iter().map(|receipt| chain.add(receipt.id, receipt.to_json())));
            let accounted = self.accounted + logged.missed + logged.receipts.len() as u64;
            if links.is_empty() && !self.is_head_due(begun) {
                return Ok(());
            }
            chain.account(begun, accounted);
            let head = self.signed(&mut chain);
            gateway.store.receipt_add(&links, &head).await?;
            (self.chain, self.position, self.accounted) = (chain, logged.next, accounted);
            self.head_written = Instant::now();
            gateway.receipt_writer.written.store(self.position, Ordering::Relaxed);
            gateway.receipts.note_written(self.position);
            note_lost(gateway, logged.missed);
            if logged.receipts.len() < TOGETHER {
                return Ok(());
            }
        }
    }

    fn is_head_due(&self, begun: u64) -> bool {
        let (head, age) = (self.chain.head(), self.head_written.elapsed());
        head.stopped || age >= HEARTBEAT || (age >= HEAD_EVERY && head.begun != begun)
    }

    fn signed(&self, chain: &mut ChainState) -> ReceiptHead {
        let signer = &self.keeping.signer;
        chain.sign(|text| signer.sign(text), signer.public_key())
    }

    /// The first link names the chains of others, so that none of them can be cut or removed unseen.
    async fn start(&mut self, gateway: &Gateway) -> Result<(), StoreError> {
        let heads = read_heads(gateway).await?;
        let newest = heads.iter().rev().take(MOST_SEEN);
        let seen = newest.map(|head| SeenChain {
            server: head.server.clone(),
            seq: head.seq,
            hash: head.hash.clone(),
            at: head.at,
        });
        let mut chain = self.chain.clone();
        let started = chain.add_event(ChainChange::Started { seen: seen.collect() });
        let head = self.signed(&mut chain);
        gateway.store.receipt_add(&[started], &head).await?;
        (self.chain, self.has_started) = (chain, true);
        self.tell_killed(gateway, &heads).await
    }

    /// Says once of each server that was killed how many of its calls may lack a receipt.
    async fn tell_killed(&mut self, gateway: &Gateway, heads: &[ChainHead]) -> Result<(), StoreError> {
        for head in heads {
            let is_killed = !head.stopped && self.is_dead(head);
            if !is_killed || !gateway.store.receipt_tell_killed(&head.server).await? {
                continue;
            }
            let (calls, last) = (head.unaccounted(), SystemTime::UNIX_EPOCH + Duration::from_millis(head.at));
            tracing::warn!(
                server = head.server,
                host = head.host,
                pid = head.pid,
                "a server ended without a clean stop: {} may lack a receipt, and those that began after {}",
                calls_in_words(calls),
                rfc3339(last)
            );
            let mut chain = self.chain.clone();
            let killed = chain.add_event(ChainChange::Killed { server: head.server.clone(), calls });
            let signed = self.signed(&mut chain);
            gateway.store.receipt_add(&[killed], &signed).await?;
            self.chain = chain;
        }
        Ok(())
    }

    /// On this machine a process that is gone is dead; elsewhere one whose head is old. A process that has our own number
    /// was in another container, or before a restart of the machine.
    fn is_dead(&self, head: &ChainHead) -> bool {
        if head.server == self.chain.head().server {
            return false;
        }
        let processes = std::path::Path::new("/proc");
        let is_gone = || head.pid == std::process::id() || !processes.join(head.pid.to_string()).exists();
        let is_old = millis(SystemTime::now()).saturating_sub(head.at) > millis_of(DEAD_AFTER);
        is_old || (head.host == self.keeping.host && processes.join("self").exists() && is_gone())
    }

    /// Removes what is too old: from the beginning of our own chain, and chains of others that have ended. The head says up
    /// to where, so that nobody else can remove more unseen.
    async fn prune(&mut self, gateway: &Gateway) -> Result<(), StoreError> {
        let cutoff = SystemTime::now() - self.keeping.keep;
        loop {
            let (server, pruned) = (self.chain.head().server.clone(), self.chain.head().pruned);
            let links = gateway.store.receipt_chain(&server, pruned, TOGETHER).await?;
            let old = links.iter().take_while(|link| link.id.at() < cutoff).count();
            let Some(last) = old.checked_sub(1).map(|last| &links[last]) else { break };
            let mut chain = self.chain.clone();
            chain.prune_to(last.seq, last.hash);
            let head = self.signed(&mut chain);
            gateway.store.receipt_prune(last.seq, &head).await?;
            self.chain = chain;
            if old < links.len() {
                break;
            }
        }
        let heads = read_heads(gateway).await?;
        self.tell_killed(gateway, &heads).await?;
        for head in heads.iter().filter(|head| head.at < millis(cutoff) && self.is_dead(head)) {
            gateway.store.receipt_forget(&head.server).await?;
        }
        Ok(())
    }
}

fn note_lost(gateway: &Gateway, lost: u64) {
    if lost > 0 {
        gateway.metrics.receipts_lost(lost);
        gateway.receipt_writer.lost.fetch_add(lost, Ordering::Relaxed);
        tracing::warn!(lost, "receipts were lost: more calls ended than wait for the record store at a time");
    }
}

async fn read_heads(gateway: &Gateway) -> Result<Vec<ChainHead>, StoreError> {
    let heads = gateway.store.receipt_heads().await?;
    let mut heads: Vec<ChainHead> = heads.iter().filter_map(|head| ChainHead::read(&head.body)).collect();
    heads.sort_by_key(|head| head.at);
    Ok(heads)
}

fn calls_in_words(calls: u64) -> String {
    counted(usize::try_from(calls).unwrap_or(usize::MAX), "call")
}

fn millis_of(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
