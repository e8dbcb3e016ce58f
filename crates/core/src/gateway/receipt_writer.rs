//! Receipts on their way to the store: written in the background as links of a hash chain whose head is signed, so that
//! no call waits for them. What the store does not take in time is counted, logged, and noted in the chain. What is written
//! of other servers is in `receipt_peers.rs`.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

use tokio::time::{Instant, sleep};

use super::Gateway;
use super::receipt_peers::Peers;
use super::stored_receipts::ReceiptBacklog;
use crate::background::StorePauses;
use crate::ports::store::{ReceiptHead, ReceiptLink, ReceiptReader, ReceiptStore, StoreError};
use crate::receipt::{ChainChange, ChainState, ReceiptLog, SeenChain, millis};

/// How long receipts gather before they are written.
const GATHER: Duration = Duration::from_millis(100);
/// How many are written in one transaction.
const TOGETHER: usize = 512;
/// How often a head is written at most when no call has ended: it counts calls that have begun.
const HEAD_EVERY: Duration = Duration::from_secs(1);
/// How often it is written at least: whoever finds it older takes the server for dead.
const HEARTBEAT: Duration = Duration::from_secs(5);
/// How often receipts that are too old are removed, and the chains of other servers are looked at.
const PEERS_EVERY: Duration = Duration::from_mins(1);
/// How often the last head is noted outside of the store at most.
const ANCHOR_EVERY: Duration = Duration::from_secs(1);

/// Signs the heads of chains.
pub trait ReceiptSigner: Send + Sync {
    /// The key by which a signature is checked.
    fn public_key(&self) -> &[u8];

    /// The signature of a text.
    fn sign(&self, text: &[u8]) -> Vec<u8>;
}

/// Keeps the last head of this server's chain outside of the store, so that going back to an earlier state of the store
/// shows. It may wait for a disk.
pub trait ChainAnchor: Send + Sync {
    /// Notes the last head that the store has confirmed.
    fn keep(&self, head: &SeenChain);

    /// Forgets heads that were written before, in milliseconds since 1970: their chains may be gone.
    fn forget_before(&self, at: u64);
}

/// How receipts are kept in the store.
pub struct ReceiptKeeping {
    /// For how long.
    pub keep: Duration,
    /// The name of this machine.
    pub host: String,
    /// Who signs them.
    pub signer: Arc<dyn ReceiptSigner>,
    /// Where the last head is noted besides; absent where there is no place for it.
    pub anchor: Option<Arc<dyn ChainAnchor>>,
}

/// The writer between two uses of it: while the server runs it belongs to the task that writes.
#[derive(Default)]
pub(super) struct WriterSlot {
    open: AtomicBool,
    written: AtomicU64,
    lost: AtomicU64,
    store: OnceLock<Arc<dyn ReceiptStore>>,
    writer: Mutex<Option<ReceiptWriter>>,
}

impl WriterSlot {
    /// True for the first who opens it.
    pub(super) fn open(&self, store: &Arc<dyn ReceiptStore>) -> bool {
        let is_first = !self.open.swap(true, Ordering::AcqRel);
        if is_first {
            self.store.set(Arc::clone(store)).ok();
        }
        is_first
    }

    /// How many receipts of a log wait for the store, and how many were lost.
    pub(super) fn backlog(&self, log: &ReceiptLog) -> ReceiptBacklog {
        if !self.open.load(Ordering::Acquire) {
            return ReceiptBacklog::default();
        }
        let waiting = log.position().saturating_sub(self.written.load(Ordering::Relaxed));
        ReceiptBacklog { waiting, lost: self.lost.load(Ordering::Relaxed) }
    }

    /// Where receipts are kept.
    pub(super) fn reader(&self) -> Option<Arc<dyn ReceiptReader>> {
        self.store.get().map(|store| Arc::clone(store) as Arc<dyn ReceiptReader>)
    }

