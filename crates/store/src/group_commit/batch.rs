//! One transaction for many writes, and what becomes of each of them when it fails.

use std::time::{Duration, Instant};

use sqlx::AnyConnection;
use toolmux_core::ports::store::{Durable, StoreError};

use crate::background::maintenance::beat;
use crate::connections::announcements::Announcements;
use crate::connections::connection::WriteConnection;
use crate::connections::database::{Database, failed};
use crate::group_commit::batch_sql::{begin_calls, finish_calls, is_one_statement};
use crate::group_commit::job::{Applied, Job};
use crate::group_commit::write::Write;

/// A connection that is kept for the next batch, and since when.
pub(crate) struct HeldConnection {
    connection: WriteConnection,
    since: Instant,
}

impl HeldConnection {
    pub(crate) async fn acquire(database: &Database) -> Result<Self, sqlx::Error> {
        Ok(HeldConnection { connection: database.writer().await?, since: Instant::now() })
    }

    pub(crate) fn age(&self) -> Duration {
        self.since.elapsed()
    }

    pub(crate) fn release(self) {
        self.connection.release();
    }
}

/// Writes a batch and answers everybody in it. Gives the connection back when it is good for more; one that failed is
/// closed. Dropping the future closes the connection: whether the transaction was committed is unknown then, and everybody
/// in the batch is told so.
pub(crate) async fn write_batch(
    database: &Database,
    held: Option<HeldConnection>,
    batch: &mut Vec<Job>,
) -> Option<HeldConnection> {
    match try_write(database, held, batch).await {
        Ok((applied, held)) => {
            // Nobody is answered or notified before the commit: a waiter that reads the store at once finds the row.
            for (job, applied) in batch.drain(..).zip(applied) {
                job.answer(database, applied);
            }
            return Some(held);
        }
        Err(failure) if batch.len() == 1 => {
            undo(database, &failure.error).await;
            let error = failure.into_error();
            batch.drain(..).for_each(|job| job.refuse(&error));
        }
        Err(WriteFailure { error, durable }) => {
            tracing::debug!(%error, "a batch of records failed");
            one_by_one(database, batch.drain(..), durable).await;
        }
    }
    None
}

async fn try_write(
    database: &Database,
    held: Option<HeldConnection>,
    batch: &[Job],
) -> Result<(Vec<Applied>, HeldConnection), WriteFailure> {
    let mut held = match held {
        Some(held) => held,
        None => HeldConnection::acquire(database).await.map_err(WriteFailure::before)?,
    };
    let applied = database.answered(commit(database, &mut held.connection, batch)).await;
    let applied = applied.map_err(|error| WriteFailure::during(database, error))?;
    Ok((applied, held))
}

/// A transaction that failed.
struct WriteFailure {
    error: sqlx::Error,
    durable: Durable,
}

impl WriteFailure {
    /// Nothing was sent.
    fn before(error: sqlx::Error) -> Self {
        WriteFailure { error, durable: Durable::No }
    }

    /// A server that reports an error has rolled back, unless it reports that it ends (class 57), which it may do
    /// between a commit and its answer. A connection that broke or went silent says nothing.
    fn during(database: &Database, error: sqlx::Error) -> Self {
        let unknown = match &error {
            sqlx::Error::Database(reported) => reported.code().is_some_and(|code| code.starts_with("57")),
            _ => true,
        };
        let durable = if database.engine.remote && unknown { Durable::Unknown } else { Durable::No };
        WriteFailure { error, durable }
    }

    fn into_error(self) -> StoreError {
        StoreError { durable: self.durable, ..failed(self.error) }
    }
}

/// One bad write must not fail those that happened to come with it, so that each is tried by itself. When the database is
/// at fault, all fail at the first. `before` is what became of them when they were written together: if that may be
/// committed, a write that now fails may be durable all the same. For one that
/// changes nothing because it is there already, the store looks who wrote it: claims have numbers.
async fn one_by_one(database: &Database, mut batch: impl Iterator<Item = Job>, before: Durable) {
    while let Some(job) = batch.next() {
        match try_write(database, None, std::slice::from_ref(&job)).await {
            Ok((applied, held)) => {
                held.release();
                for (job, applied) in std::iter::once(job).zip(applied) {
                    job.answer(database, applied);
                }
            }
            Err(mut failure) => {
                let all = database.engine.concerns_all(&failure.error);
                undo(database, &failure.error).await;
                if before == Durable::Unknown {
                    failure.durable = before;
                }
                let error = failure.into_error();
                job.refuse(&error);
                if all {
                    let error = StoreError { durable: before, ..error };
                    return batch.for_each(|job| job.refuse(&error));
                }
            }
        }
    }
}

/// Makes sure that what is refused is not kept. When SQLite wrote a commit to its log and could not sync it,
/// the log holds it still, and a crash now would bring it back. The next write takes its place in the log: it
/// is made here, of something that may come back, before anybody is answered.
async fn undo(database: &Database, error: &sqlx::Error) {
    if !database.engine.remote && matches!(error, sqlx::Error::Database(_)) {
        beat(database).await.ok();
    }
}

/// Ends well only when all of it is committed, and found again by whoever opens the database.
async fn commit(
    database: &Database,
    connection: &mut WriteConnection,
    batch: &[Job],
) -> Result<Vec<Applied>, sqlx::Error> {
    let mut announcements = Announcements::default();
    // A statement by itself is its own transaction, which saves two round trips.
    let is_one = match batch {
        [job] => job.write.is_one_statement(),
        several => is_one_statement(database, several),
    };
    if is_one {
        connection.expect_autocommit()?;
        let applied = apply_all(database, connection, batch, &mut announcements).await?;
        // It is committed already. When this fails, the write is taken for one whose answer was lost, and made again.
        database.announce(connection, announcements).await?;
        database.file_is_ours()?;
        return Ok(applied);
    }
    let mut transaction = connection.begin().await?;
    let applied = apply_all(database, &mut transaction, batch, &mut announcements).await?;
    // Inside the transaction: the database delivers it with the commit, and not at all when that fails.
    database.announce(&mut transaction, announcements).await?;
    transaction.commit().await?;
    // After the commit: a file that was removed before it has the commit, but nobody will find it there.
    database.file_is_ours()?;
    Ok(applied)
}

/// Calls that begin or end one after the other are written together, all else alone; the answers are in the order of the
/// batch. What other servers are to be told is added to `announcements`.
async fn apply_all(
    database: &Database,
    connection: &mut AnyConnection,
    batch: &[Job],
    announcements: &mut Announcements,
) -> Result<Vec<Applied>, sqlx::Error> {
    let mut applied = Vec::with_capacity(batch.len());
    let mut rest = batch;
    while let Some(job) = rest.first() {
        let run = match &job.write {
            Write::CallBegin(_) => {
                let run: Vec<_> = rest.iter().map_while(|job| job.write.as_begin()).collect();
                begin_calls(database, connection, &run).await?
            }
            Write::CallFinish(_) => {
                let run: Vec<_> = rest.iter().map_while(|job| job.write.as_finish()).collect();
                finish_calls(database, connection, &run, announcements).await?
            }
            Write::Single(single) => {
                applied.push(job.apply(single, database, connection, announcements).await?);
                rest = &rest[1..];
                continue;
            }
        };
        rest = &rest[run.len()..];
        applied.extend(run.into_iter().map(|write| Applied { write, start: false }));
    }
    Ok(applied)
}
