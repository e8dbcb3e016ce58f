//! The newest receipts of this process. Calls write into one of many small buffers, chosen by their thread, so that they
//! neither wait for each other nor wake anybody; a full buffer is moved into the ring at once, and readers move all.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use tokio::sync::Notify;

use super::KEPT_IN_MEMORY;
use super::parts::ReceiptParts;
use super::record::{Receipt, ReceiptId};
use crate::limits::Limits;
use crate::metrics::CallMetrics;

/// How many buffers there are: more than threads that run calls on most machines.
const SHARDS: usize = 64;
/// How many receipts a buffer takes before it is moved into the ring.
const GATHERED: usize = 256;
/// How many receipts the ring holds that a store has not taken yet: an outage of seconds loses none.
const WAITING_FOR_STORE: usize = 65_536;
/// How many receipts are read under one lock.
const READ_TOGETHER: usize = 256;

static NEXT_THREAD: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// Which buffer this thread writes into.
    static SHARD: usize = NEXT_THREAD.fetch_add(1, Ordering::Relaxed) % SHARDS;
}

/// The newest receipts of this process.
#[derive(Debug)]
pub struct ReceiptLog {
    shards: Box<[Arc<Shard>]>,
    ring: Arc<Ring>,
}

/// What is done with each receipt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiptSettings {
    /// Arguments are kept, without secrets.
    pub arguments: bool,
    /// A line is logged for each call.
    pub log: bool,
}

/// What was logged after a position.
#[derive(Debug, Default)]
pub struct LoggedReceipts {
    /// In the order in which their calls ended, nearly.
    pub receipts: Vec<Receipt>,
    /// The position after the last of them.
    pub next: u64,
    /// How many had to give way before they were read.
    pub missed: u64,
}

/// Aligned so that two threads do not write to the same cache line.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Shard {
    pending: Mutex<Vec<ReceiptParts>>,
    begun: AtomicU64,
    ended: AtomicU64,
    ring: Arc<Ring>,
}

#[derive(Debug, Default)]
struct Ring {
    /// What is counted of calls, when their receipts are moved.
    metrics: Mutex<CallMetrics>,
    kept: Mutex<Kept>,
    /// A line is logged for each call.
    logs: AtomicBool,
    /// Arguments are kept, without secrets.
    keeps_arguments: AtomicBool,
    /// Told when receipts were moved into the ring by calls.
    moved: Notify,
}

#[derive(Debug, Default)]
struct Kept {
    /// In the buffers that calls filled, so that none is copied on its way in; oldest first, none of them empty.
    buffers: VecDeque<Vec<ReceiptParts>>,
    /// How many receipts of the first buffer have given way. They are freed with the last of it.
    gone: usize,
    /// How many receipts there are without those.
    count: usize,
    /// The position of the first of them.
    first: u64,
    /// Up to which position the store has taken them, where it is to take them as well.
    written: Option<u64>,
}

impl Kept {
    /// How many of the oldest have to give way. Those that wait for the store stay longer.
    fn surplus(&self) -> usize {
        let over = |most: usize| self.count.saturating_sub(most);
        let Some(written) = self.written else { return over(KEPT_IN_MEMORY) };
        let written = usize::try_from(written.saturating_sub(self.first)).unwrap_or(usize::MAX);
        over(KEPT_IN_MEMORY).min(written).max(over(WAITING_FOR_STORE))
    }

    fn add(&mut self, receipts: Vec<ReceiptParts>) {
        self.count += receipts.len();
        if receipts.len() >= GATHERED {
            return self.buffers.push_back(receipts);
        }
        // Few that a reader has moved: a buffer of their own would be mostly empty.
        for receipt in receipts {
            match self.buffers.back_mut().filter(|last| last.len() < last.capacity()) {
                Some(last) => last.push(receipt),
                None => {
                    let mut buffer = Vec::with_capacity(GATHERED);
                    buffer.push(receipt);
                    self.buffers.push_back(buffer);
                }
            }
        }
    }

    /// Lets the oldest give way; takes out the buffers of which nothing is left.
    fn take_surplus(&mut self) -> Vec<Vec<ReceiptParts>> {
        let (surplus, mut taken) = (self.surplus(), Vec::new());
        self.count -= surplus;
        self.first += surplus as u64;
        self.gone += surplus;
        while let Some(oldest) = self.buffers.pop_front_if(|oldest| oldest.len() <= self.gone) {
            self.gone -= oldest.len();
            taken.push(oldest);
        }
        taken
    }

    /// From a position on.
    fn from(&self, position: u64) -> impl Iterator<Item = &ReceiptParts> {
        let after = usize::try_from(position.saturating_sub(self.first)).unwrap_or(usize::MAX);
        let mut skip = after.saturating_add(self.gone);
        self.buffers.iter().flat_map(move |buffer| {
            let before = skip.min(buffer.len());
            skip -= before;
            &buffer[before..]
        })
    }
}

impl Default for ReceiptLog {
    fn default() -> Self {
        let ring = Arc::<Ring>::default();
        let shard = || {
            Arc::new(Shard {
                pending: Mutex::default(),
                begun: AtomicU64::new(0),
                ended: AtomicU64::new(0),
                ring: Arc::clone(&ring),
            })
        };
        ReceiptLog { shards: std::iter::repeat_with(shard).take(SHARDS).collect(), ring }
    }
}

impl ReceiptLog {
    /// The buffer of this thread.
    pub(super) fn shard(&self) -> &Arc<Shard> {
        &self.shards[SHARD.with(|shard| *shard)]
    }

    /// What is done with each receipt from now on.
    pub(crate) fn configure(&self, settings: ReceiptSettings) {
        self.ring.logs.store(settings.log, Ordering::Relaxed);
        self.ring.keeps_arguments.store(settings.arguments, Ordering::Relaxed);
    }

