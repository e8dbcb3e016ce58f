//! A store in memory that answers after a while, as a database does, and counts what it is asked.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use tokio::time::sleep;
use toolmux_core::BoxFuture;
use toolmux_core::audit::AuditRecord;
use toolmux_core::memory::MemoryStore;
use toolmux_core::outcome::Outcome;
use toolmux_core::ports::store::{
    AuditStore, Backlog, Begun, CallDigest, CallKey, CallStore, ClaimedTask, DefinitionStore, DefinitionsKey,
    FoundTask, KeyStore, Listener, NewTask, Pruned, ReceiptHead, ReceiptLink, ReceiptReader, ReceiptStore,
    Retention, Sealed, SealedKey, SealedStore, StoreFuture, StoreMaintenance, StoreStatus, StoredKey,
    Submitted, TaskOfCaller, TaskStore,
};
use toolmux_core::progress::Update;
use toolmux_core::receipt::ReceiptId;
use toolmux_core::task::{Task, TaskId, TaskStatus};

/// How long every answer takes.
pub(crate) const DELAY: Duration = Duration::from_millis(1);

/// Lets simulated time pass.
pub(crate) async fn until_later(after: Duration) {
    sleep(after).await;
}

#[derive(Default)]
pub(crate) struct CountedStore {
    store: MemoryStore,
    /// Every question, whatever it is.
    pub(crate) asked: AtomicU64,
    pub(crate) claims: AtomicU64,
    /// Claims that found nothing.
    pub(crate) empty_claims: AtomicU64,
    /// Answers to those who waited for a call.
    pub(crate) waits_ended: AtomicU64,
}

impl CountedStore {
    fn counted<'a, T: Send + 'a>(&'a self, answer: StoreFuture<'a, T>) -> StoreFuture<'a, T> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move {
            until_later(DELAY).await;
            answer.await
        })
    }
}

impl CallStore for CountedStore {
    fn call_begin<'a>(&'a self, key: &'a CallKey, digest: &'a CallDigest) -> StoreFuture<'a, Begun> {
        self.counted(Box::pin(async { self.store.call_begin(key, digest).await }))
    }

    fn call_kept_for(&self) -> Duration {
        self.store.call_kept_for()
    }

    fn call_finish<'a>(&'a self, key: &'a CallKey, outcome: &'a Outcome) -> StoreFuture<'a, bool> {
        self.counted(Box::pin(async { self.store.call_finish(key, outcome).await }))
    }

    fn call_forget<'a>(&'a self, key: &'a CallKey) -> StoreFuture<'a, ()> {
        self.counted(Box::pin(async { self.store.call_forget(key).await }))
    }

    fn call_wait<'a>(&'a self, key: &'a CallKey) -> StoreFuture<'a, Option<Outcome>> {
        self.counted(Box::pin(async {
            let ended = self.store.call_wait(key).await;
            self.waits_ended.fetch_add(1, Ordering::Relaxed);
            ended
        }))
    }
}

impl TaskStore for CountedStore {
    fn task_submit<'a>(&'a self, task: &'a NewTask) -> StoreFuture<'a, Submitted> {
        self.counted(Box::pin(async { self.store.task_submit(task).await }))
    }

    fn task_start<'a>(&'a self, id: &'a TaskId) -> StoreFuture<'a, bool> {
        self.counted(Box::pin(async { self.store.task_start(id).await }))
    }

    fn task_claim(&self, most: usize) -> StoreFuture<'_, Vec<ClaimedTask>> {
        self.claims.fetch_add(1, Ordering::Relaxed);
        self.counted(Box::pin(async move {
            let claimed = self.store.task_claim(most).await?;
            self.empty_claims.fetch_add(u64::from(claimed.is_empty()), Ordering::Relaxed);
            Ok(claimed)
        }))
    }

    fn task_return<'a>(&'a self, id: &'a TaskId, pause: Duration) -> StoreFuture<'a, ()> {
        self.counted(Box::pin(async move { self.store.task_return(id, pause).await }))
    }

    fn task_tell<'a>(&'a self, id: &'a TaskId, update: &'a Update) -> StoreFuture<'a, ()> {
        self.counted(Box::pin(async { self.store.task_tell(id, update).await }))
    }

    fn task_finish<'a>(&'a self, id: &'a TaskId, outcome: &'a Outcome) -> StoreFuture<'a, bool> {
        self.counted(Box::pin(async { self.store.task_finish(id, outcome).await }))
    }

    fn task_cancel<'a>(&'a self, id: &'a TaskId) -> StoreFuture<'a, bool> {
        self.counted(Box::pin(async { self.store.task_cancel(id).await }))
    }

    fn task_is_ours<'a>(&'a self, id: &'a TaskId) -> StoreFuture<'a, bool> {
        self.counted(Box::pin(async { self.store.task_is_ours(id).await }))
    }

    fn task_find<'a>(&'a self, id: &'a TaskId, after: u64) -> StoreFuture<'a, Option<FoundTask>> {
        self.counted(Box::pin(async move { self.store.task_find(id, after).await }))
    }

    fn task_list<'a>(
        &'a self,
        caller: &'a str,
        before: Option<&'a TaskId>,
        most: usize,
    ) -> StoreFuture<'a, Vec<Task>> {
        self.counted(self.store.task_list(caller, before, most))
    }

    fn task_list_all(&self, status: Option<TaskStatus>, most: usize) -> StoreFuture<'_, Vec<TaskOfCaller>> {
        self.counted(self.store.task_list_all(status, most))
    }

    fn task_backlog<'a>(&'a self, caller: &'a str) -> StoreFuture<'a, Backlog> {
        self.counted(self.store.task_backlog(caller))
    }

    fn task_notifier(&self, id: &TaskId) -> Listener {
        self.store.task_notifier(id)
    }

    fn work_notifier(&self) -> Listener {
        self.store.work_notifier()
    }
}

