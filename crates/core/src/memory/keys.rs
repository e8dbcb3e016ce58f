//! API keys in memory.

use std::collections::BTreeMap;
use std::time::SystemTime;

use super::store::{MemoryStore, ready};
use crate::ports::store::{KeyStore, Listener, StoreFuture, StoredKey};

/// The name by which changes of keys are notified.
const CHANGED: &str = "keys";

pub(super) type Keys = BTreeMap<String, StoredKey>;

impl KeyStore for MemoryStore {
    fn key_add<'a>(&'a self, key: &'a StoredKey) -> StoreFuture<'a, bool> {
        let added = self.records(|kept| {
            let is_free = kept.keys.get(&key.name).is_none_or(|known| known.revoked.is_some());
            if is_free {
                kept.keys.insert(key.name.clone(), key.clone());
            }
            is_free
        });
        self.notifiers.notify(CHANGED);
        ready(added)
    }

    fn key_revoke<'a>(&'a self, name: &'a str) -> StoreFuture<'a, bool> {
        let revoked = self.records(|kept| {
            let key = kept.keys.get_mut(name).filter(|key| key.revoked.is_none());
            key.map(|key| key.revoked = Some(SystemTime::now())).is_some()
        });
        self.notifiers.notify(CHANGED);
        ready(revoked)
    }

    fn key_note_use<'a>(&'a self, names: &'a [String]) -> StoreFuture<'a, ()> {
        self.records(|kept| {
            for name in names {
                if let Some(key) = kept.keys.get_mut(name) {
                    key.used = Some(SystemTime::now());
                }
            }
        });
        ready(())
    }

    fn key_list(&self) -> StoreFuture<'_, Vec<StoredKey>> {
        ready(self.records(|kept| kept.keys.values().cloned().collect()))
    }

    fn key_notifier(&self) -> Listener {
        self.notifiers.listen(CHANGED)
    }
}
