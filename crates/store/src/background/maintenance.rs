//! What goes on in the background: our heartbeat, the tasks of dead servers, and what has grown too old.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use sqlx::Row;
use tokio::time::sleep;
use toolmux_core::outcome::Outcome;
use toolmux_core::task::{TaskId, TaskStatus, credentials_gone, may_have_run, never_its_turn};

use crate::background::prune::prune_due;
use crate::connections::database::{Database, span};
use crate::group_commit::write::{WORK, task_notifier};
use crate::records::stored::write_outcome;
use crate::sql::sql;

/// How many heartbeats fit into a lease.
const BEATS: u32 = 4;

/// Beats as long as it is polled, and does what waits for the database to answer again. Each round begins with the heartbeat:
/// what follows may take a while, and begins with a fresh lease.
pub(crate) async fn maintain(database: Arc<Database>) {
    let mut away = false;
    loop {
        sleep(database.settings.lease / BEATS).await;
        let pools = database.pools.load_full();
        match beat(&database).await {
            Ok(()) => {
                database.outage.note_heartbeat();
                if std::mem::take(&mut away) {
                    // What happened meanwhile was not notified here: all who wait look again.
                    database.notifiers.notify_all();
                    // Our row may be a new one, which says nothing of us yet.
                    database.idle.store(false, Ordering::SeqCst);
                }
            }
            Err(error) => {
                away = true;
                // A connection that went silent while it was returned never comes back, and its place in the pool is
                // taken for good: when all are, only a new pool helps. One that somebody else has replaced is not `pools`.
                if database.engine.remote && matches!(error, sqlx::Error::PoolTimedOut) {
                    database.replace(&pools).ok();
                }
                // Another host may be the one to write to now.
                if let Err(error) = database.find_host().await {
                    tracing::debug!(%error, "no host of the record store can be used");
                }
                continue;
            }
        }
        let kept = database.take_back_calls().await.and(recover(&database).await);
        if let Err(error) = kept {
            tracing::debug!(%error, "maintenance of the record store failed");
        }
    }
}

/// Removes what is older or more than allowed, as long as it is polled. It is a task of its own because it may take longer
/// than a lease, and our heartbeat must not wait for it.
pub(crate) async fn keep_small(database: Arc<Database>) {
    loop {
        sleep(database.settings.prune_every.max(database.settings.lease / BEATS)).await;
        if let Err(error) = prune_due(&database, &database.settings.retention).await {
            tracing::debug!(%error, "old records were not removed");
        }
    }
}

/// Says that we are there, before we hold anything. When nobody else is, whoever held something is dead, and
/// there is no need to wait for the end of their leases. The lock is exclusive from the look to the removal, so that nobody
/// can enter in between and lose the lease it has just written.
pub(crate) async fn enter(database: &Database) -> Result<(), sqlx::Error> {
    let Some(presence) = (database.engine.presence)(database.hosts.url()) else { return Ok(()) };
    let entered = async {
        let presence = presence?;
        if presence.is_alone()? {
            database.execute(sqlx::query(sql!("holder_bury_all"))).await?;
        }
        presence.enter(database.settings.lease).await?;
        Ok::<_, sqlx::Error>(presence)
    };
    match entered.await {
        Ok(presence) => drop(database.presence.set(presence)),
        // Going on without the lock is not an option: whoever comes next would find nobody, and take us for dead.
        Err(sqlx::Error::Io(error)) if error.kind() == std::io::ErrorKind::ResourceBusy => {
            return Err(sqlx::Error::Io(error));
        }
        // On file systems without locks, leases alone tell who is alive.
        Err(sqlx::Error::Io(error)) => tracing::debug!(%error, "servers cannot see each other at the store"),
        Err(error) => return Err(error),
    }
    Ok(())
}

/// Renews our lease. It is counted as a heartbeat only after it was written: one that failed leaves a gap, during which nobody
/// is taken for dead (`heartbeat.rs`).
pub(crate) async fn beat(database: &Database) -> Result<(), sqlx::Error> {
    database.set_clock().await?;
    let until = database.now() + span(database.settings.lease);
    let beat = sqlx::query(sql!("holder_beat")).bind(database.holder.as_str()).bind(until);
    database.execute(beat).await?;
    let mut heartbeat = database.heartbeat.lock().unwrap_or_else(PoisonError::into_inner);
    heartbeat.beat(database.now(), span(database.settings.lease));
    Ok(())
}

/// What servers left that are gone: tasks that may run again do, the others end saying that they may
/// have run. Several servers may do this at once: a statement changes only what is still as the dead left it, so that each
/// task is changed by one of them.
pub(crate) async fn recover(database: &Database) -> Result<(), sqlx::Error> {
    let (now, dead_before) = (database.now(), database.dead_before());
    let mut notifiers = Vec::new();
    let rerun = sqlx::query(sql!("task_rerun_orphans")).bind(now).bind(dead_before);
    let rerun = database.fetch(rerun).await?;
    if !rerun.is_empty() {
        notifiers.push(WORK.to_owned());
    }
    for row in rerun {
        notifiers.push(notifier(&row)?);
    }
    for (status, outcome) in
        [(TaskStatus::Running, may_have_run()), (TaskStatus::Pending, credentials_gone())]
    {
        notifiers.extend(fail_orphans(database, status, &outcome).await?);
    }
    let late = sqlx::query(sql!("task_fail_late")).bind(now).bind(write_outcome(&never_its_turn()));
    let late = late.bind(now - span(database.settings.retention.pending_for));
    let late = database.fetch(late).await?;
    database.tasks_written.add(late.len() as u64, 0);
    for row in &late {
        notifiers.push(notifier(row)?);
    }
    database.execute(sqlx::query(sql!("holder_bury")).bind(dead_before)).await?;
    database.notify(&notifiers).await
}

async fn fail_orphans(
    database: &Database,
    status: TaskStatus,
    outcome: &Outcome,
) -> Result<Vec<String>, sqlx::Error> {
    let fail = sqlx::query(sql!("task_fail_orphans")).bind(database.now()).bind(write_outcome(outcome));
    let rows = database.fetch(fail.bind(status.as_str()).bind(database.dead_before())).await?;
    database.tasks_written.add(rows.len() as u64, 0);
    rows.iter().map(notifier).collect()
}

fn notifier(row: &sqlx::any::AnyRow) -> Result<String, sqlx::Error> {
    row.try_get::<String, _>("id").map(|id| task_notifier(&TaskId::new(&id)))
}