// What the simulation does not measure is passed on.

impl SealedStore for CountedStore {
    fn sealed_put<'a>(
        &'a self,
        key: &'a SealedKey,
        bytes: &'a [u8],
        expires: Option<SystemTime>,
    ) -> StoreFuture<'a, ()> {
        self.store.sealed_put(key, bytes, expires)
    }

    fn sealed_find<'a>(&'a self, key: &'a SealedKey) -> StoreFuture<'a, Option<Vec<u8>>> {
        self.store.sealed_find(key)
    }

    fn sealed_take<'a>(&'a self, key: &'a SealedKey) -> StoreFuture<'a, Option<Vec<u8>>> {
        self.store.sealed_take(key)
    }

    fn sealed_swap<'a>(
        &'a self,
        key: &'a SealedKey,
        old: Option<&'a [u8]>,
        new: Option<Sealed<'a>>,
    ) -> StoreFuture<'a, bool> {
        self.store.sealed_swap(key, old, new)
    }

    fn sealed_list<'a>(&'a self, kind: &'a str) -> StoreFuture<'a, Vec<String>> {
        self.store.sealed_list(kind)
    }
}

impl AuditStore for CountedStore {
    fn audit_add<'a>(&'a self, records: &'a [AuditRecord]) -> StoreFuture<'a, ()> {
        self.store.audit_add(records)
    }

    fn audit_list(&self, most: usize) -> StoreFuture<'_, Vec<AuditRecord>> {
        self.store.audit_list(most)
    }
}

impl DefinitionStore for CountedStore {
    fn definitions_put<'a>(&'a self, key: &'a DefinitionsKey, text: &'a str) -> StoreFuture<'a, ()> {
        self.store.definitions_put(key, text)
    }

    fn definitions_find<'a>(&'a self, key: &'a DefinitionsKey) -> StoreFuture<'a, Option<String>> {
        self.store.definitions_find(key)
    }
}

impl ReceiptReader for CountedStore {
    fn receipt_list(
        &self,
        from: ReceiptId,
        before: Option<ReceiptId>,
        most: usize,
    ) -> StoreFuture<'_, Vec<(ReceiptId, String)>> {
        self.store.receipt_list(from, before, most)
    }

    fn receipt_find(&self, id: ReceiptId) -> StoreFuture<'_, Option<String>> {
        self.store.receipt_find(id)
    }

    fn receipt_chain<'a>(
        &'a self,
        server: &'a str,
        after: u64,
        most: usize,
    ) -> StoreFuture<'a, Vec<ReceiptLink>> {
        self.store.receipt_chain(server, after, most)
    }

    fn receipt_heads(&self) -> StoreFuture<'_, Vec<ReceiptHead>> {
        self.store.receipt_heads()
    }
}

impl ReceiptStore for CountedStore {
    fn receipt_add<'a>(&'a self, links: &'a [ReceiptLink], head: &'a ReceiptHead) -> StoreFuture<'a, ()> {
        self.store.receipt_add(links, head)
    }

    fn receipt_prune<'a>(&'a self, up_to: u64, head: &'a ReceiptHead) -> StoreFuture<'a, ()> {
        self.store.receipt_prune(up_to, head)
    }

    fn receipt_forget<'a>(&'a self, server: &'a str) -> StoreFuture<'a, ()> {
        self.store.receipt_forget(server)
    }

    fn receipt_report_killed<'a>(
        &'a self,
        killed: &'a str,
        link: &'a ReceiptLink,
        head: &'a ReceiptHead,
    ) -> StoreFuture<'a, bool> {
        self.store.receipt_report_killed(killed, link, head)
    }
}

impl KeyStore for CountedStore {
    fn key_add<'a>(&'a self, key: &'a StoredKey) -> StoreFuture<'a, bool> {
        self.store.key_add(key)
    }

    fn key_revoke<'a>(&'a self, name: &'a str) -> StoreFuture<'a, bool> {
        self.store.key_revoke(name)
    }

    fn key_note_use<'a>(&'a self, names: &'a [String]) -> StoreFuture<'a, ()> {
        self.store.key_note_use(names)
    }

    fn key_list(&self) -> StoreFuture<'_, Vec<StoredKey>> {
        self.store.key_list()
    }

    fn key_notifier(&self) -> Listener {
        self.store.key_notifier()
    }
}

impl StoreMaintenance for CountedStore {
    fn status(&self) -> StoreFuture<'_, StoreStatus> {
        self.store.status()
    }

    fn prune<'a>(&'a self, retention: &'a Retention) -> StoreFuture<'a, Pruned> {
        self.store.prune(retention)
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.store.close()
    }
}
