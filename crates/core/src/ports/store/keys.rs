//! API keys that live in the store, so that they can be added and revoked while servers run.

use std::time::SystemTime;

use super::error::StoreFuture;
use super::notifiers::Listener;

/// An API key in the store. The key itself is kept nowhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredKey {
    /// The caller's name.
    pub name: String,
    /// SHA-256 of the key.
    pub sha256: [u8; 32],
    /// The only tools it opens; absent means all.
    pub toolset: Option<String>,
    /// Its caller may see and steer the server.
    pub operator: bool,
    /// When it was added, in whole milliseconds.
    pub created: SystemTime,
    /// When a request with it last came, nearly.
    pub used: Option<SystemTime>,
    /// When it was revoked. Its row stays: where there ever was a key, nobody is let in without one.
    pub revoked: Option<SystemTime>,
}

/// The keys that live in the store.
pub trait KeyStore: Send + Sync {
    /// Adds a key; false when one of that name is there that was not revoked. Wakes all who follow keys.
    fn key_add<'a>(&'a self, key: &'a StoredKey) -> StoreFuture<'a, bool>;

    /// Revokes the key of a name; false when there is none, or it was revoked before. Wakes all who follow keys.
    fn key_revoke<'a>(&'a self, name: &'a str) -> StoreFuture<'a, bool>;

    /// Notes that keys were used now.
    fn key_note_use<'a>(&'a self, names: &'a [String]) -> StoreFuture<'a, ()>;

    /// All keys, revoked ones included, in the order of their names.
    fn key_list(&self) -> StoreFuture<'_, Vec<StoredKey>>;

    /// Notifies whenever a key was added or revoked.
    fn key_notifier(&self) -> Listener;
}
