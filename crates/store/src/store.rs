//! A database as core's `Store`.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use toolmux_core::BoxFuture;
use toolmux_core::audit::AuditRecord;
use toolmux_core::message::Message;
use toolmux_core::outcome::Outcome;
use toolmux_core::ports::store::{
    Backlog, Begun, CallDigest, CallKey, ClaimedTask, DefinitionsKey, FoundTask, Listener, NewTask, Pruned,
    Retention, Sealed, SealedKey, Store, StoreError, StoreFuture, StoreStatus, Submitted,
};
use toolmux_core::progress::Update;
use toolmux_core::task::{Task, TaskId, result_not_kept};

use crate::database::{Database, Engine, failed};
use crate::postgres::POSTGRES;
use crate::sql::sql;
use crate::sqlite::SQLITE;
use crate::write::{WORK, task_notifier};
use crate::writer::Writer;
use crate::{OpenError, StoreSettings, maintenance, prune, without_password};

/// Records in SQLite or PostgreSQL. Dropping it without [`Store::close`] is like a crash: others take over
/// what it held once its lease is over.
pub struct SqlStore {
    pub(crate) database: Arc<Database>,
    pub(crate) writer: Writer,
    uncertain_claims: Mutex<Vec<i64>>,
    background: TaskTracker,
    stop: CancellationToken,
}

impl SqlStore {
    /// Connects, brings the tables up to date, and takes over what dead servers left.
    pub async fn open(url: &str, settings: StoreSettings) -> Result<Self, OpenError> {
        let (engine, url) = engine(url, "rwc").ok_or_else(|| OpenError::Unknown(without_password(url)))?;
        let database = Arc::new(Database::open(&url, engine, settings).await?);
        maintenance::enter(&database).await.map_err(OpenError::Connect)?;
        maintenance::beat(&database).await.map_err(OpenError::Connect)?;
        maintenance::recover(&database).await.map_err(OpenError::Connect)?;
        let (background, stop) = (TaskTracker::new(), CancellationToken::new());
        let (writer, work) = Writer::new(Arc::clone(&database));
        background.spawn(stop.clone().run_until_cancelled_owned((engine.watch)(Arc::clone(&database))));
        background
            .spawn(stop.clone().run_until_cancelled_owned(maintenance::maintain(Arc::clone(&database))));
        background
            .spawn(stop.clone().run_until_cancelled_owned(maintenance::keep_small(Arc::clone(&database))));
        background.spawn(stop.clone().run_until_cancelled_owned(work));
        background.close();
        Ok(SqlStore { database, writer, uncertain_claims: Mutex::default(), background, stop })
    }

    pub(crate) fn uncertain_claims<T>(&self, read: impl FnOnce(&mut Vec<i64>) -> T) -> T {
        read(&mut self.uncertain_claims.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for SqlStore {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Which engine, and the address in the form it wants.
pub(crate) fn engine(url: &str, mode: &str) -> Option<(&'static Engine, String)> {
    if url.starts_with("postgres://") || url.starts_with("postgresql://") {
        return Some((&POSTGRES, url.to_owned()));
    }
    let file = url.strip_prefix("sqlite:")?;
    let options = if file.contains('?') { String::new() } else { format!("?mode={mode}") };
    Some((&SQLITE, format!("sqlite:{file}{options}")))
}

pub(crate) fn write_outcome(outcome: &Outcome) -> String {
    serde_json::to_string(outcome).expect("an outcome is always writable")
}

/// An empty text stands for a result that gave way to newer ones.
pub(crate) fn read_outcome(text: &str) -> Result<Outcome, StoreError> {
    if text.is_empty() {
        return Ok(result_not_kept());
    }
    serde_json::from_str(text).map_err(|error| unreadable(&error))
}

pub(crate) fn unreadable(error: &dyn std::error::Error) -> StoreError {
    StoreError::new(Message::public("A record cannot be read").caused_by(error))
}

impl Store for SqlStore {
    fn call_begin<'a>(&'a self, key: &'a CallKey, digest: &'a CallDigest) -> StoreFuture<'a, Begun> {
        Box::pin(self.begin_call(key, digest))
    }

    fn call_finish<'a>(&'a self, key: &'a CallKey, outcome: &'a Outcome) -> StoreFuture<'a, bool> {
        Box::pin(self.finish_call(key, outcome))
    }

    fn call_forget<'a>(&'a self, key: &'a CallKey) -> StoreFuture<'a, ()> {
        Box::pin(self.forget_call(key))
    }

    fn call_wait<'a>(&'a self, key: &'a CallKey) -> StoreFuture<'a, Option<Outcome>> {
        Box::pin(self.wait_call(key))
    }

