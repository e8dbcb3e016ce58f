//! What outlives one message: questions that wait for a client's answer, requests that may be cancelled by
//! a later message, and the log levels that legacy sessions set. All of it bounded, for each caller by itself: what
//! one caller does costs no other its sessions. Each map has a lock of its own, held for one step at a time and never
//! across an await; what takes several steps says below which order keeps it right.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Serialize;
use serde_json::value::RawValue;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use toolmux_core::gateway::Gateway;
use toolmux_core::json_text::to_raw;
use toolmux_core::progress::Question;

use super::bounded_map::{BoundedMap, Bounds, OfCaller};
use super::running::SuspendedCall;

/// How much of one kind is remembered.
const BOUNDS: Bounds = Bounds { entries: [1_000, 10_000], bytes: [16 << 20, 128 << 20] };

/// How many resources one session follows.
pub(in crate::mcp) const MOST_SUBSCRIPTIONS: usize = 100;
/// How many bytes the addresses have that one session follows.
pub(in crate::mcp) const SUBSCRIPTION_BYTES: usize = 64 << 10;

/// A session of a caller.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::mcp) struct SessionKey {
    pub(in crate::mcp) caller: Arc<str>,
    pub(in crate::mcp) id: Arc<str>,
}

impl OfCaller for SessionKey {
    fn caller(&self) -> &Arc<str> {
        &self.caller
    }

    fn bytes(&self) -> usize {
        self.id.len()
    }
}

/// Something in a session, by the id it has there.
type Key = (SessionKey, Box<str>);

impl OfCaller for Key {
    fn caller(&self) -> &Arc<str> {
        &self.0.caller
    }

    fn bytes(&self) -> usize {
        self.0.bytes() + self.1.len()
    }
}

/// What outlives one message.
pub(in crate::mcp) struct SessionState {
    /// How the states we give begin. An upstream may be one of us, so the mark is this server's alone.
    pub(in crate::mcp) mark: String,
    questions: BoundedMap<Key, Question>,
    running: BoundedMap<Key, CancellationToken>,
    levels: BoundedMap<SessionKey, String>,
    over: BoundedMap<SessionKey, ()>,
    subscriptions: BoundedMap<SessionKey, BTreeSet<String>>,
    subscribed: watch::Sender<u64>,
    /// By caller and state.
    pub(in crate::mcp) suspended: BoundedMap<SessionKey, SuspendedCall>,
}

impl Default for SessionState {
    fn default() -> Self {
        SessionState {
            mark: format!("toolmux:{}:", uuid::Uuid::new_v4().simple()),
            questions: BoundedMap::new(BOUNDS),
            running: BoundedMap::new(BOUNDS),
            levels: BoundedMap::new(BOUNDS),
            over: BoundedMap::new(BOUNDS),
            subscriptions: BoundedMap::new(BOUNDS),
            subscribed: watch::Sender::new(0),
            suspended: BoundedMap::new(BOUNDS),
        }
    }
}

impl SessionState {
    /// Remembers a question until [`SessionState::answered`].
    pub(in crate::mcp) fn asked(&self, session: &SessionKey, id: &str, question: Question) {
        let bytes = question.asked.get().len();
        self.questions.put((session.clone(), id.into()), question, bytes);
    }

