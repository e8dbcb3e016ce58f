//! Group commit: one task takes whatever waits, writes it in one transaction, and answers all at once.
//! While a commit waits for the disk, the next batch gathers.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use sqlx::AnyConnection;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use toolmux_core::message::Message;
use toolmux_core::ports::store::{Durable, StoreError};
use toolmux_core::task::TaskId;

use crate::batch_sql::{begin_calls, finish_calls};
use crate::connection::WriteConnection;
use crate::database::{Database, failed};
use crate::maintenance::beat;
use crate::write::Write;

/// How many writes wait before callers do.
const QUEUE: usize = 4_096;
/// How many are written in one transaction.
const MOST_TOGETHER: usize = 512;
/// How long a connection is kept for the next batch, which those just answered are about to make.
const IDLE: Duration = Duration::from_millis(2);
/// How long it is kept however many batches come: others wait for it.
const LONGEST_HELD: Duration = Duration::from_millis(50);

/// A connection that is kept for the next batch, and since when.
type Held = (WriteConnection, Instant);
type Reply = oneshot::Sender<Result<bool, StoreError>>;

struct Job {
    write: Write,
    reply: Reply,
    /// Who started the task that this submits, and by which turn.
    start: Option<(Reply, i64)>,
}

/// What was written of a job, and whether the start that came with it was.
#[derive(Clone, Copy)]
struct Written {
    it: bool,
    start: bool,
}

/// The one door that keyed writes go through.
#[derive(Clone)]
pub(crate) struct Writer(mpsc::Sender<Job>);

impl Writer {
    /// A writer, and the work that writes; the work ends when the writer is dropped.
    pub(crate) fn new(database: Arc<Database>) -> (Self, impl Future<Output = ()> + Send) {
        let (sender, jobs) = mpsc::channel(QUEUE);
        (Writer(sender), work(database, jobs))
    }

    /// Ends when the write is durable. Dropping the future does not take the write back.
    pub(crate) async fn write(&self, write: Write) -> Result<bool, StoreError> {
        let (reply, answer) = oneshot::channel();
        let closed = || StoreError::new(Message::public("The record store is closed"));
        self.0.send(Job { write, reply, start: None }).await.map_err(|_| closed())?;
        answer.await.map_err(|_| closed())?
    }
}

async fn work(database: Arc<Database>, mut jobs: mpsc::Receiver<Job>) {
    let mut batch = Vec::with_capacity(MOST_TOGETHER);
    let mut held: Option<Held> = None;
    loop {
        let next = jobs.recv_many(&mut batch, MOST_TOGETHER);
        let next = if held.is_some() { timeout(IDLE, next).await } else { Ok(next.await) };
        match next {
            Ok(0) => return,
            Err(_idle) => release(held.take()),
            Ok(_) => {
                gather(&mut jobs, &mut batch).await;
                join_starts(&mut batch);
                batch.sort_by(|a, b| a.write.order().cmp(&b.write.order()));
                held = write_batch(&database, held, &mut batch).await;
                release(held.take_if(|(_, since)| since.elapsed() >= LONGEST_HELD));
            }
        }
    }
}

