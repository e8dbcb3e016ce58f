//! Writes that come in hundreds, many rows in one statement.

use std::sync::LazyLock;

use sqlx::AnyConnection;

use crate::database::Database;
use crate::sql::{Repeated, SIZES, repeated, sql};
use crate::write::Write;

pub(crate) static CALL_BEGIN: LazyLock<Repeated> = LazyLock::new(|| repeated(sql!("call_begin")));
static CALL_FINISH: LazyLock<Repeated> = LazyLock::new(|| repeated(sql!("call_finish")));

/// Which of these calls are ours now. Others are left out.
pub(crate) async fn begin_calls(
    database: &Database,
    connection: &mut AnyConnection,
    batch: &[&Write],
) -> Result<Vec<bool>, sqlx::Error> {
    let (now, mut ours) = (database.now(), Vec::with_capacity(batch.len()));
    for (statement, rows) in pieces(&CALL_BEGIN, batch) {
        let mut query = sqlx::query(statement).bind(database.holder.as_str()).bind(now);
        for write in rows {
            if let Write::CallBegin { id, caller, digest, turn } = write {
                query = query.bind(id.to_vec()).bind(caller.as_str()).bind(digest.clone()).bind(*turn);
            }
        }
        let begun = query.execute(&mut *connection).await?.rows_affected();
        for write in rows {
            ours.push(match begun {
                0 => false,
                all if all == rows.len() as u64 => true,
                _ => is_begun(database, connection, write).await?,
            });
        }
    }
    Ok(ours)
}

async fn is_begun(
    database: &Database,
    connection: &mut AnyConnection,
    write: &Write,
) -> Result<bool, sqlx::Error> {
    let Write::CallBegin { id, turn, .. } = write else { return Ok(false) };
    let find = sqlx::query(sql!("call_begun")).bind(id.to_vec()).bind(database.holder.as_str());
    Ok(find.bind(*turn).fetch_optional(connection).await?.is_some())
}

/// Which of these calls were still ours to finish.
pub(crate) async fn finish_calls(
    database: &Database,
    connection: &mut AnyConnection,
    batch: &[&Write],
) -> Result<Vec<bool>, sqlx::Error> {
    let mut finished = Vec::with_capacity(batch.len());
    for (statement, rows) in pieces(&CALL_FINISH, batch) {
        let all = finish(database, connection, (statement, rows)).await?;
        if all == rows.len() as u64 {
            finished.extend(rows.iter().map(|_| true));
            continue;
        }
        // Finishing again is true again, and false for those that are not ours any more.
        let one = CALL_FINISH[SIZES.len() - 1].as_str();
        for row in rows.chunks(1) {
            finished.push(rows.len() > 1 && finish(database, connection, (one, row)).await? > 0);
        }
    }
    Ok(finished)
}

async fn finish(
    database: &Database,
    connection: &mut AnyConnection,
    (statement, rows): (&'static str, &[&Write]),
) -> Result<u64, sqlx::Error> {
    let mut query = sqlx::query(statement).bind(database.holder.as_str()).bind(database.now());
    for write in rows {
        if let Write::CallFinish { id, outcome } = write {
            query = query.bind(id.to_vec()).bind(outcome.as_str());
        }
    }
    Ok(query.execute(connection).await?.rows_affected())
}

/// Cuts a batch into pieces for which there is a statement.
fn pieces<'a, 'b>(
    statements: &'static Repeated,
    mut batch: &'a [&'b Write],
) -> Vec<(&'static str, &'a [&'b Write])> {
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
