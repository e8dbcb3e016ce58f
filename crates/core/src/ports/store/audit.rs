//! Audit records as a store keeps them.

use super::error::StoreFuture;
use crate::audit::AuditRecord;

/// The audit records.
pub trait AuditStore: Send + Sync {
    /// Keeps what was done.
    fn audit_add<'a>(&'a self, records: &'a [AuditRecord]) -> StoreFuture<'a, ()>;

    /// What was done, newest first.
    fn audit_list(&self, most: usize) -> StoreFuture<'_, Vec<AuditRecord>>;
}
