//! Removes what is older or more than allowed, of each caller its oldest, and gives the room back.

use sqlx::Row;
use toolmux_core::ports::store::{Pruned, Quota, Retention};

use crate::background::surplus::{CALLS, Changes, RecordKind, TASKS, change};
use crate::background::write_counter::Amount;
use crate::connections::database::{Database, span};
use crate::sql::sql;

/// How many calls one statement removes, so that nobody waits long for it.
const PRUNED_TOGETHER: i64 = 5_000;
/// How many bytes of results of calls, and as many of tasks, are kept when configuration does not say.
const RESULT_BYTES: u64 = 4 << 30;

/// How much of one kind of record is kept.
#[derive(Clone, Copy)]
struct Room {
    count: Quota,
    bytes: Quota,
}

/// Removes all that is to be removed.
pub(crate) async fn prune(database: &Database, retention: &Retention) -> Result<Pruned, sqlx::Error> {
    let mut gone = prune_old(database, retention).await?;
    let (calls, tasks) = (Room::of_calls(retention), Room::of_tasks(retention));
    gone.calls += fit(database, &CALLS, calls, calls).await?;
    gone.tasks += fit(database, &TASKS, tasks, tasks).await?;
    vacuum(database, gone).await?;
    Ok(gone)
}

/// The same for a store that is in use: what callers hold is counted only when enough was written since that one of
/// them may hold too much.
pub(crate) async fn prune_due(database: &Database, retention: &Retention) -> Result<(), sqlx::Error> {
    let mut gone = prune_old(database, retention).await?;
    let (calls, tasks) = (Room::of_calls(retention), Room::of_tasks(retention));
    if database.calls_written.is_count_due() {
        gone.calls += fit(database, &CALLS, calls, calls.with_room()).await?;
    }
    if database.tasks_written.is_count_due() {
        gone.tasks += fit(database, &TASKS, tasks, tasks.with_room()).await?;
    }
    vacuum(database, gone).await
}

impl Room {
    fn of_calls(retention: &Retention) -> Self {
        Room::new(retention, retention.calls, retention.calls_bytes)
    }

    fn of_tasks(retention: &Retention) -> Self {
        Room::new(retention, retention.tasks, retention.tasks_bytes)
    }

    fn new(retention: &Retention, count: u64, bytes: Option<u64>) -> Self {
        Room { count: retention.quota(count), bytes: retention.quota(bytes.unwrap_or(RESULT_BYTES)) }
    }

    fn with_room(self) -> Self {
        Room { count: self.count.with_room(), bytes: self.bytes.with_room() }
    }
}

async fn vacuum(database: &Database, gone: Pruned) -> Result<(), sqlx::Error> {
    if let Some(vacuum) = database.engine.vacuum.filter(|_| gone != Pruned::default()) {
        database.fetch(sqlx::query(vacuum)).await?;
    }
    Ok(())
}

/// What is past its time, and audit records that are too many.
async fn prune_old(database: &Database, retention: &Retention) -> Result<Pruned, sqlx::Error> {
    let now = database.now();
    let calls = old_calls(database, now - span(retention.calls_for)).await?;
    let tasks = old_tasks(database, now - span(retention.tasks_for)).await?;
    let sealed = database.execute(sqlx::query(sql!("sealed_prune")).bind(now)).await?;
    let old = sqlx::query(sql!("audit_prune")).bind(now - span(retention.audit_for));
    let mut audit = database.execute(old).await?;
    for (refused, most) in [(1, retention.refusals), (0, retention.audit)] {
        audit += surplus_audit(database, refused, retention.quota(most)).await?;
    }
    let unconfirmed = now - span(retention.definitions_for);
    database.execute(sqlx::query(sql!("definitions_prune")).bind(unconfirmed)).await?;
    Ok(Pruned { calls, tasks, sealed, audit })
}

