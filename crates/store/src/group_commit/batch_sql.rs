//! Writes that come in hundreds, many rows in one statement. The number of rows that a statement wrote says whether all
//! were; only when some were not, each is looked at.

use std::sync::LazyLock;

use sqlx::AnyConnection;

use crate::connections::database::Database;
use crate::group_commit::write::{CallBegin, CallFinish};
use crate::sql::{Repeated, sql};

pub(crate) static CALL_BEGIN: LazyLock<Repeated> = LazyLock::new(|| Repeated::new(sql!("call_begin")));
static CALL_FINISH: LazyLock<Repeated> = LazyLock::new(|| Repeated::new(sql!("call_finish")));

/// Which of these calls are ours now. Others are left out.
pub(crate) async fn begin_calls(
    database: &Database,
    connection: &mut AnyConnection,
    batch: &[&CallBegin],
) -> Result<Vec<bool>, sqlx::Error> {
    let (now, mut ours) = (database.now(), Vec::with_capacity(batch.len()));
    for (statement, rows) in CALL_BEGIN.pieces(batch) {
        let mut query = sqlx::query(statement).bind(database.holder.as_str()).bind(now);
        for CallBegin { id, caller, digest, claim } in rows {
            query = query.bind(id.to_vec()).bind(caller.as_str()).bind(digest.to_vec()).bind(*claim);
        }
        let begun = query.execute(&mut *connection).await?.rows_affected();
        for row in rows {
            ours.push(match begun {
                0 => false,
                all if all == rows.len() as u64 => true,
                _ => is_begun(database, connection, row).await?,
            });
        }
    }
    Ok(ours)
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

/// Which of these calls were still ours to finish.
pub(crate) async fn finish_calls(
    database: &Database,
    connection: &mut AnyConnection,
    batch: &[&CallFinish],
) -> Result<Vec<bool>, sqlx::Error> {
    let mut finished = Vec::with_capacity(batch.len());
    for (statement, rows) in CALL_FINISH.pieces(batch) {
        let all = finish(database, connection, statement, rows).await?;
        if all == rows.len() as u64 {
            finished.extend(rows.iter().map(|_| true));
            continue;
        }
        // Finishing again is true again, and false for those that are not ours any more.
        for row in rows.chunks(1) {
            finished.push(rows.len() > 1 && finish(database, connection, CALL_FINISH.one(), row).await? > 0);
        }
    }
    Ok(finished)
}

async fn finish(
    database: &Database,
    connection: &mut AnyConnection,
    statement: &'static str,
    rows: &[&CallFinish],
) -> Result<u64, sqlx::Error> {
    let mut query = sqlx::query(statement).bind(database.holder.as_str()).bind(database.now());
    for CallFinish { id, outcome } in rows {
        query = query.bind(id.to_vec()).bind(outcome.as_str());
    }
    Ok(query.execute(connection).await?.rows_affected())
}