    /// How many tools and callers have metrics of their own from now on.
    pub(crate) fn bound_metrics(&self, limits: &Limits) {
        self.ring.metrics(|metrics| metrics.resize(limits));
    }

    /// What was counted of all calls that have ended.
    pub(crate) fn metrics(&self) -> CallMetrics {
        self.collect();
        // Copied: calls that move their buffer wait for this lock, and what becomes of the numbers takes longer.
        self.ring.metrics(|metrics| metrics.clone())
    }

    /// Whether arguments are wanted, without secrets.
    pub(crate) fn keeps_arguments(&self) -> bool {
        self.ring.keeps_arguments.load(Ordering::Relaxed)
    }

    /// Notes up to which position the store has taken them; from the first time on, what it has not taken stays longer.
    pub(crate) fn note_written(&self, position: u64) {
        self.ring.kept(|kept| kept.written = Some(position));
    }

    /// Ends when calls have filled a buffer: there is much to read.
    pub(crate) async fn filled(&self) {
        self.ring.moved.notified().await;
    }

    /// How many calls have begun, and how many receipts were written.
    pub(crate) fn counts(&self) -> (u64, u64) {
        // Ended first: a call that ends between the two looks is then counted as one in flight, never as one too few.
        let ended = self.shards.iter().map(|shard| shard.ended.load(Ordering::Acquire)).sum();
        (self.shards.iter().map(|shard| shard.begun.load(Ordering::Acquire)).sum(), ended)
    }

    /// The position after the newest receipt.
    pub fn position(&self) -> u64 {
        self.collect();
        self.ring.kept(|kept| kept.first + kept.count as u64)
    }

    /// What was logged from a position on, `most` at a time.
    pub fn after(&self, position: u64, most: usize) -> LoggedReceipts {
        self.collect();
        self.read(position, most)
    }

    fn read(&self, position: u64, most: usize) -> LoggedReceipts {
        self.ring.kept(|kept| {
            let missed = kept.first.saturating_sub(position);
            let receipts: Vec<Receipt> = kept.from(position).take(most).map(ReceiptParts::receipt).collect();
            LoggedReceipts { next: position + missed + receipts.len() as u64, receipts, missed }
        })
    }

    /// The newest receipts that fit, newest first.
    pub fn list(&self, fits: impl Fn(&Receipt) -> bool, most: usize) -> Vec<Receipt> {
        let end = self.position();
        let mut position = end.saturating_sub(KEPT_IN_MEMORY as u64);
        let mut found = Vec::new();
        while position < end {
            // In pieces: a call that moves its buffer waits for this lock.
            let piece = self.read(position, READ_TOGETHER);
            if piece.receipts.is_empty() {
                break;
            }
            found.extend(piece.receipts.into_iter().filter(&fits));
            position = piece.next;
        }
        found.sort_by_key(|receipt| std::cmp::Reverse(receipt.id));
        found.truncate(most);
        found
    }

    /// The receipt of an id.
    pub fn find(&self, id: ReceiptId) -> Option<Receipt> {
        self.list(|receipt| receipt.id == id, 1).pop()
    }

    /// Moves what calls have written into the ring.
    fn collect(&self) {
        for shard in &self.shards {
            let pending = shard.pending(std::mem::take);
            if !pending.is_empty() {
                self.ring.take(pending);
            }
        }
    }
}

impl Shard {
    pub(super) fn begun(&self) {
        self.begun.fetch_add(1, Ordering::Release);
    }

    pub(super) fn not_begun(&self) {
        self.begun.fetch_sub(1, Ordering::Release);
    }

    pub(super) fn push(&self, receipt: ReceiptParts) {
        if self.ring.logs.load(Ordering::Relaxed) {
            log_line(&receipt.receipt());
        }
        let full = self.pending(|pending| {
            if pending.capacity() == 0 {
                pending.reserve_exact(GATHERED);
            }
            pending.push(receipt);
            (pending.len() >= GATHERED).then(|| std::mem::take(pending))
        });
        self.ended.fetch_add(1, Ordering::Release);
        if let Some(full) = full {
            self.ring.take(full);
            self.ring.moved.notify_one();
        }
    }

    fn pending<T>(&self, read: impl FnOnce(&mut Vec<ReceiptParts>) -> T) -> T {
        read(&mut self.pending.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Ring {
    /// Counts them for the metrics and keeps them. The oldest give way; they are freed after the lock is.
    fn take(&self, receipts: Vec<ReceiptParts>) {
        self.metrics(|metrics| {
            let now = Instant::now();
            for receipt in &receipts {
                metrics.add(&receipt.measured(), now);
            }
        });
        let surplus = self.kept(|kept| {
            kept.add(receipts);
            kept.take_surplus()
        });
        drop(surplus);
    }

    fn metrics<T>(&self, change: impl FnOnce(&mut CallMetrics) -> T) -> T {
        change(&mut self.metrics.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn kept<T>(&self, read: impl FnOnce(&mut Kept) -> T) -> T {
        read(&mut self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// One line for one call: who asked for what, how it ended, and how long it took.
fn log_line(receipt: &Receipt) {
    tracing::info!(
        caller = &*receipt.caller,
        protocol = &*receipt.protocol,
        ms = format!("{}.{:03}", receipt.us / 1_000, receipt.us % 1_000),
        receipt = %receipt.id,
        traceparent = receipt.span.map(|span| span.context.traceparent()),
        "{} {}: {}",
        receipt.method.as_deref().unwrap_or("call"),
        receipt.tool.escape_debug(),
        if receipt.verdict == "allowed" { receipt.outcome.as_str() } else { &*receipt.verdict }
    );
}