    fn sealed_put<'a>(
        &'a self,
        key: &'a SealedKey,
        bytes: &'a [u8],
        expires: Option<SystemTime>,
    ) -> StoreFuture<'a, ()> {
        Box::pin(self.put_sealed(key, bytes, expires))
    }

    fn sealed_find<'a>(&'a self, key: &'a SealedKey) -> StoreFuture<'a, Option<Vec<u8>>> {
        Box::pin(self.find_sealed(key))
    }

    fn sealed_take<'a>(&'a self, key: &'a SealedKey) -> StoreFuture<'a, Option<Vec<u8>>> {
        Box::pin(self.take_sealed(key))
    }

    fn sealed_swap<'a>(
        &'a self,
        key: &'a SealedKey,
        old: Option<&'a [u8]>,
        new: Option<Sealed<'a>>,
    ) -> StoreFuture<'a, bool> {
        Box::pin(self.swap_sealed(key, old, new))
    }

    fn sealed_list<'a>(&'a self, kind: &'a str) -> StoreFuture<'a, Vec<String>> {
        Box::pin(self.list_sealed(kind))
    }

    fn task_submit<'a>(&'a self, task: &'a NewTask) -> StoreFuture<'a, Submitted> {
        Box::pin(self.submit_task(task))
    }

    fn task_start<'a>(&'a self, id: &'a TaskId) -> StoreFuture<'a, bool> {
        Box::pin(self.start_task(id))
    }

    fn task_claim(&self, most: usize) -> StoreFuture<'_, Vec<ClaimedTask>> {
        Box::pin(self.claim_tasks(most))
    }

    fn task_return<'a>(&'a self, id: &'a TaskId, pause: Duration) -> StoreFuture<'a, ()> {
        Box::pin(self.return_task(id, pause))
    }

    fn task_tell<'a>(&'a self, id: &'a TaskId, update: &'a Update) -> StoreFuture<'a, ()> {
        Box::pin(self.tell_task(id, update))
    }

    fn task_finish<'a>(&'a self, id: &'a TaskId, outcome: &'a Outcome) -> StoreFuture<'a, bool> {
        Box::pin(self.finish_task(id, outcome))
    }

    fn task_cancel<'a>(&'a self, id: &'a TaskId) -> StoreFuture<'a, bool> {
        Box::pin(self.cancel_task(id))
    }

    fn task_is_ours<'a>(&'a self, id: &'a TaskId) -> StoreFuture<'a, bool> {
        Box::pin(self.is_our_task(id))
    }

    fn task_find<'a>(&'a self, id: &'a TaskId, after: u64) -> StoreFuture<'a, Option<FoundTask>> {
        Box::pin(self.find_task(id, after))
    }

    fn task_list<'a>(
        &'a self,
        caller: &'a str,
        before: Option<&'a TaskId>,
        most: usize,
    ) -> StoreFuture<'a, Vec<Task>> {
        Box::pin(self.list_tasks(caller, before, most))
    }

    fn task_backlog<'a>(&'a self, caller: &'a str) -> StoreFuture<'a, Backlog> {
        Box::pin(self.count_backlog(caller))
    }

    fn task_notifier(&self, id: &TaskId) -> Listener {
        self.database.notifiers.listen(&task_notifier(id))
    }

    fn work_notifier(&self) -> Listener {
        self.database.notifiers.listen(WORK)
    }

    fn audit_add<'a>(&'a self, records: &'a [AuditRecord]) -> StoreFuture<'a, ()> {
        Box::pin(async { self.database.add_audit(records).await.map_err(failed) })
    }

    fn audit_list(&self, most: usize) -> StoreFuture<'_, Vec<AuditRecord>> {
        Box::pin(self.database.list_audit(most))
    }

    fn definitions_put<'a>(&'a self, key: &'a DefinitionsKey, text: &'a str) -> StoreFuture<'a, ()> {
        Box::pin(self.put_definitions(key, text))
    }

    fn definitions_find<'a>(&'a self, key: &'a DefinitionsKey) -> StoreFuture<'a, Option<String>> {
        Box::pin(self.find_definitions(key))
    }

    fn status(&self) -> StoreFuture<'_, StoreStatus> {
        Box::pin(async { self.database.status().await.map_err(failed) })
    }

    fn prune<'a>(&'a self, retention: &'a Retention) -> StoreFuture<'a, Pruned> {
        Box::pin(async { prune::prune(&self.database, retention).await.map_err(failed) })
    }

    fn fault(&self) -> Option<StoreError> {
        self.database.file.as_ref()?.check().err().map(|lost| StoreError::from(&lost))
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            self.stop.cancel();
            self.background.wait().await;
            let leave = sqlx::query(sql!("holder_leave")).bind(self.database.holder.as_str());
            if let Err(error) = self.database.execute(leave).await {
                tracing::debug!(%error, "the record store was not told that we leave");
            }
            if let Some(presence) = self.database.presence.get() {
                presence.leave();
            }
            // Connections that are silent are not waited for.
            timeout(self.database.settings.patience, self.database.pools.load().close()).await.ok();
        })
    }
}
