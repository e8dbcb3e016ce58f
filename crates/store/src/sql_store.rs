//! A store in a database: opened, kept alive in the background, closed. What it does with each kind of record is in the file
//! of that kind (`calls.rs`, `tasks.rs`, `sealed.rs`, `audit.rs`, `definitions.rs`).

use std::sync::Arc;

use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use toolmux_core::BoxFuture;
use toolmux_core::ports::figures::StoreFigures;
use toolmux_core::ports::store::{Pruned, Retention, StoreError, StoreFuture, StoreMaintenance, StoreStatus};

use crate::background::{maintenance, prune};
use crate::connections::database::{Database, failed};
use crate::connections::hosts::without_password;
use crate::group_commit::writer::Writer;
use crate::open::{StoreOpenError, engine};
use crate::settings::StoreSettings;
use crate::sql::sql;
use crate::status::status;

/// Records in SQLite or PostgreSQL. Dropping it without [`StoreMaintenance::close`] is like a crash: others take over
/// what it held once its lease is over.
pub struct SqlStore {
    pub(crate) database: Arc<Database>,
    pub(crate) writer: Writer,
    background: TaskTracker,
    stop: CancellationToken,
}

impl SqlStore {
    /// Connects, brings the tables up to date, and takes over what dead servers left.
    pub async fn open(url: &str, settings: StoreSettings) -> Result<Self, StoreOpenError> {
        let (engine, url) =
            engine(url, "rwc").ok_or_else(|| StoreOpenError::Unknown(without_password(url)))?;
        let database = Arc::new(Database::open(&url, engine, settings).await?);
        // In this order: seen by others before we hold anything, a lease before we take anything over.
        maintenance::enter(&database).await.map_err(StoreOpenError::Connect)?;
        maintenance::beat(&database).await.map_err(StoreOpenError::Connect)?;
        maintenance::recover(&database).await.map_err(StoreOpenError::Connect)?;
        let (writer, work) = Writer::new(Arc::clone(&database));
        let store = SqlStore {
            database: Arc::clone(&database),
            writer,
            background: TaskTracker::new(),
            stop: CancellationToken::new(),
        };
        store.run(work);
        store.run((engine.watch)(Arc::clone(&database)));
        store.run(maintenance::maintain(Arc::clone(&database)));
        store.run(maintenance::keep_small(database));
        store.background.close();
        Ok(store)
    }

    fn run(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.background.spawn(self.stop.clone().run_until_cancelled_owned(work));
    }
}

impl Drop for SqlStore {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl StoreMaintenance for SqlStore {
    fn status(&self) -> StoreFuture<'_, StoreStatus> {
        Box::pin(async { status(&self.database).await.map_err(failed) })
    }

    fn prune<'a>(&'a self, retention: &'a Retention) -> StoreFuture<'a, Pruned> {
        Box::pin(async { prune::prune(&self.database, retention).await.map_err(failed) })
    }

    fn fault(&self) -> Option<StoreError> {
        self.database.file.as_ref()?.check().err().map(|lost| StoreError::from(&lost))
    }

    fn figures(&self) -> StoreFigures {
        self.writer.figures()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            // A heartbeat after we have left would bring our lease back, and others would wait for its end.
            self.stop.cancel();
            self.background.wait().await;
            let leave = sqlx::query(sql!("holder_leave")).bind(self.database.holder.as_str());
            if let Err(error) = self.database.execute(leave).await {
                tracing::debug!(%error, "the lease of this server was not ended in the record store");
            }
            if let Some(presence) = self.database.presence.get() {
                presence.leave();
            }
            // Connections that are silent are not waited for.
            timeout(self.database.settings.patience, self.database.pools.load().close()).await.ok();
        })
    }
}
