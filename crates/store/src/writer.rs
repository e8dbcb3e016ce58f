//! Group commit: one task takes whatever waits, writes it in one transaction, and answers all at once.
//! While a commit waits for the disk, the next batch gathers.

use std::collections::HashSet;
use std::sync::{Arc, LazyLock};

use sqlx::query::Query;
use sqlx::{Any, AnyConnection, Row};
use tokio::sync::{mpsc, oneshot};
use toolmux_core::message::Message;
use toolmux_core::store::StoreError;

use crate::database::{Database, failed};
use crate::sql::{SIZES, repeated, sql};
use crate::write::Write;

/// How many writes wait before callers do.
const QUEUE: usize = 4_096;
/// How many are written in one transaction.
const MOST_TOGETHER: usize = 512;

pub(crate) static CALL_BEGIN: LazyLock<[String; 3]> = LazyLock::new(|| repeated(sql!("call_begin")));
static CALL_FINISH: LazyLock<[String; 3]> = LazyLock::new(|| repeated(sql!("call_finish")));

struct Job {
    write: Write,
    reply: oneshot::Sender<Result<bool, StoreError>>,
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
        let closed = || StoreError(Message::public("The record store is closed"));
        self.0.send(Job { write, reply }).await.map_err(|_| closed())?;
        answer.await.map_err(|_| closed())?
    }
}

async fn work(database: Arc<Database>, mut jobs: mpsc::Receiver<Job>) {
    let mut batch = Vec::with_capacity(MOST_TOGETHER);
    while jobs.recv_many(&mut batch, MOST_TOGETHER).await > 0 {
        batch.sort_by(|a, b| a.write.order().cmp(&b.write.order()));
        match commit(&database, &batch).await {
            Ok(written) => answer(&database, batch.drain(..).zip(written)),
            Err(error) if batch.len() == 1 => refuse(batch.drain(..), &failed(error)),
            Err(error) => {
                tracing::debug!(%error, "a batch of records failed");
                one_by_one(&database, batch.drain(..)).await;
            }
        }
    }
}

/// One bad write must not fail those that happened to come with it. When the database is away, all fail
/// at the first.
async fn one_by_one(database: &Database, mut batch: impl Iterator<Item = Job>) {
    while let Some(job) = batch.next() {
        match commit(database, std::slice::from_ref(&job)).await {
            Ok(written) => answer(database, std::iter::once(job).zip(written)),
            Err(error) => {
                let gone = !matches!(error, sqlx::Error::Database(_));
                let error = failed(error);
                refuse(std::iter::once(job), &error);
                if gone {
                    return refuse(batch, &error);
                }
            }
        }
    }
}

fn answer(database: &Database, written: impl Iterator<Item = (Job, bool)>) {
    for (job, written) in written {
        if let Some(bell) = job.write.bell().filter(|_| written) {
            database.bells.ring(&bell);
        }
        // Whoever asked may have left.
        job.reply.send(Ok(written)).ok();
    }
}

fn refuse(jobs: impl Iterator<Item = Job>, error: &StoreError) {
    for job in jobs {
        job.reply.send(Err(error.clone())).ok();
    }
}

async fn commit(database: &Database, batch: &[Job]) -> Result<Vec<bool>, sqlx::Error> {
    let mut transaction = database.write.begin().await?;
    let mut written = begin_calls(database, &mut transaction, batch).await?;
    let begun = written.len();
    let rest = &batch[begun..];
    let finished = |job: &Job| matches!(job.write, Write::CallFinish { .. });
    let before = rest.iter().position(finished).unwrap_or(rest.len());
    let after = before + rest[before..].iter().take_while(|job| finished(job)).count();
    for job in &rest[..before] {
        written.push(job.write.apply(database, &mut transaction).await?);
    }
    written.extend(finish_calls(database, &mut transaction, &rest[before..after]).await?);
    for job in &rest[after..] {
        written.push(job.write.apply(database, &mut transaction).await?);
    }
    if database.engine.announce.is_some() {
        let mut bells: Vec<String> = batch.iter().filter_map(|job| job.write.bell()).collect();
        bells.dedup();
        database.announce(&mut transaction, &bells).await?;
    }
    transaction.commit().await?;
    Ok(written)
}

/// Which of the calls that stand at the front of the batch are ours now.
async fn begin_calls(
    database: &Database,
    connection: &mut AnyConnection,
    batch: &[Job],
) -> Result<Vec<bool>, sqlx::Error> {
    let count = batch.iter().take_while(|job| matches!(job.write, Write::CallBegin { .. })).count();
    let (now, mut ours) = (database.now(), HashSet::new());
    for (statement, rows) in pieces(&CALL_BEGIN, &batch[..count]) {
        let mut query = sqlx::query(statement);
        for job in rows {
            if let Write::CallBegin { id, caller, digest, turn } = &job.write {
                query = query.bind(id.to_vec()).bind(caller.as_str()).bind(digest.clone());
                query = query.bind(database.holder.as_str()).bind(*turn).bind(now);
            }
        }
        for row in query.fetch_all(&mut *connection).await? {
            ours.insert(row.try_get::<i64, _>(0)?);
        }
    }
    let is_ours = |job: &Job| matches!(&job.write, Write::CallBegin { turn, .. } if ours.contains(turn));
    Ok(batch[..count].iter().map(is_ours).collect())
}

/// Which of these calls were still ours to finish.
async fn finish_calls(
    database: &Database,
    connection: &mut AnyConnection,
    batch: &[Job],
) -> Result<Vec<bool>, sqlx::Error> {
    let (now, mut finished) = (database.now(), HashSet::new());
    for (statement, rows) in pieces(&CALL_FINISH, batch) {
        let mut query: Query<'_, Any, _> = sqlx::query(statement);
        for job in rows {
            if let Write::CallFinish { id, outcome } = &job.write {
                query = query.bind(id.to_vec()).bind(database.holder.as_str());
                query = query.bind(now).bind(outcome.as_str());
            }
        }
        for row in query.fetch_all(&mut *connection).await? {
            finished.insert(row.try_get::<Vec<u8>, _>(0)?);
        }
    }
    let is_finished =
        |job: &Job| matches!(&job.write, Write::CallFinish { id, .. } if finished.contains(id.as_slice()));
    Ok(batch.iter().map(is_finished).collect())
}

/// Cuts a batch into pieces for which there is a statement.
fn pieces<'a>(statements: &'static [String; 3], mut batch: &'a [Job]) -> Vec<(&'static str, &'a [Job])> {
    let mut pieces = Vec::new();
    for (size, statement) in SIZES.into_iter().zip(statements) {
        while batch.len() >= size {
            let (piece, rest) = batch.split_at(size);
            pieces.push((statement.as_str(), piece));
            batch = rest;
        }
    }
    pieces
}
