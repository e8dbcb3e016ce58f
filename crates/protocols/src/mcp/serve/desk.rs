//! What outlives one message: questions that wait for a client's answer, requests that may be cancelled by
//! a later message, and the log levels that legacy sessions set. All of it bounded.

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use serde_json::value::RawValue;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use toolmux_core::json_text::to_raw;
use toolmux_core::progress::Question;

use super::suspended::Suspended;

/// How many entries one kind of memory has at most; the newest wins.
const MOST_ENTRIES: usize = 10_000;

/// How many resources one session follows.
pub(super) const MOST_SUBSCRIPTIONS: usize = 100;

/// A session and an id within it.
type Key = (Arc<str>, Box<str>);

/// What outlives one message.
pub(super) struct Desk {
    /// How the states we give begin. An upstream may be one of us, so the mark is this server's alone.
    pub(super) mark: String,
    questions: Shelf<Key, Question>,
    running: Shelf<Key, CancellationToken>,
    levels: Shelf<Arc<str>, String>,
    over: Shelf<Arc<str>, ()>,
    subscriptions: Shelf<Arc<str>, BTreeSet<String>>,
    subscribed: watch::Sender<u64>,
    pub(super) suspended: Shelf<String, Suspended>,
    /// Ends with the server, and with it the clocks of suspended calls.
    pub(super) tasks: TaskTracker,
}

impl Default for Desk {
    fn default() -> Self {
        Desk {
            mark: format!("toolmux:{}:", uuid::Uuid::new_v4().simple()),
            questions: Shelf::default(),
            running: Shelf::default(),
            levels: Shelf::default(),
            over: Shelf::default(),
            subscriptions: Shelf::default(),
            subscribed: watch::Sender::new(0),
            suspended: Shelf::default(),
            tasks: TaskTracker::new(),
        }
    }
}

impl Desk {
    /// Remembers a question until [`Desk::answered`].
    pub(super) fn asked(&self, session: &Arc<str>, id: &str, question: Question) {
        self.questions.put((Arc::clone(session), id.into()), question);
    }

    /// A client answered a question of ours, or refused to.
    pub(super) fn answered(&self, session: &Arc<str>, id: &RawValue, answer: Result<&RawValue, &RawValue>) {
        #[derive(Serialize)]
        #[serde(rename_all = "lowercase")]
        enum Said<'a> {
            Result(&'a RawValue),
            Error(&'a RawValue),
        }
        let id: String = serde_json::from_str(id.get()).unwrap_or_default();
        if let Some(question) = self.questions.take(&(Arc::clone(session), id.into())) {
            let said = answer.map_or_else(Said::Error, Said::Result);
            question.answer(to_raw(&said).expect("an answer is writable"));
        }
    }

    /// A request that [`Desk::cancel`] can end while the guard lives.
    pub(super) fn begin(self: &Arc<Self>, session: &Arc<str>, id: &RawValue) -> Begun {
        let key: Key = (Arc::clone(session), id.get().into());
        let token = CancellationToken::new();
        self.running.put(key.clone(), token.clone());
        Begun { desk: Arc::clone(self), key, token }
    }

    /// A client no longer wants an answer.
    pub(super) fn cancel(&self, session: &Arc<str>, id: &RawValue) {
        if let Some(token) = self.running.take(&(Arc::clone(session), id.get().into())) {
            token.cancel();
        }
    }

    /// A client says that it will not come back.
    pub(super) fn end(&self, session: &Arc<str>) {
        self.forget(session);
        self.over.put(Arc::clone(session), ());
    }

    /// Removes what a session set.
    pub(super) fn forget(&self, session: &Arc<str>) {
        self.levels.take(session);
        self.subscriptions.take(session);
    }

    pub(super) fn is_over(&self, session: &Arc<str>) -> bool {
        self.over.read(|over| over.contains_key(session))
    }

    pub(super) fn set_level(&self, session: &Arc<str>, level: String) {
        self.levels.put(Arc::clone(session), level);
    }

    /// Changes the resources that a session follows; beyond a bound some are left out.
    pub(super) fn subscribe(&self, session: &Arc<str>, change: impl FnOnce(&mut BTreeSet<String>) -> bool) {
        self.subscriptions.change(Arc::clone(session), |uris| {
            change(uris);
            while uris.len() > MOST_SUBSCRIPTIONS {
                uris.pop_last();
            }
        });
        self.subscribed.send_modify(|change| *change += 1);
    }

    pub(super) fn subscriptions(&self, session: &Arc<str>) -> BTreeSet<String> {
        self.subscriptions.read(|all| all.get(session).cloned()).unwrap_or_default()
    }

    /// Changes whenever any session's subscriptions do.
    pub(super) fn subscribed(&self) -> watch::Receiver<u64> {
        self.subscribed.subscribe()
    }

    pub(super) fn level(&self, session: &Arc<str>) -> Option<String> {
        self.levels.read(|levels| levels.get(session).cloned())
    }
}

/// A request under way.
pub(super) struct Begun {
    desk: Arc<Desk>,
    key: Key,
    pub(super) token: CancellationToken,
}

impl Drop for Begun {
    fn drop(&mut self) {
        self.desk.running.take(&self.key);
    }
}

/// A bounded map.
pub(super) struct Shelf<K, V>(Mutex<HashMap<K, V>>);

impl<K, V> Default for Shelf<K, V> {
    fn default() -> Self {
        Shelf(Mutex::default())
    }
}

impl<K: Hash + Eq + Clone, V> Shelf<K, V> {
    pub(super) fn put(&self, key: K, value: V) {
        if self.read(|map| !map.contains_key(&key)) {
            self.make_room();
        }
        let replaced = self.read(|map| map.insert(key, value));
        drop(replaced);
    }

    fn change(&self, key: K, change: impl FnOnce(&mut V))
    where
        V: Default,
    {
        if self.read(|map| !map.contains_key(&key)) {
            self.make_room();
        }
        self.read(|map| change(map.entry(key).or_default()));
    }

    fn make_room(&self) {
        let evicted = self.read(|map| {
            let oldest = if map.len() >= MOST_ENTRIES { map.keys().next().cloned() } else { None };
            oldest.and_then(|oldest| map.remove(&oldest))
        });
        // Values may do things when dropped, which must not happen under the lock.
        drop(evicted);
    }

    pub(super) fn take(&self, key: &K) -> Option<V> {
        self.read(|map| map.remove(key))
    }

    fn read<T>(&self, read: impl FnOnce(&mut HashMap<K, V>) -> T) -> T {
        read(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