async fn old_calls(database: &Database, cutoff: i64) -> Result<u64, sqlx::Error> {
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

async fn old_tasks(database: &Database, cutoff: i64) -> Result<u64, sqlx::Error> {
    let now = database.now();
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

/// Records of refused calls, which any caller can cause in any number, are counted by themselves.
async fn surplus_audit(database: &Database, refused: i64, quota: Quota) -> Result<u64, sqlx::Error> {
    let mut held = Vec::new();
    for row in database.list(sqlx::query(sql!("audit_usage")).bind(refused)).await? {
        held.push(row.try_get::<i64, _>("records")?.unsigned_abs());
    }
    let level = quota.level(held.iter().copied());
    if held.iter().all(|held| *held <= level) && held.iter().sum::<u64>() <= quota.total {
        return Ok(0);
    }
    let over = sqlx::query(sql!("audit_prune_over")).bind(refused).bind(number(level));
    database.execute(over.bind(number(quota.total))).await
}

fn number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Removes the oldest records of callers who hold too many, and the results of those who hold too many bytes. The
/// number of records removed. Once anybody has more than `most`, all are brought to `target`.
async fn fit(
    database: &Database,
    records: &RecordKind,
    most: Room,
    target: Room,
) -> Result<u64, sqlx::Error> {
    let counter = (records.written)(database);
    // Read before the count: what is written while the database counts must not be taken for counted.
    let written = counter.written();
    let mut usage = usage(database, records).await?;
    let mut gone = 0;
    if usage.exceeds(most) {
        let count = target.count.level(usage.0.iter().map(|held| held.records));
        gone = all(database, records.surplus, records.remove, &[count, target.count.total]).await?;
        let bytes = target.bytes.level(usage.0.iter().map(|held| held.bytes));
        all(database, records.results_over, records.drop_results, &[bytes]).await?;
        for held in &mut usage.0 {
            *held = Amount { records: held.records.min(count), bytes: held.bytes.min(bytes) };
        }
    }
    counter.counted(written, usage.left(most));
    Ok(gone)
}

/// Finds rows and does something to them, until there are no more.
async fn all(
    database: &Database,
    find: &'static str,
    changes: Changes,
    levels: &[u64],
) -> Result<u64, sqlx::Error> {
    let most = PRUNED_TOGETHER.unsigned_abs();
    let mut changed = 0;
    loop {
        let find = levels.iter().fold(sqlx::query(find), |find, level| find.bind(number(*level)));
        let rows = database.list(find.bind(PRUNED_TOGETHER)).await?;
        let now = change(database, &rows, changes).await?;
        changed += now;
        // Rows that somebody else changed meanwhile are not counted, and must not be looked for for ever.
        if (rows.len() as u64) < most || now == 0 {
            return Ok(changed);
        }
    }
}

/// What each caller holds.
struct Usage(Vec<Amount>);

async fn usage(database: &Database, records: &RecordKind) -> Result<Usage, sqlx::Error> {
    let mut usage = Vec::new();
    for row in database.list(sqlx::query(records.usage)).await? {
        let number = |column| row.try_get::<i64, _>(column).map(i64::unsigned_abs);
        usage.push(Amount { records: number("records")?, bytes: number("bytes")? });
    }
    Ok(Usage(usage))
}

impl Usage {
    fn sum(&self) -> Amount {
        self.0.iter().fold(Amount::default(), |sum, held| Amount {
            records: sum.records + held.records,
            bytes: sum.bytes + held.bytes,
        })
    }

    fn largest(&self) -> Amount {
        self.0.iter().fold(Amount::default(), |largest, held| Amount {
            records: largest.records.max(held.records),
            bytes: largest.bytes.max(held.bytes),
        })
    }

    fn exceeds(&self, Room { count, bytes }: Room) -> bool {
        let (sum, largest) = (self.sum(), self.largest());
        sum.records > count.total
            || sum.bytes > bytes.total
            || largest.records > count.share
            || largest.bytes > bytes.share
    }

    /// How much can be written before anybody can hold too much.
    fn left(&self, Room { count, bytes }: Room) -> Amount {
        let (sum, largest) = (self.sum(), self.largest());
        let left = |quota: Quota, sum, largest| {
            quota.total.saturating_sub(sum).min(quota.share.saturating_sub(largest))
        };
        Amount {
            records: left(count, sum.records, largest.records),
            bytes: left(bytes, sum.bytes, largest.bytes),
        }
    }
}
