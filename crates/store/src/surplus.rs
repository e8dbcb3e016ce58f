//! What is too much of calls and of tasks: the statements that find and remove it, and when to count again.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use sqlx::Row;
use sqlx::any::AnyRow;

use crate::database::Database;
use crate::sql::{Repeated, SIZES, repeated, sql};

/// Other servers write too, which is not counted here: at least this often what callers hold is counted anyway.
const COUNT_AT_LEAST: Duration = Duration::from_mins(10);

/// Statements that are done to the same rows, one after the other.
pub(crate) type Changes = &'static [&'static LazyLock<Repeated>];

/// One kind of record.
pub(crate) struct Records {
    /// Caller, records, bytes.
    pub(crate) usage: &'static str,
    /// The records that are more than the level, of each caller its oldest.
    pub(crate) surplus: &'static str,
    pub(crate) remove: Changes,
    /// The records whose results are over the level of bytes.
    pub(crate) results_over: &'static str,
    pub(crate) drop_results: Changes,
    pub(crate) written: fn(&Database) -> &Written,
}

static CALL_PRUNE: LazyLock<Repeated> = LazyLock::new(|| repeated(sql!("call_prune")));
static CALL_DROP_RESULT: LazyLock<Repeated> = LazyLock::new(|| repeated(sql!("call_drop_result")));
static TASK_REMOVE_UPDATES: LazyLock<Repeated> = LazyLock::new(|| repeated(sql!("task_remove_updates")));
static TASK_REMOVE: LazyLock<Repeated> = LazyLock::new(|| repeated(sql!("task_remove")));
static TASK_DROP_RESULT: LazyLock<Repeated> = LazyLock::new(|| repeated(sql!("task_drop_result")));

pub(crate) static CALLS: Records = Records {
    usage: sql!("call_usage"),
    surplus: sql!("call_surplus"),
    remove: &[&CALL_PRUNE],
    results_over: sql!("call_results_over"),
    drop_results: &[&CALL_DROP_RESULT],
    written: |database| &database.calls_written,
};

pub(crate) static TASKS: Records = Records {
    usage: sql!("task_usage"),
    surplus: sql!("task_surplus"),
    remove: &[&TASK_REMOVE_UPDATES, &TASK_REMOVE],
    results_over: sql!("task_results_over"),
    drop_results: &[&TASK_REMOVE_UPDATES, &TASK_DROP_RESULT],
    written: |database| &database.tasks_written,
};

/// Does something to the rows whose ids were found, in one transaction; how many rows the last statement changed.
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
            let mut rest = rows;
            for (size, statement) in SIZES.into_iter().zip(statements.iter()) {
                while rest.len() >= size {
                    let (piece, later) = rest.split_at(size);
                    let mut query = sqlx::query(statement.as_str());
                    for row in piece {
                        query = match row.try_get::<Vec<u8>, _>(0) {
                            Ok(id) => query.bind(id),
                            Err(_) => query.bind(row.try_get::<String, _>(0)?),
                        };
                    }
                    changed += query.execute(&mut *transaction).await?.rows_affected();
                    rest = later;
                }
            }
        }
        transaction.commit().await?;
        Ok(changed)
    };
    let changed = database.answered(changed).await?;
    connection.release();
    Ok(changed)
}

/// How much was written here, and how much may be until what callers hold has to be counted again: counting reads
/// every record, so it is done once for many of them.
#[derive(Default)]
pub(crate) struct Written {
    records: AtomicU64,
    bytes: AtomicU64,
    next: Mutex<Option<NextCount>>,
}

struct NextCount {
    records: u64,
    bytes: u64,
    counted: Instant,
}

impl Written {
    /// A record of so many bytes was written, or so many bytes were added to one.
    pub(crate) fn add(&self, records: u64, bytes: usize) {
        self.records.fetch_add(records, Ordering::Relaxed);
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(crate) fn now(&self) -> (u64, u64) {
        (self.records.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed))
    }

    pub(crate) fn is_count_due(&self) -> bool {
        let (records, bytes) = self.now();
        let next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        next.as_ref().is_none_or(|next| {
            records > next.records || bytes > next.bytes || next.counted.elapsed() >= COUNT_AT_LEAST
        })
    }

    /// What callers held was counted after so much was written, and so much is left to write.
    pub(crate) fn counted(&self, written: (u64, u64), left: (u64, u64)) {
        let (records, bytes) = (written.0.saturating_add(left.0), written.1.saturating_add(left.1));
        let next = NextCount { records, bytes, counted: Instant::now() };
        *self.next.lock().unwrap_or_else(PoisonError::into_inner) = Some(next);
    }
}