fn release(held: Option<Held>) {
    if let Some((connection, _)) = held {
        connection.release();
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

/// A task that is started as soon as it is submitted is one write.
fn join_starts(batch: &mut Vec<Job>) {
    if !batch.iter().any(|job| matches!(job.write, Write::TaskStart { .. })) {
        return;
    }
    let mut started: HashMap<TaskId, (Reply, i64)> = HashMap::new();
    let submitted: HashSet<TaskId> = batch.iter().filter_map(Job::submits).cloned().collect();
    for job in batch
        .extract_if(.., |job| matches!(&job.write, Write::TaskStart { id, .. } if submitted.contains(id)))
    {
        if let Write::TaskStart { id, turn } = job.write {
            started.insert(id, (job.reply, turn));
        }
    }
    for job in batch {
        if let Write::TaskSubmit(row) = &mut job.write {
            job.start = started.remove(&row.id);
            row.start = job.start.as_ref().map(|(_, turn)| *turn);
        }
    }
}

/// Gives the connection back when it is good for more; one that failed is closed.
async fn write_batch(database: &Database, held: Option<Held>, batch: &mut Vec<Job>) -> Option<Held> {
    let written = async {
        let (mut connection, since) = match held {
            Some(held) => held,
            None => (database.writer().await.map_err(Failed::before)?, Instant::now()),
        };
        let written = database.answered(commit(database, &mut connection, batch)).await;
        let written = written.map_err(|error| Failed::during(database, error))?;
        Ok::<_, Failed>((written, (connection, since)))
    };
    match written.await {
        Ok((written, held)) => {
            answer(database, batch.drain(..).zip(written));
            return Some(held);
        }
        Err(failed) if batch.len() == 1 => {
            undo(database, &failed.error).await;
            refuse(batch.drain(..), &failed.told());
        }
        Err(Failed { error, durable }) => {
            tracing::debug!(%error, "a batch of records failed");
            one_by_one(database, batch.drain(..), durable).await;
        }
    }
    None
}

/// A transaction that failed.
struct Failed {
    error: sqlx::Error,
    durable: Durable,
}

impl Failed {
    /// Nothing was sent.
    fn before(error: sqlx::Error) -> Self {
        Failed { error, durable: Durable::No }
    }

    /// A server that reports an error has rolled back, unless it reports that it ends (class 57), which it may do
    /// between a commit and its answer. A connection that broke or went silent says nothing.
    fn during(database: &Database, error: sqlx::Error) -> Self {
        let unknown = match &error {
            sqlx::Error::Database(reported) => reported.code().is_some_and(|code| code.starts_with("57")),
            _ => true,
        };
        let durable = if database.engine.remote && unknown { Durable::Unknown } else { Durable::No };
        Failed { error, durable }
    }

    fn told(self) -> StoreError {
        StoreError { durable: self.durable, ..failed(self.error) }
    }
}

/// One bad write must not fail those that happened to come with it. When the database is at fault, all fail at
/// the first. `before` tells what became of them when they were written together.
async fn one_by_one(database: &Database, mut batch: impl Iterator<Item = Job>, before: Durable) {
    while let Some(job) = batch.next() {
        let written = async {
            let mut connection = database.writer().await.map_err(Failed::before)?;
            let written = commit(database, &mut connection, std::slice::from_ref(&job));
            let written = database.answered(written).await;
            let written = written.map_err(|error| Failed::during(database, error))?;
            connection.release();
            Ok::<_, Failed>(written)
        };
        match written.await {
            Ok(written) => answer(database, std::iter::once(job).zip(written)),
            Err(mut failed) => {
                let all = database.engine.concerns_all(&failed.error);
                undo(database, &failed.error).await;
                if before == Durable::Unknown {
                    failed.durable = before;
                }
                let error = failed.told();
                refuse(std::iter::once(job), &error);
                if all {
                    return refuse(batch, &StoreError { durable: before, ..error });
                }
            }
        }
    }
}

/// Makes sure that what is refused is not kept. When SQLite wrote a commit to its log and could not sync it,
/// the log holds it still, and a crash now would bring it back. The next write takes its place in the log: it
/// is made here, of something that may come back, before anybody is told.
async fn undo(database: &Database, error: &sqlx::Error) {
    if !database.engine.remote && matches!(error, sqlx::Error::Database(_)) {
        beat(database).await.ok();
    }
}

fn answer(database: &Database, written: impl Iterator<Item = (Job, Written)>) {
    for (job, written) in written {
        if let Some(notifier) = job.write.notifier().filter(|_| written.it) {
            database.notifiers.notify(&notifier);
        }
        // Whoever asked may have left.
        job.reply.send(Ok(written.it)).ok();
        if let Some((reply, _)) = job.start {
            reply.send(Ok(written.start)).ok();
        }
    }
}

fn refuse(jobs: impl Iterator<Item = Job>, error: &StoreError) {
    for job in jobs {
        job.reply.send(Err(error.clone())).ok();
        if let Some((reply, _)) = job.start {
            reply.send(Err(error.clone())).ok();
        }
    }
}

/// Ends well only when all of it is committed, and found again by whoever opens the database.
async fn commit(
    database: &Database,
    connection: &mut WriteConnection,
    batch: &[Job],
) -> Result<Vec<Written>, sqlx::Error> {
    let mut notifiers: Vec<String> = match database.engine.announce {
        Some(_) => batch.iter().filter_map(|job| job.write.notifier()).collect(),
        None => Vec::new(),
    };
    if let [job] = batch
        && job.write.is_one_statement()
        && notifiers.is_empty()
    {
        connection.expect_autocommit()?;
        let written = apply_all(database, connection, batch).await?;
        database.file_is_ours()?;
        return Ok(written);
    }
    let mut transaction = connection.begin().await?;
    let written = apply_all(database, &mut transaction, batch).await?;
    notifiers.dedup();
    database.announce(&mut transaction, &notifiers).await?;
    transaction.commit().await?;
    database.file_is_ours()?;
    Ok(written)
}

/// Runs of calls that begin or end are written together, all else alone.
async fn apply_all(
    database: &Database,
    connection: &mut AnyConnection,
    batch: &[Job],
) -> Result<Vec<Written>, sqlx::Error> {
    let mut written = Vec::with_capacity(batch.len());
    for run in batch.chunk_by(|a, b| std::mem::discriminant(&a.write) == std::mem::discriminant(&b.write)) {
        let writes: Vec<&Write> = run.iter().map(|job| &job.write).collect();
        let batch_sql = match writes[0] {
            Write::CallBegin { .. } => begin_calls(database, connection, &writes).await?,
            Write::CallFinish { .. } => finish_calls(database, connection, &writes).await?,
            _ => {
                for job in run {
                    written.push(job.apply(database, connection).await?);
                }
                continue;
            }
        };
        written.extend(batch_sql.into_iter().map(|it| Written { it, start: false }));
    }
    Ok(written)
}

impl Job {
    fn submits(&self) -> Option<&TaskId> {
        match &self.write {
            Write::TaskSubmit(row) => Some(&row.id),
            _ => None,
        }
    }

    async fn apply(
        &self,
        database: &Database,
        connection: &mut AnyConnection,
    ) -> Result<Written, sqlx::Error> {
        let it = self.write.apply(database, connection).await?;
        let start = match (&self.start, self.submits()) {
            // It may have been submitted by a write whose answer was lost.
            (Some((_, turn)), Some(id)) if !it => {
                Write::TaskStart { id: id.clone(), turn: *turn }.apply(database, connection).await?
            }
            _ => it,
        };
        Ok(Written { it, start })
    }
}
