//! The open connections of a store. A connection to a remote database may go silent without being closed (a lost
//! route, a firewall that forgot it), so nothing waits for one without a bound, and when one is found to be silent
//! all that were opened with it are replaced together: each of them would cost the same wait again.

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use sqlx::any::{AnyConnectOptions, AnyPoolOptions};
use sqlx::pool::PoolConnection;
use sqlx::{Any, AnyPool, AssertSqlSafe};
use tokio::time::{Instant, sleep, timeout};

use crate::connections::database::Database;
use crate::connections::hosts::{TRY_AGAIN, is_read_only};
use crate::engines::engine::Engine;
use crate::settings::StoreSettings;

pub(crate) struct Pools {
    pub(crate) read: AnyPool,
    pub(crate) write: AnyPool,
}

/// What a connection is taken for.
#[derive(Clone, Copy)]
pub(crate) enum Purpose {
    Read,
    Write,
}

impl Pools {
    fn of(&self, purpose: Purpose) -> &AnyPool {
        match purpose {
            Purpose::Read => &self.read,
            Purpose::Write => &self.write,
        }
    }

    /// Drops every idle connection without a word to the other side, which may not hear it. Whoever waits for one is
    /// woken with [`sqlx::Error::PoolClosed`]; connections in use are closed when they are released.
    fn discard(&self) {
        for pool in [&self.read, &self.write] {
            while let Some(idle) = pool.try_acquire() {
                drop(idle.detach());
            }
            // Waiting for its end would mean to wait for connections that are silent.
            drop(pool.close());
        }
    }

    pub(crate) async fn close(&self) {
        self.read.close().await;
        self.write.close().await;
    }
}

/// How a pool of `most` connections opens them, each with the statements of `setup`.
pub(crate) fn options(
    engine: &Engine,
    setup: &'static [&'static str],
    most: u32,
    settings: StoreSettings,
) -> AnyPoolOptions {
    // By half a lease the server has rolled back what a silent connection left open, and freed its locks: those who
    // wait for them are answered before they give up.
    let idle = (settings.lease / 2).as_millis();
    let limit = engine.idle_transaction.map(|setting| format!("SET {setting} = {idle}"));
    AnyPoolOptions::new()
        .max_connections(most)
        .acquire_timeout(settings.patience)
        // What takes longer is an error, which is told of by `Database::note_failure`.
        .acquire_slow_threshold(settings.patience)
        // Done by `Database::acquire`, within a bound.
        .test_before_acquire(false)
        .idle_timeout(None)
        .max_lifetime(None)
        .after_connect(move |connection, _| {
            let limit = limit.clone();
            Box::pin(async move {
                for statement in setup {
                    sqlx::query(*statement).execute(&mut *connection).await?;
                }
                if let Some(limit) = limit {
                    sqlx::query(AssertSqlSafe(limit)).execute(&mut *connection).await?;
                }
                Ok(())
            })
        })
}

impl Database {
    /// A connection that answers, and whose server may be used. Dead ones are passed over; when one is silent, the
    /// pools are replaced and one more is tried.
    pub(crate) async fn acquire(&self, purpose: Purpose) -> Result<PoolConnection<Any>, sqlx::Error> {
        let acquired = self.try_acquire(purpose).await;
        acquired.inspect_err(|error| self.note_failure(error))
    }

    async fn try_acquire(&self, purpose: Purpose) -> Result<PoolConnection<Any>, sqlx::Error> {
        let (until, mut was_silent) = (Instant::now() + self.settings.patience, false);
        loop {
            let pools = self.pools.load_full();
            let mut connection = match pools.of(purpose).acquire().await {
                // Somebody replaced the pools while we waited for a connection of the old ones.
                Err(sqlx::Error::PoolClosed) if !Arc::ptr_eq(&pools, &self.pools.load()) => continue,
                acquired => acquired?,
            };
            if !self.engine.remote {
                return Ok(connection);
            }
            let check = self.hosts.session.check(&mut connection);
            let checked = timeout(self.settings.patience, check).await;
            match checked {
                Ok(Ok(())) => return Ok(connection),
                Ok(Err(error)) => {
                    connection.close_on_drop();
                    if Instant::now() >= until {
                        return Err(error);
                    }
                    // Meanwhile a host may be found that accepts writes.
                    if is_read_only(&error) {
                        sleep(TRY_AGAIN).await;
                    }
                }
                Err(_late) => {
                    // Detached, because closing it politely would wait for its answer.
                    drop(connection.detach());
                    self.replace(&pools)?;
                    if std::mem::replace(&mut was_silent, true) {
                        return Err(silent());
                    }
                }
            }
        }
    }

    /// What the database answers, waited for no longer than a lease: by then other servers take what this one holds.
    /// Whether the statement took effect is unknown then, as after a connection that broke.
    pub(crate) async fn answered<T>(
        &self,
        asked: impl Future<Output = Result<T, sqlx::Error>>,
    ) -> Result<T, sqlx::Error> {
        let answer = if self.engine.remote {
            let pools = self.pools.load_full();
            match timeout(self.longest_answer(), asked).await {
                Ok(answer) => answer,
                Err(_late) => self.replace(&pools).and(Err(silent())),
            }
        } else {
            asked.await
        };
        answer.inspect_err(|error| self.note_failure(error))
    }

    fn longest_answer(&self) -> Duration {
        self.settings.lease.max(self.settings.patience)
    }

    /// Has all connections opened anew, to the host that is used now. Of many who ask this for the same pools one does
    /// it: the connections of the others are those it opened.
    pub(crate) fn replace(&self, old: &Arc<Pools>) -> Result<(), sqlx::Error> {
        let before = self.pools.compare_and_swap(old, self.renewed(old)?);
        if Arc::ptr_eq(&before, old) {
            old.discard();
        }
        Ok(())
    }

    /// The same when another host is used from now on, whatever the pools are: somebody may just have replaced them
    /// with connections to the host before.
    pub(crate) fn replace_all(&self) -> Result<(), sqlx::Error> {
        let renewed = self.renewed(&self.pools.load())?;
        let old = self.pools.swap(Arc::clone(&renewed));
        // Whoever is connecting right now goes on trying, closed or not: better to the host that is there.
        old.read.set_connect_options(renewed.read.connect_options().as_ref().clone());
        old.write.set_connect_options(renewed.write.connect_options().as_ref().clone());
        old.discard();
        Ok(())
    }

    fn renewed(&self, old: &Pools) -> Result<Arc<Pools>, sqlx::Error> {
        let options: AnyConnectOptions = (self.engine.existing)(self.hosts.url()).parse()?;
        let renew = |pool: &AnyPool| pool.options().clone().connect_lazy_with(options.clone());
        Ok(Arc::new(Pools { read: renew(&old.read), write: renew(&old.write) }))
    }
}

fn silent() -> sqlx::Error {
    std::io::Error::new(ErrorKind::TimedOut, "the database does not answer").into()
}
