//! What is PostgreSQL's own.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use sqlx::postgres::PgListener;
use tokio::time::{sleep, timeout};
use toolmux_core::BoxFuture;

use crate::connections::announcements::{EVERYONE, channel};
use crate::connections::database::Database;
use crate::engines::engine::Engine;
use crate::group_commit::write::WORK;

/// The pause before we listen again after the connection was lost.
const LISTEN_AGAIN: Duration = Duration::from_millis(500);

pub(crate) const POSTGRES: Engine = Engine {
    name: "postgres",
    prepare: &[],
    // Its migrator holds an advisory lock.
    migrates_in: None,
    setup: &[],
    bytes_type: "BYTEA",
    layout: include_str!("../../migrations/8_layout.sql"),
    writers: 8,
    readers: 8,
    remote: true,
    idle_transaction: Some("idle_in_transaction_session_timeout"),
    skip_locked: "FOR UPDATE SKIP LOCKED",
    announce: Some("SELECT pg_notify($1, $2)::text"),
    clock: Some("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now"),
    read_only_setup: &["SET default_transaction_read_only = on"],
    // Its own autovacuum does this.
    vacuum: None,
    bytes: "SELECT pg_database_size(current_database()) AS bytes",
    fails_all,
    create: |_| {},
    file: |_| None,
    existing: str::to_owned,
    presence: |_| None,
    watch,
};

/// Resources are used up (a disk, memory, connections), the server is being stopped or failed, or it only reads.
fn fails_all(code: &str) -> bool {
    ["25006", "53", "57", "58", "XX"].iter().any(|class| code.starts_with(class))
}

/// Notifies those whom other servers name. Whenever the connection was away, all of them.
fn watch(database: Arc<Database>) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        loop {
            if let Err(error) = listen(&database).await {
                tracing::debug!(%error, "notifications of the store were lost");
            }
            // This connection is always open, so it is the first to see that its host is gone.
            if let Err(error) = database.find_host().await {
                tracing::debug!(%error, "no host of the record store can be used");
            }
            database.notifiers.notify_all();
            sleep(LISTEN_AGAIN).await;
        }
    })
}

async fn listen(database: &Database) -> Result<(), sqlx::Error> {
    let mut used = database.hosts.used();
    let connect = async {
        let mut listener = PgListener::connect(database.hosts.url()).await?;
        listener.listen_all([EVERYONE, &channel(&database.holder)]).await?;
        Ok(listener)
    };
    let mut listener = database.answered(connect).await?;
    database.notifiers.notify_all();
    loop {
        let told = tokio::select! {
            told = timeout(database.settings.lease, listener.try_recv()) => match told {
                Ok(told) => told?,
                // Nothing was announced, or the connection is silent: only the second gives no answer.
                Err(_late) => {
                    database.answered(sqlx::query("SELECT 1").execute(&mut listener)).await?;
                    continue;
                }
            },
            // The old host may never say that it is gone.
            _ = used.changed() => None,
        };
        let Some(told) = told else { return Ok(()) };
        for notifier in told.payload().split(',') {
            if notifier == WORK {
                // Whoever told us of a task has taken the mark away.
                database.idle.store(false, Ordering::SeqCst);
            }
            database.notify_here(notifier);
        }
    }
}
