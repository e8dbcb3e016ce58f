//! Group commit: one task takes whatever waits, writes it in one transaction, and answers all at once.
//! While a commit waits for the disk, the next batch gathers.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use toolmux_core::message::Message;
use toolmux_core::ports::figures::StoreFigures;
use toolmux_core::ports::store::{Durable, StoreError};
use toolmux_core::task::TaskId;

use crate::connections::database::Database;
use crate::group_commit::batch::{HeldConnection, write_batch};
use crate::group_commit::figures::WriteFigures;
use crate::group_commit::job::{Job, Start};
use crate::group_commit::write::{SingleWrite, Write};

/// How many writes wait before callers do.
const QUEUE: usize = 4_096;
/// How many are written in one transaction.
const MOST_TOGETHER: usize = 512;
/// How long a connection is kept for the next batch, which those just answered are about to make.
const IDLE: Duration = Duration::from_millis(2);
/// How long it is kept however many batches come. SQLite has one connection to write with, and what does not go through this
/// queue (heartbeats, pruning, audit records) waits for it.
const LONGEST_HELD: Duration = Duration::from_millis(50);

/// The only way for writes by key. As one task makes them all, no two of them wait for each other's locks.
#[derive(Clone)]
pub(crate) struct Writer {
    queue: mpsc::Sender<Job>,
    figures: Arc<WriteFigures>,
}

impl Writer {
    /// A writer, and the work that writes; the work ends when the writer is dropped.
    pub(crate) fn new(database: Arc<Database>) -> (Self, impl Future<Output = ()> + Send) {
        let figures = Arc::<WriteFigures>::default();
        let (queue, jobs) = mpsc::channel(QUEUE);
        let work = work(database, jobs, Arc::clone(&figures));
        (Writer { queue, figures }, work)
    }

    /// How writes do.
    pub(crate) fn figures(&self) -> StoreFigures {
        self.figures.read(self.queue.max_capacity() - self.queue.capacity())
    }

    /// Ends when the write is durable. Dropping the future does not take the write back: once it is in the queue it is
    /// written, whether or not somebody waits for the answer.
    pub(crate) async fn write(&self, write: Write) -> Result<bool, StoreError> {
        let (reply, answer) = oneshot::channel();
        let closed = || StoreError::new(Message::public("The record store is closed"));
        self.queue.send(Job { write, reply, start: None }).await.map_err(|_| closed())?;
        // Taken, and the work ended before it answered: the transaction may have been committed.
        let answer = answer.await.map_err(|_| StoreError { durable: Durable::Unknown, ..closed() })?;
        answer.inspect_err(|_| self.figures.failed())
    }
}

async fn work(database: Arc<Database>, mut jobs: mpsc::Receiver<Job>, figures: Arc<WriteFigures>) {
    let mut batch = Vec::with_capacity(MOST_TOGETHER);
    let mut held: Option<HeldConnection> = None;
    loop {
        let next = jobs.recv_many(&mut batch, MOST_TOGETHER);
        // `recv_many` takes nothing out of the queue when its future is dropped, so that the timeout loses no write.
        let next = if held.is_some() { timeout(IDLE, next).await } else { Ok(next.await) };
        match next {
            Ok(0) => return,
            Err(_idle) => release(held.take()),
            Ok(_) => {
                gather(&mut jobs, &mut batch).await;
                join_starts(&mut batch);
                // Stable: two writes of one key stay in the order in which they came.
                batch.sort_by(|a, b| a.write.order().cmp(&b.write.order()));
                let (size, began) = (batch.len(), Instant::now());
                held = write_batch(&database, held, &mut batch).await;
                figures.written(size, began.elapsed());
                release(held.take_if(|held| held.age() >= LONGEST_HELD));
            }
        }
    }
}

fn release(held: Option<HeldConnection>) {
    if let Some(held) = held {
        held.release();
    }
}

/// Lets those who are about to write come along, as long as some do: a commit costs far more than their turn.
async fn gather(jobs: &mut mpsc::Receiver<Job>, batch: &mut Vec<Job>) {
    loop {
        let before = batch.len();
        tokio::task::yield_now().await;
        while batch.len() < MOST_TOGETHER
            && let Ok(job) = jobs.try_recv()
        {
            batch.push(job);
        }
        if batch.len() == before {
            return;
        }
    }
}

/// A task that is started as soon as it is submitted is one write. The two come as two jobs, in either order; when they
/// meet in one batch the start is taken out and answered with the submission. When they do not, the start is a write of its
/// own, and finds no pending task if it came first.
fn join_starts(batch: &mut Vec<Job>) {
    let submitted: HashSet<TaskId> = batch.iter().filter_map(Job::submits).cloned().collect();
    if submitted.is_empty() {
        return;
    }
    let is_joined = |job: &mut Job| match &job.write {
        Write::Single(SingleWrite::TaskStart { id, .. }) => submitted.contains(id),
        Write::CallBegin(_) | Write::CallFinish(_) | Write::Single(_) => false,
    };
    let mut started: HashMap<TaskId, Start> = HashMap::new();
    for job in batch.extract_if(.., is_joined) {
        if let Write::Single(SingleWrite::TaskStart { id, claim }) = job.write {
            started.insert(id, Start { reply: job.reply, claim });
        }
    }
    for job in batch {
        if let Write::Single(SingleWrite::TaskSubmit(row)) = &mut job.write {
            job.start = started.remove(&row.id);
            row.start = job.start.as_ref().map(|start| start.claim);
        }
    }
}
