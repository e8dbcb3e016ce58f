//! Writes that come in hundreds, many rows in one statement. The number of rows that a statement wrote says whether all
//! were; only when some were not, each is looked at.

use std::sync::LazyLock;

use sqlx::any::AnyRow;
use sqlx::{AnyConnection, Row};

use crate::connections::announcements::Announcements;
use crate::connections::database::Database;
use crate::group_commit::job::Job;
use crate::group_commit::write::{CallBegin, CallFinish, RecordId, call_notifier};
use crate::sql::{Filled, MOST_ROWS, Repeated, sql};

pub(crate) static CALL_BEGIN: LazyLock<Repeated> = LazyLock::new(|| Repeated::new(sql!("call_begin")));
static CALL_FINISH: LazyLock<Repeated> = LazyLock::new(|| Repeated::new(sql!("call_finish")));
/// The same where others are told of it, if they wait.
static CALL_FINISH_WAITERS: LazyLock<Repeated> = LazyLock::new(|| {
    Repeated::new(&format!("{}\nRETURNING calls.id AS id, calls.waiter AS waiter", sql!("call_finish")))
});

/// Which of these calls are ours now. Others are left out.
pub(crate) async fn begin_calls(
    database: &Database,
    connection: &mut AnyConnection,
    batch: &[&CallBegin],
) -> Result<Vec<bool>, sqlx::Error> {
    let (now, mut ours) = (database.now(), Vec::with_capacity(batch.len()));
    for piece in pieces(database, &CALL_BEGIN, batch) {
        let mut query = sqlx::query(piece.statement).bind(database.holder.as_str()).bind(now);
        for CallBegin { id, caller, digest, claim } in piece.all() {
            query = query.bind(id.to_vec()).bind(caller.as_str()).bind(digest.to_vec()).bind(*claim);
        }
        let begun = query.execute(&mut *connection).await?.rows_affected();
        for row in piece.rows {
            ours.push(match begun {
                0 => false,
                all if all == piece.rows.len() as u64 => true,
                _ => is_begun(database, connection, row).await?,
            });
        }
    }
    Ok(ours)
}

/// Many rows in one statement, or in as few as there are round trips to be saved.
fn pieces<'a, T>(database: &Database, statements: &'static Repeated, rows: &'a [T]) -> Vec<Filled<'a, T>> {
    if database.engine.remote { statements.filled(rows) } else { statements.exact(rows) }
}

/// Whether a batch of only one kind is one statement.
pub(crate) fn is_one_statement(database: &Database, batch: &[Job]) -> bool {
    let begins = batch.iter().all(|job| job.write.as_begin().is_some());
    let finishes = batch.iter().all(|job| job.write.as_finish().is_some());
    database.engine.remote && (begins || finishes) && batch.len() <= MOST_ROWS
}

/// By its own number: the same id may stand twice in one batch, and only one of the two has it.
async fn is_begun(
    database: &Database,
    connection: &mut AnyConnection,
    CallBegin { id, claim, .. }: &CallBegin,
) -> Result<bool, sqlx::Error> {
    let find = sqlx::query(sql!("call_begun")).bind(id.to_vec()).bind(database.holder.as_str());
    Ok(find.bind(*claim).fetch_optional(connection).await?.is_some())
}

/// Which of these calls were still ours to finish. What other servers are to be told of them is added to `announcements`.
pub(crate) async fn finish_calls(
    database: &Database,
    connection: &mut AnyConnection,
    batch: &[&CallFinish],
    announcements: &mut Announcements,
) -> Result<Vec<bool>, sqlx::Error> {
    let statements = if database.engine.announce.is_some() { &CALL_FINISH_WAITERS } else { &CALL_FINISH };
    let mut finished = Vec::with_capacity(batch.len());
    for piece in pieces(database, statements, batch) {
        let all = finish(database, connection, &piece, announcements).await?;
        if all == piece.rows.len() as u64 {
            finished.extend(piece.rows.iter().map(|_| true));
            continue;
        }
        // Finishing again is true again, and false for those that are not ours any more.
        for row in piece.rows.chunks(1) {
            for one in statements.exact(row) {
                let again =
                    piece.rows.len() > 1 && finish(database, connection, &one, announcements).await? > 0;
                finished.push(again);
            }
        }
    }
    Ok(finished)
}

async fn finish(
    database: &Database,
    connection: &mut AnyConnection,
    piece: &Filled<'_, &CallFinish>,
    announcements: &mut Announcements,
) -> Result<u64, sqlx::Error> {
    let mut query = sqlx::query(piece.statement).bind(database.holder.as_str()).bind(database.now());
    for CallFinish { id, outcome } in piece.all() {
        query = query.bind(id.to_vec()).bind(outcome.as_str());
    }
    if database.engine.announce.is_none() {
        return Ok(query.execute(connection).await?.rows_affected());
    }
    let ended = query.fetch_all(connection).await?;
    note_waiters(database, &ended, announcements)?;
    Ok(ended.len() as u64)
}

/// Adds what is to be told of calls that have ended, for which other servers wait.
pub(crate) fn note_waiters(
    database: &Database,
    ended: &[AnyRow],
    announcements: &mut Announcements,
) -> Result<(), sqlx::Error> {
    for row in ended {
        let id: Vec<u8> = row.try_get("id")?;
        if let Ok(id) = <&RecordId>::try_from(id.as_slice()) {
            database.tell_waiter(row, call_notifier(id), announcements)?;
        }
    }
    Ok(())
}
