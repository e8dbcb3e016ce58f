//! Removes what is older or more than allowed, and gives the room back.

use sqlx::Row;
use toolmux_core::store::{Pruned, Retention};

use crate::database::{Database, span};
use crate::sql::sql;

/// How many calls one statement removes, so that nobody waits long for it.
const PRUNED_TOGETHER: i64 = 5_000;

pub(crate) async fn prune(database: &Database, retention: &Retention) -> Result<Pruned, sqlx::Error> {
    let calls = calls(database, retention).await?;
    let tasks = tasks(database, retention).await?;
    let now = database.now();
    let sealed = database.execute(sqlx::query(sql!("sealed_prune")).bind(now)).await?;
    let newest = cutoff(database, sql!("audit_cutoff"), retention.audit).await?;
    let audit = sqlx::query(sql!("audit_prune")).bind(newest.max(now - span(retention.audit_for)));
    let audit = database.execute(audit).await?;
    let unconfirmed = now - span(retention.definitions_for);
    database.execute(sqlx::query(sql!("definitions_prune")).bind(unconfirmed)).await?;
    let gone = Pruned { calls, tasks, sealed, audit };
    if let Some(vacuum) = database.engine.vacuum.filter(|_| gone != Pruned::default()) {
        database.fetch(sqlx::query(vacuum)).await?;
    }
    Ok(gone)
}

async fn calls(database: &Database, retention: &Retention) -> Result<u64, sqlx::Error> {
    let newest = cutoff(database, sql!("call_cutoff"), retention.calls).await?;
    let cutoff = newest.max(database.now() - span(retention.calls_for));
    let mut calls = 0;
    loop {
        let old = sqlx::query(sql!("call_prune_old")).bind(cutoff).bind(PRUNED_TOGETHER);
        let gone = database.execute(old).await?;
        calls += gone;
        if gone < PRUNED_TOGETHER.unsigned_abs() {
            return Ok(calls);
        }
    }
}

async fn tasks(database: &Database, retention: &Retention) -> Result<u64, sqlx::Error> {
    let newest = cutoff(database, sql!("task_cutoff"), retention.tasks).await?;
    let now = database.now();
    let cutoff = newest.max(now - span(retention.tasks_for));
    let mut connection = database.writer().await?;
    let pruned = async {
        let mut transaction = connection.begin().await?;
        let updates = sqlx::query(sql!("task_prune_updates")).bind(now).bind(cutoff);
        updates.execute(&mut *transaction).await?;
        let tasks = sqlx::query(sql!("task_prune")).bind(now).bind(cutoff).execute(&mut *transaction).await?;
        transaction.commit().await?;
        Ok(tasks.rows_affected())
    };
    let pruned = database.answered(pruned).await?;
    connection.release();
    Ok(pruned)
}

/// The time before which records are more than `most`.
async fn cutoff(database: &Database, statement: &'static str, most: u64) -> Result<i64, sqlx::Error> {
    let find = sqlx::query(statement).bind(i64::try_from(most).unwrap_or(i64::MAX));
    let row = database.find(find).await?;
    let newest: Option<i64> = row.map(|row| row.try_get(0)).transpose()?;
    Ok(newest.map_or(i64::MIN, |newest| newest + 1))
}
