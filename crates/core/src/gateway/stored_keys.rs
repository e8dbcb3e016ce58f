//! API keys that live in the store: they hold besides those of the configuration, from the moment at which they are
//! added until they are revoked, at every server of the store.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::time::{Instant, sleep};

use super::admit::ApiKey;
use super::{Gateway, Settings};
use crate::ports::store::{StoreError, StoredKey};

/// How often keys are looked at although nothing was notified: a notification can get lost with a connection.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// How often it is noted which keys were used.
const NOTE_EVERY: Duration = Duration::from_secs(10);
/// The digest of no key that anybody knows.
const NO_KEY: [u8; 32] = [0; 32];

/// The keys of the configuration, and those of the store.
pub(super) struct KeyRegistry {
    lists: Mutex<KeyLists>,
    /// By name: whether a key of the store was used since that was last noted.
    uses: ArcSwap<HashMap<Box<str>, AtomicBool>>,
    /// False as long as `uses` is empty, which it is for most servers.
    has_any: AtomicBool,
}

#[derive(Default)]
struct KeyLists {
    file: Vec<ApiKey>,
    file_operators: Vec<String>,
    stored: Vec<StoredKey>,
}

impl KeyLists {
    /// Puts the keys of both into rules. A name of the configuration wins. Where the store ever had a key, nobody is let in
    /// without one: revoking the last one must not open the server to everybody.
    fn put_into(&self, settings: &mut Settings) {
        let active =
            |key: &&StoredKey| key.revoked.is_none() && !self.file.iter().any(|own| *own.name == *key.name);
        let keys = self.stored.iter().filter(active).map(|key| ApiKey {
            name: key.name.as_str().into(),
            sha256: key.sha256,
            toolset: key.toolset.as_deref().map(Arc::from),
        });
        settings.admission.keys = self.file.iter().cloned().chain(keys).collect();
        if settings.admission.is_open() && !self.stored.is_empty() {
            settings.admission.keys.push(ApiKey { name: "".into(), sha256: NO_KEY, toolset: None });
        }
        let operators = self.stored.iter().filter(active).filter(|key| key.operator);
        let operators = operators.map(|key| key.name.clone());
        settings.operators = self.file_operators.iter().cloned().chain(operators).collect();
    }
}

impl KeyRegistry {
    pub(super) fn of_file(settings: &Settings) -> Self {
        let lists = KeyLists {
            file: settings.admission.keys.clone(),
            file_operators: settings.operators.clone(),
            stored: Vec::new(),
        };
        KeyRegistry { lists: lists.into(), uses: ArcSwap::default(), has_any: AtomicBool::new(false) }
    }

    /// Takes other keys of the configuration. `take` is called under the lock: of a reload and a change of the store at
    /// once, the second sees what the first did.
    pub(super) fn with_file(&self, mut settings: Settings, take: impl FnOnce(Settings)) {
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        lists.file.clone_from(&settings.admission.keys);
        lists.file_operators.clone_from(&settings.operators);
        lists.put_into(&mut settings);
        take(settings);
    }

    /// Takes other keys of the store; nothing when they are the same.
    fn with_stored(&self, stored: Vec<StoredKey>, present: &ArcSwap<Settings>, take: impl FnOnce(Settings)) {
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        let rules = |key: &StoredKey| StoredKey { used: None, ..key.clone() };
        if lists.stored.iter().map(rules).eq(stored.iter().map(rules)) {
            return;
        }
        let uses = stored.iter().map(|key| (key.name.as_str().into(), AtomicBool::new(false)));
        self.uses.store(Arc::new(uses.collect()));
        self.has_any.store(!stored.is_empty(), Ordering::Release);
        lists.stored = stored;
        let mut settings = Settings::clone(&present.load());
        lists.put_into(&mut settings);
        take(settings);
    }

    pub(super) fn note_use(&self, name: &str) {
        if self.has_any.load(Ordering::Relaxed)
            && let Some(used) = self.uses.load().get(name)
            // Looked at first: a flag that all threads write to would be slow.
            && !used.load(Ordering::Relaxed)
        {
            used.store(true, Ordering::Relaxed);
        }
    }

    fn take_used(&self) -> Vec<String> {
        let uses = self.uses.load();
        let used = uses.iter().filter(|(_, used)| used.swap(false, Ordering::Relaxed));
        used.map(|(name, _)| name.to_string()).collect()
    }
}

/// The keys in the store, for whoever manages them.
#[derive(Clone, Copy)]
pub struct StoredKeys<'a>(&'a Arc<Gateway>);

impl StoredKeys<'_> {
    /// Lets callers in by the keys of the store as well, from now on. Fails if they cannot be read: a server that does not
    /// know whether there are keys must not admit callers without one.
    pub async fn follow(self) -> Result<(), StoreError> {
        let gateway = Arc::clone(self.0);
        gateway.take_keys(gateway.store.key_list().await?);
        self.0.background.spawn(async move {
            gateway.background.stop().run_until_cancelled(gateway.keep_reading_keys()).await;
        });
        Ok(())
    }

    /// Reads the keys of the store now. While the store is away, those that were read last hold.
    pub async fn read(self) {
        self.0.read_keys().await;
    }

    /// Whether the configuration itself has a key of this name.
    pub fn is_configured(self, name: &str) -> bool {
        let lists = self.0.key_registry.lists.lock().unwrap_or_else(PoisonError::into_inner);
        lists.file.iter().any(|key| *key.name == *name)
    }
}

impl Gateway {
    /// The keys in the store.
    pub fn keys(self: &Arc<Self>) -> StoredKeys<'_> {
        StoredKeys(self)
    }

    fn take_keys(&self, stored: Vec<StoredKey>) {
        self.key_registry.with_stored(stored, &self.settings, |settings| self.take_rules(settings));
    }

    async fn read_keys(&self) {
        match self.store.key_list().await {
            Ok(stored) => self.take_keys(stored),
            Err(error) => tracing::debug!(developer = error.message.developer, "keys cannot be read now"),
        }
    }

    async fn keep_reading_keys(&self) {
        let (mut notifier, mut noted) = (self.store.key_notifier(), Instant::now());
        loop {
            tokio::select! {
                () = notifier.changed() => {}
                () = sleep(LOOK_AGAIN) => {}
            }
            self.read_keys().await;
            if noted.elapsed() >= NOTE_EVERY {
                noted = Instant::now();
                let used = self.key_registry.take_used();
                if let Err(error) = self.store.key_note_use(&used).await {
                    tracing::debug!(developer = error.message.developer, "the use of keys is not noted");
                }
            }
        }
    }
}
