//! Audit records on their way to the store: written in the background, so that no call waits for them.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::sleep;

use super::Gateway;
use crate::audit::{AuditAction, AuditRecord};
use crate::call::Caller;
use crate::names::ToolRef;
use crate::refusal::Refusal;

/// How many records wait for the store; beyond that they are let go, and the log says so.
const QUEUE: usize = 4_096;
/// The pause before a store that was away is asked again.
const PAUSE: Duration = Duration::from_secs(1);

/// Records that wait, and whether somebody writes them.
#[derive(Default)]
pub(super) struct Auditor(Mutex<(Vec<AuditRecord>, bool)>);

impl Auditor {
    fn waiting<T>(&self, read: impl FnOnce(&mut (Vec<AuditRecord>, bool)) -> T) -> T {
        read(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Gateway {
    /// Records that something was done.
    pub fn audit(self: &Arc<Self>, record: AuditRecord) {
        let begin = self.auditor.waiting(|(records, writing)| {
            if records.len() >= QUEUE {
                tracing::warn!(action = record.action.as_str(), "an audit record was let go");
                return false;
            }
            records.push(record);
            !std::mem::replace(writing, true)
        });
        if begin {
            let gateway = Arc::clone(self);
            self.tasks.spawn(async move { gateway.write_audit().await });
        }
    }

    /// A refusal that is about who may do what. Mistakes in a request and full queues are everyday, and whoever
    /// is unknown is only counted: anybody could fill the store.
    pub(super) fn audit_refusal(self: &Arc<Self>, caller: &Caller, tool: &ToolRef, refusal: &Refusal) {
        let subject = format!("{tool} {}", refusal.name());
        self.audit(AuditRecord::now(caller.name(), AuditAction::CallRefused, subject));
    }

    async fn write_audit(self: &Arc<Self>) {
        loop {
            let batch = self.auditor.waiting(|(records, writing)| {
                *writing = !records.is_empty();
                std::mem::take(records)
            });
            if batch.is_empty() {
                return;
            }
            while let Err(error) = self.store.audit_add(&batch).await {
                tracing::debug!(developer = error.message.developer, "audit records are not written yet");
                if self.stop.run_until_cancelled(sleep(PAUSE)).await.is_none() {
                    return;
                }
            }
        }
    }
}