    pub(super) fn writer<T>(&self, change: impl FnOnce(&mut Option<ReceiptWriter>) -> T) -> T {
        change(&mut self.writer.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Writes one chain. One write at a time: the next is made when the store has confirmed the one before it.
pub(super) struct ReceiptWriter {
    pub(super) keeping: ReceiptKeeping,
    pub(super) store: Arc<dyn ReceiptStore>,
    /// As the store has confirmed it.
    pub(super) chain: ChainState,
    /// What was sent and not confirmed. The store may have it, so that exactly this is sent again before anything else:
    /// with other receipts under the same numbers, the chain would not be what its head says.
    unconfirmed: Option<Batch>,
    /// The position in the log of what comes next.
    position: u64,
    accounted: u64,
    has_started: bool,
    head_written: Instant,
    pub(super) peers: Peers,
    anchored: Option<(Instant, u64)>,
}

pub(super) struct Batch {
    write: BatchWrite,
    head: ReceiptHead,
    /// How the writer stands when it is written.
    chain: ChainState,
    position: u64,
    accounted: u64,
    lost: u64,
}

pub(super) enum BatchWrite {
    Add(Vec<ReceiptLink>),
    Killed { server: String, link: ReceiptLink },
    Prune { up_to: u64 },
}

impl Gateway {
    /// Writes what is left, and that this was the end.
    pub(super) async fn finish_receipts(&self) {
        let Some(mut writer) = self.receipt_writer.writer(Option::take) else { return };
        if let Err(error) = writer.finish(self).await {
            let waiting = self.receipt_writer.backlog(&self.receipts).waiting;
            tracing::warn!(
                developer = error.message.developer,
                "{waiting} receipts were not written at the end"
            );
        }
    }
}

impl ReceiptWriter {
    pub(super) fn new(keeping: ReceiptKeeping, store: Arc<dyn ReceiptStore>) -> Self {
        ReceiptWriter {
            chain: ChainState::new(&keeping.host),
            keeping,
            store,
            unconfirmed: None,
            position: 0,
            accounted: 0,
            has_started: false,
            head_written: Instant::now(),
            peers: Peers::default(),
            anchored: None,
        }
    }

    /// Ends when the server stops. A write is not interrupted: it is bounded by the patience of the store.
    pub(super) async fn run(&mut self, gateway: &Arc<Gateway>) {
        let (mut pauses, mut peers_at) = (StorePauses::new(), None::<Instant>);
        // The chain begins before the first call ends: a server that is killed soon is reported too.
        self.write(gateway).await.ok();
        loop {
            if self.has_started && peers_at.is_none_or(|at| at.elapsed() >= PEERS_EVERY) {
                match self.look_after(gateway).await {
                    Ok(()) => peers_at = Some(Instant::now()),
                    Err(error) => {
                        tracing::debug!(
                            developer = error.message.developer,
                            "chains of receipts were not read"
                        );
                    }
                }
            }
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
            if self.anchored.is_none_or(|(at, _)| at.elapsed() >= ANCHOR_EVERY) {
                self.anchor().await;
            }
        }
    }

    /// The last write of this server.
    async fn finish(&mut self, gateway: &Gateway) -> Result<(), StoreError> {
        self.confirm(gateway).await?;
        self.chain.stop();
        self.write(gateway).await?;
        self.anchor().await;
        Ok(())
    }

    /// Writes what has ended. The chain moves on only when the store has confirmed it.
    async fn write(&mut self, gateway: &Gateway) -> Result<(), StoreError> {
        self.confirm(gateway).await?;
        if !self.has_started {
            let seen = self.first_look().await?;
            let mut chain = self.chain.clone();
            let started = chain.add_event(ChainChange::Started { seen });
            self.send(gateway, chain, BatchWrite::Add(vec![started])).await?;
        }
        loop {
            let (begun, _) = gateway.receipts.counts();
            let logged = gateway.receipts.after(self.position, TOGETHER);
            let mut chain = self.chain.clone();
            let mut links = Vec::with_capacity(logged.receipts.len() + 1);
            if logged.missed > 0 {
                links.push(chain.add_event(ChainChange::Lost { receipts: logged.missed }));
            }
            links.extend(logged.receipts.iter().map(|receipt| chain.add(receipt.id, receipt.to_json())));
            let accounted = self.accounted + logged.missed + logged.receipts.len() as u64;
            if links.is_empty() && !self.is_head_due(begun) {
                return Ok(());
            }
            chain.account(begun, accounted);
            let mut batch = self.batch(chain, BatchWrite::Add(links));
            (batch.position, batch.accounted, batch.lost) = (logged.next, accounted, logged.missed);
            self.unconfirmed = Some(batch);
            self.confirm(gateway).await?;
            if logged.receipts.len() < TOGETHER {
                return Ok(());
            }
        }
    }

    fn is_head_due(&self, begun: u64) -> bool {
        let (head, age) = (self.chain.head(), self.head_written.elapsed());
        head.stopped || age >= HEARTBEAT || (age >= HEAD_EVERY && head.begun != begun)
    }

    fn batch(&self, mut chain: ChainState, write: BatchWrite) -> Batch {
        let signer = &self.keeping.signer;
        let head = chain.sign(|text| signer.sign(text), signer.public_key());
        Batch { write, head, chain, position: self.position, accounted: self.accounted, lost: 0 }
    }

    /// Sends one transaction; false when another server had done the same.
    pub(super) async fn send(
        &mut self,
        gateway: &Gateway,
        chain: ChainState,
        write: BatchWrite,
    ) -> Result<bool, StoreError> {
        self.confirm(gateway).await?;
        self.unconfirmed = Some(self.batch(chain, write));
        self.confirm(gateway).await
    }

    /// Sends what is not confirmed, if anything is, and takes it for written when the store says so.
    async fn confirm(&mut self, gateway: &Gateway) -> Result<bool, StoreError> {
        let Some(batch) = &self.unconfirmed else { return Ok(true) };
        let written = match &batch.write {
            BatchWrite::Add(links) => self.store.receipt_add(links, &batch.head).await.map(|()| true),
            BatchWrite::Prune { up_to } => self.store.receipt_prune(*up_to, &batch.head).await.map(|()| true),
            BatchWrite::Killed { server, link } => {
                self.store.receipt_report_killed(server, link, &batch.head).await
            }
        }?;
        let Some(batch) = self.unconfirmed.take().filter(|_| written) else { return Ok(false) };
        (self.chain, self.position, self.accounted) = (batch.chain, batch.position, batch.accounted);
        (self.has_started, self.head_written) = (true, Instant::now());
        gateway.receipt_writer.written.store(self.position, Ordering::Relaxed);
        gateway.receipts.note_written(self.position);
        note_lost(gateway, batch.lost);
        Ok(true)
    }

    /// Notes the last head outside of the store, when it is another than before.
    async fn anchor(&mut self) {
        let head = self.chain.head();
        let is_new = self.anchored.is_none_or(|(_, seq)| seq != head.seq);
        let Some(anchor) = self.keeping.anchor.clone().filter(|_| self.has_started && is_new) else { return };
        self.anchored = Some((Instant::now(), head.seq));
        let seen = head.seen(self.keeping.signer.public_key());
        tokio::task::spawn_blocking(move || anchor.keep(&seen)).await.ok();
    }

    /// Removes what is too old from the beginning of our own chain. The head says up to where, so that nobody else can
    /// remove more unseen.
    pub(super) async fn prune(&mut self, gateway: &Gateway, cutoff: SystemTime) -> Result<(), StoreError> {
        loop {
            self.confirm(gateway).await?;
            let (server, pruned) = (self.chain.head().server.clone(), self.chain.head().pruned);
            let links = self.store.receipt_chain(&server, pruned, TOGETHER).await?;
            let old = links.iter().take_while(|link| link.id.at() < cutoff).count();
            let Some(last) = old.checked_sub(1).map(|last| &links[last]) else { break };
            let mut chain = self.chain.clone();
            chain.prune_to(last.seq, last.hash);
            self.send(gateway, chain, BatchWrite::Prune { up_to: last.seq }).await?;
            if old < links.len() {
                break;
            }
        }
        if let Some(anchor) = self.keeping.anchor.clone() {
            let before = millis(cutoff);
            tokio::task::spawn_blocking(move || anchor.forget_before(before)).await.ok();
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
