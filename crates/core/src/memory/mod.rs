//! The store that keeps records as long as the process lives. One file for each kind of record, with its part of the
//! port; `store.rs` has what they share: one lock, the notifiers, and when old records go.

mod audit;
mod calls;
mod definitions;
mod keys;
mod receipts;
mod room;
mod sealed;
mod short_key;
mod store;
mod tasks;

pub use self::store::MemoryStore;
