//! The port that records go out by: one small trait for each kind of record, each implemented where its records are.

mod audit;
mod calls;
mod definitions;
mod error;
mod keys;
mod maintenance;
mod notifiers;
mod receipts;
mod retention;
mod sealed;
mod tasks;

pub use self::audit::AuditStore;
pub use self::calls::{Begun, CallDigest, CallKey, CallStore};
pub use self::definitions::{DefinitionStore, DefinitionsKey};
pub use self::error::{Durable, StoreError, StoreFuture};
pub use self::keys::{KeyStore, StoredKey};
pub use self::maintenance::{CallCounts, Pruned, StoreMaintenance, StoreStatus, TaskCounts};
pub use self::notifiers::{Listener, Notifiers};
pub use self::receipts::{ReceiptHead, ReceiptLink, ReceiptReader, ReceiptStore};
pub use self::retention::{PRUNE_EVERY, Quota, Retention};
pub use self::sealed::{Sealed, SealedKey, SealedStore};
pub use self::tasks::{
    Backlog, ClaimedTask, FoundTask, NewTask, Submitted, TaskOfCaller, TaskStore, frees_key,
};

/// Where all records are kept: the sum of the small traits. Whatever implements them all is a store. Who needs one
/// kind of record only takes that trait.
pub trait Store:
    CallStore
    + TaskStore
    + SealedStore
    + AuditStore
    + DefinitionStore
    + ReceiptStore
    + KeyStore
    + StoreMaintenance
{
}

impl<S> Store for S where
    S: CallStore
        + TaskStore
        + SealedStore
        + AuditStore
        + DefinitionStore
        + ReceiptStore
        + KeyStore
        + StoreMaintenance
{
}
