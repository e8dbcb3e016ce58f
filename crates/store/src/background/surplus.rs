//! What is too much of calls and of tasks: the statements that find and remove it.

use std::sync::LazyLock;

use sqlx::Row;
use sqlx::any::AnyRow;

use crate::background::write_counter::WriteCounter;
use crate::connections::connection::Statement;
use crate::connections::database::Database;
use crate::sql::{Repeated, sql};

/// Statements that are done to the same rows, one after the other.
pub(crate) type Changes = &'static [&'static LazyLock<Repeated>];

/// One kind of record.
pub(crate) struct RecordKind {
    /// Finds `records` and `bytes` of each caller.
    pub(crate) usage: &'static str,
    /// Finds the `id` of records that are more than the level, of each caller its oldest.
    pub(crate) surplus: &'static str,
    pub(crate) remove: Changes,
    /// Finds the `id` of records whose results are over the level of bytes.
    pub(crate) results_over: &'static str,
    pub(crate) drop_results: Changes,
    pub(crate) written: fn(&Database) -> &WriteCounter,
}

static CALL_PRUNE: LazyLock<Repeated> = LazyLock::new(|| Repeated::new(sql!("call_prune")));
static CALL_DROP_RESULT: LazyLock<Repeated> = LazyLock::new(|| Repeated::new(sql!("call_drop_result")));
static TASK_REMOVE_UPDATES: LazyLock<Repeated> = LazyLock::new(|| Repeated::new(sql!("task_remove_updates")));
static TASK_REMOVE: LazyLock<Repeated> = LazyLock::new(|| Repeated::new(sql!("task_remove")));
static TASK_DROP_RESULT: LazyLock<Repeated> = LazyLock::new(|| Repeated::new(sql!("task_drop_result")));

pub(crate) static CALLS: RecordKind = RecordKind {
    usage: sql!("call_usage"),
    surplus: sql!("call_surplus"),
    remove: &[&CALL_PRUNE],
    results_over: sql!("call_results_over"),
    drop_results: &[&CALL_DROP_RESULT],
    written: |database| &database.calls_written,
};

pub(crate) static TASKS: RecordKind = RecordKind {
    usage: sql!("task_usage"),
    surplus: sql!("task_surplus"),
    remove: &[&TASK_REMOVE_UPDATES, &TASK_REMOVE],
    results_over: sql!("task_results_over"),
    drop_results: &[&TASK_REMOVE_UPDATES, &TASK_DROP_RESULT],
    written: |database| &database.tasks_written,
};

/// Does something to the rows whose ids were found, in one transaction; how many rows the last statement changed. The
/// statements look again whether a row is still to be changed: it was found in another transaction.
pub(crate) async fn change(
    database: &Database,
    rows: &[AnyRow],
    changes: Changes,
) -> Result<u64, sqlx::Error> {
    if rows.is_empty() {
        return Ok(0);
    }
    let mut connection = database.writer().await?;
    let changed = async {
        let mut transaction = connection.begin().await?;
        let mut changed = 0;
        for statements in changes {
            changed = 0;
            for (statement, piece) in statements.pieces(rows) {
                let query = piece.iter().try_fold(sqlx::query(statement), bind_id)?;
                changed += query.execute(&mut *transaction).await?.rows_affected();
            }
        }
        transaction.commit().await?;
        Ok(changed)
    };
    let changed = database.answered(changed).await?;
    connection.release();
    Ok(changed)
}

/// Ids of calls are bytes, those of tasks are texts.
fn bind_id<'q>(query: Statement<'q>, row: &AnyRow) -> Result<Statement<'q>, sqlx::Error> {
    Ok(match row.try_get::<Vec<u8>, _>("id") {
        Ok(id) => query.bind(id),
        Err(_) => query.bind(row.try_get::<String, _>("id")?),
    })
}