    /// A client answered a question of ours, or refused to.
    pub(in crate::mcp) fn answered(
        &self,
        session: &SessionKey,
        id: &RawValue,
        answer: Result<&RawValue, &RawValue>,
    ) {
        #[derive(Serialize)]
        #[serde(rename_all = "lowercase")]
        enum Parts<'a> {
            Result(&'a RawValue),
            Error(&'a RawValue),
        }
        let id: String = serde_json::from_str(id.get()).unwrap_or_default();
        // Taken, not read: of two answers to one question the second finds nothing.
        if let Some(question) = self.questions.take(&(session.clone(), id.into())) {
            let answer = answer.map_or_else(Parts::Error, Parts::Result);
            question.answer(to_raw(&answer).expect("an answer is writable"));
        }
    }

    /// A request that [`SessionState::cancel`] can end while the guard lives.
    pub(in crate::mcp) fn begin(
        self: &Arc<Self>,
        gateway: &Arc<Gateway>,
        session: &SessionKey,
        id: &RawValue,
    ) -> Begun {
        let key: Key = (session.clone(), id.get().into());
        let token = CancellationToken::new();
        self.running.put(key.clone(), token.clone(), 0);
        Begun { gateway: Arc::clone(gateway), session_state: Arc::clone(self), key, token }
    }

    /// A client no longer wants an answer.
    pub(in crate::mcp) fn cancel(&self, session: &SessionKey, id: &RawValue) {
        // A request that was answered a moment ago is not here any more, which is as well. Where all messages share one
        // connection, a request begins before the next message is read, so that it is always found; over HTTP the two
        // messages come by two connections, and a cancellation that overtakes its request is lost.
        if let Some(token) = self.running.take(&(session.clone(), id.get().into())) {
            token.cancel();
        }
    }

    /// Ends a session: what it set is removed, and sources release what they keep for it.
    pub(in crate::mcp) fn end(&self, gateway: &Gateway, session: &SessionKey) {
        self.levels.take(session);
        self.subscriptions.take(session);
        // Two tasks may meet here: this one, and one that still answers a request which opens objects at a source. If the
        // sources were told first, what is opened right after would never be released. In this order the request either
        // is finished by now, and what it opened is released here, or finds that the session is over when it is (see the
        // drop of `Begun`).
        self.over.put(session.clone(), (), 0);
        gateway.sources().session_ended(&session.caller, &session.id);
    }

    pub(in crate::mcp) fn is_over(&self, session: &SessionKey) -> bool {
        self.over.read(session, |()| ()).is_some()
    }

    pub(in crate::mcp) fn set_level(&self, session: &SessionKey, level: String) {
        let bytes = level.len();
        self.levels.put(session.clone(), level, bytes);
    }

    /// Has a session follow one resource more; false when it follows too many already.
    pub(in crate::mcp) fn subscribe(&self, session: &SessionKey, uri: &str) -> bool {
        let mut fits = true;
        self.change_subscriptions(session, |uris| {
            let bytes = bytes_of(uris) + uri.len();
            fits = uris.contains(uri) || (uris.len() < MOST_SUBSCRIPTIONS && bytes <= SUBSCRIPTION_BYTES);
            if fits {
                uris.insert(uri.to_owned());
            }
        });
        fits
    }

    pub(in crate::mcp) fn unsubscribe(&self, session: &SessionKey, uri: &str) {
        self.change_subscriptions(session, |uris| {
            uris.remove(uri);
        });
    }

    fn change_subscriptions(&self, session: &SessionKey, change: impl FnOnce(&mut BTreeSet<String>)) {
        // Read, changed and written under one lock: a session may send two subscriptions at a time, and with a lock for
        // each step both would begin with the same set and one of them would be lost.
        self.subscriptions.change(session, |mut uris| {
            change(&mut uris);
            let bytes = bytes_of(&uris);
            (uris, bytes)
        });
        // After the change, so that whoever is woken reads the new set.
        self.subscribed.send_modify(|change| *change += 1);
    }

    pub(in crate::mcp) fn subscriptions(&self, session: &SessionKey) -> BTreeSet<String> {
        self.subscriptions.read(session, Clone::clone).unwrap_or_default()
    }

    /// Changes whenever any session's subscriptions do.
    pub(in crate::mcp) fn subscribed(&self) -> watch::Receiver<u64> {
        self.subscribed.subscribe()
    }

    pub(in crate::mcp) fn level(&self, session: &SessionKey) -> Option<String> {
        self.levels.read(session, Clone::clone)
    }
}

fn bytes_of(uris: &BTreeSet<String>) -> usize {
    uris.iter().map(String::len).sum()
}

/// A request under way. Must be dropped after what answers it: what the answering still opens is released here if its
/// session ended meanwhile.
pub(in crate::mcp) struct Begun {
    gateway: Arc<Gateway>,
    session_state: Arc<SessionState>,
    key: Key,
    pub(in crate::mcp) token: CancellationToken,
}

impl Drop for Begun {
    fn drop(&mut self) {
        self.session_state.running.take(&self.key);
        let session = &self.key.0;
        // The end of a session is noted before its sources are told (see `end`). So either it is seen here, or the
        // sources are told later than this, when everything this request opened is known to them.
        if self.session_state.is_over(session) {
            self.gateway.sources().session_ended(&session.caller, &session.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use toolmux_core::gateway::Settings;
    use toolmux_core::memory::MemoryStore;

    use super::*;
    use crate::mcp::template::MOST_URI_BYTES;

    fn session(caller: &str, id: usize) -> SessionKey {
        SessionKey { caller: caller.into(), id: id.to_string().into() }
    }

    #[test]
    fn sessions_of_one_caller_do_not_evict_those_of_another() {
        let gateway = Gateway::new(Settings::default(), Arc::new(MemoryStore::default()));
        let (session_state, alice) = (SessionState::default(), session("alice", 0));
        session_state.set_level(&alice, "error".to_owned());
        assert!(session_state.subscribe(&alice, "file:///a"));
        session_state.end(&gateway, &session("alice", 1));
        for id in 0..20_000 {
            let session = session("mallory", id);
            session_state.set_level(&session, "debug".to_owned());
            session_state.subscribe(&session, "file:///m");
            session_state.end(&gateway, &session);
        }
        assert_eq!(session_state.level(&alice).as_deref(), Some("error"));
        assert_eq!(session_state.subscriptions(&alice).len(), 1);
        assert!(session_state.is_over(&session("alice", 1)));
        assert!(
            session_state.is_over(&session("mallory", 19_999))
                && !session_state.is_over(&session("mallory", 0))
        );
    }

    #[test]
    fn a_session_follows_resources_bounded_in_number_and_bytes() {
        let (session_state, one, other) =
            (SessionState::default(), session("mallory", 0), session("mallory", 1));
        let followed =
            (0..200).filter(|number| session_state.subscribe(&one, &format!("file:///{number}"))).count();
        assert_eq!(followed, MOST_SUBSCRIPTIONS);
        assert!(session_state.subscribe(&one, "file:///1"), "it follows this one already");
        session_state.unsubscribe(&one, "file:///1");
        assert!(session_state.subscribe(&one, "file:///new"));
        let long = |number| format!("file:///{number}{}", "x".repeat(MOST_URI_BYTES - 20));
        let followed = (0..50).filter(|number| session_state.subscribe(&other, &long(*number))).count();
        assert_eq!(followed, SUBSCRIPTION_BYTES / MOST_URI_BYTES);
    }
}
