//! Which objects are open, whose each is, and how many each caller may have. One table per source: a handle of one
//! source means nothing to another.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::text::{HandleId, NOT_OPEN};
use super::ticket::{Given, Slot, Ticket};
use super::used::UsedHandles;

/// Who asks: the caller, and the user for whom it acts.
#[derive(Clone, Copy, Debug)]
pub(in crate::opendyn) struct Owner<'a> {
    pub(in crate::opendyn) caller: &'a str,
    pub(in crate::opendyn) user: Option<&'a str>,
    /// The session in which it asks. It decides when objects are released, and nothing about whose they are.
    pub(in crate::opendyn) session: Option<&'a Arc<str>>,
}

pub(in crate::opendyn) struct TableSettings {
    /// Objects that one caller may have open.
    pub(in crate::opendyn) quota: usize,
    /// How long an object stays that nobody uses.
    pub(in crate::opendyn) idle: Duration,
    /// Kinds of objects that can be closed for their owner.
    pub(in crate::opendyn) closable: HashSet<String>,
}

/// The caller has as many objects open as it may.
#[derive(Debug)]
pub(in crate::opendyn) struct QuotaExceeded {
    pub(in crate::opendyn) quota: usize,
}

pub(in crate::opendyn) struct HandleTable {
    state: Mutex<State>,
    settings: TableSettings,
    /// Tells whoever closes released objects to look.
    pub(super) wake: Notify,
}

#[derive(Default)]
struct State {
    entries: HashMap<HandleId, Entry>,
    by_word: HashMap<u64, HandleId>,
    /// By the name of the caller. Users do not have one each: a key could name as many users as it likes.
    accounts: HashMap<Arc<str>, Account>,
    last_account: u64,
    last_sequence: u64,
    /// How many entries can be closed for their owner.
    closable: usize,
}

struct Account {
    /// A caller that has left and comes back has another number: what it had before is not its own any more.
    number: u64,
    /// Objects that are open, and those that calls on their way may open.
    taken: usize,
}

/// Whose an object is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Holder {
    caller: Arc<str>,
    account: u64,
    user: Option<Arc<str>>,
}

struct Entry {
    tag: String,
    word: u64,
    holder: Holder,
    /// The session in which it was opened. None if that was outside of any, or in several: then it is released with
    /// none of them.
    session: Option<Arc<str>>,
    /// The handles that the call which opened it was given: the object may be a part of theirs.
    made_from: Vec<HandleId>,
    used: Instant,
    /// Objects are closed in the reverse order of this: a part before what it is a part of.
    sequence: u64,
    /// Can be closed for its owner.
    closable: bool,
    /// Nobody can use it any more; it counts until it is closed.
    released: bool,
}

/// A handle in a RESULT.
pub(super) struct Found<'a> {
    pub(super) tag: &'a str,
    pub(super) word: u64,
    pub(super) closable: bool,
}

/// An object to close.
pub(super) struct Due {
    pub(super) id: HandleId,
    pub(super) word: u64,
    pub(super) tag: String,
}

impl HandleTable {
    pub(in crate::opendyn) fn new(settings: TableSettings) -> Arc<Self> {
        Arc::new(HandleTable { state: Mutex::default(), settings, wake: Notify::new() })
    }

    /// Held only for moments. No code of ours panics while it holds the lock, and none takes another one.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The object behind a text, if it is the owner's own.
    pub(super) fn find(&self, owner: Owner<'_>, tag: &str, text: &str) -> Result<(HandleId, u64), String> {
        let id = HandleId::parse(tag, text)?;
        let mut state = self.lock();
        let entry = state.entries.get(&id).filter(|entry| !entry.released && entry.tag == tag);
        let entry = entry.filter(|entry| state.is_of(&entry.holder, owner));
        let word = entry.map(|entry| entry.word).ok_or(NOT_OPEN)?;
        state.touch(id);
        Ok((id, word))
    }

    /// Room for the objects that a call may open.
    pub(in crate::opendyn) fn reserve(
        self: &Arc<Self>,
        used: UsedHandles<'_>,
        opens: usize,
        slots: &Arc<[Slot]>,
    ) -> Result<Ticket, QuotaExceeded> {
        let owner = used.owner();
        let holder = if opens == 0 { None } else { Some(self.take(owner, opens)?) };
        Ok(Ticket {
            table: Arc::clone(self),
            holder,
            reserved: opens,
            session: owner.session.cloned(),
            made_from: used.ids,
            closing: used.closing,
            slots: Arc::clone(slots),
        })
    }

    fn take(&self, owner: Owner<'_>, count: usize) -> Result<Holder, QuotaExceeded> {
        let quota = self.settings.quota;
        let mut guard = self.lock();
        let state = &mut *guard;
        let taken = state.accounts.get(owner.caller).map_or(0, |account| account.taken);
        if taken + count > quota {
            return Err(QuotaExceeded { quota });
        }
        let caller = match state.accounts.get_key_value(owner.caller) {
            Some((caller, _)) => Arc::clone(caller),
            None => Arc::from(owner.caller),
        };
        let account = state.accounts.entry(Arc::clone(&caller)).or_insert_with(|| {
            state.last_account += 1;
            Account { number: state.last_account, taken: 0 }
        });
        account.taken += count;
        Ok(Holder { caller, account: account.number, user: owner.user.map(Arc::from) })
    }

    pub(super) fn is_closable(&self, tag: &str) -> bool {
        self.settings.closable.contains(tag)
    }

    pub(super) fn give_back(&self, holder: &Holder, count: usize) {
        self.lock().give_back(holder, count);
    }

    /// Enters what a call has closed and opened, in place of what it reserved.
    pub(super) fn settle(&self, ticket: &mut Ticket, found: &[Found<'_>]) -> Vec<Given> {
        let mut state = self.lock();
        for id in &ticket.closing {
            state.remove(*id);
        }
        let Some(holder) = ticket.holder.take() else { return Vec::new() };
        let watched = state.closable > 0;
        let mut given = Vec::with_capacity(found.len());
        for found in found {
            given.push(state.open(&holder, ticket, found));
        }
        state.give_back(&holder, ticket.reserved);
        // Whoever closes objects sleeps until the oldest is due, and for ever when there is none: a newer one needs no
        // word, the first one does. So does one whose caller left while the call ran.
        if !watched && state.closable > 0 || !state.is_present(&holder) {
            self.wake.notify_one();
        }
        given
    }

    /// Handles that nobody was told of are closed, where that can be done; where not, they count until their worker
    /// ends.
    pub(super) fn abandon(&self, ids: impl Iterator<Item = HandleId>) {
        let mut state = self.lock();
        for id in ids {
            if let Some(entry) = state.entries.get_mut(&id) {
                entry.released = true;
            }
        }
        drop(state);
        self.wake.notify_one();
    }

    /// Forgets an object that is closed.
    pub(super) fn remove(&self, id: HandleId) {
        self.lock().remove(id);
    }

    /// Releases what belongs to callers that are not let in any more.
    pub(in crate::opendyn) fn callers_left(&self, has_left: &dyn Fn(&str) -> bool) {
        let mut guard = self.lock();
        let state = &mut *guard;
        let before = state.accounts.len();
        state.accounts.retain(|caller, _| !has_left(caller));
        if state.accounts.len() == before {
            return;
        }
        let mut gone = Vec::new();
        for (id, entry) in &mut state.entries {
            let present = state.accounts.get(&entry.holder.caller);
            if present.is_none_or(|account| account.number != entry.holder.account) {
                entry.released = true;
                if !entry.closable {
                    gone.push(*id);
                }
            }
        }
        for id in gone {
            state.remove(id);
        }
        drop(guard);
        self.wake.notify_one();
    }

    /// Releases what was opened in a session that has ended. What nothing can close counts until its worker ends:
    /// otherwise its caller would get around the quota with a new session for each object.
    pub(in crate::opendyn) fn session_ended(&self, caller: &str, session: &str) {
        let mut state = self.lock();
        let mut found = false;
        for entry in state.entries.values_mut() {
            if *entry.holder.caller == *caller && entry.session.as_deref() == Some(session) {
                (entry.released, found) = (true, true);
            }
        }
        drop(state);
        if found {
            self.wake.notify_one();
        }
    }

    /// A worker has ended, and all its objects with it.
    pub(in crate::opendyn) fn worker_gone(&self, generation: u32) {
        let mut state = self.lock();
        let gone = state.entries.iter().filter(|(_, entry)| entry.generation() == generation);
        let gone: Vec<HandleId> = gone.map(|(id, _)| *id).collect();
        for id in gone {
            state.remove(id);
        }
    }

    /// Whether somebody can still use an object of a worker, which is not idle then.
    pub(in crate::opendyn) fn is_holding(&self, generation: u32) -> bool {
        self.lock().entries.values().any(|entry| !entry.released && entry.generation() == generation)
    }

    /// What is to be closed now, in the order in which to do it. Nobody can use it any more from here on.
    pub(super) fn due(&self, now: Instant) -> Vec<Due> {
        let mut state = self.lock();
        let mut entries: Vec<(&HandleId, &mut Entry)> = state.entries.iter_mut().collect();
        entries.sort_unstable_by_key(|(_, entry)| entry.sequence);
        let (mut due, mut gone, mut ending) = (Vec::new(), Vec::new(), HashSet::new());
        for (id, entry) in entries {
            // Using an object also counts as using what it was made from, so that a part is never used later than
            // the whole. One that nothing closes ends with what it was made from.
            let is_old =
                entry.closable && (entry.released || now.duration_since(entry.used) >= self.settings.idle);
            if !is_old && !entry.made_from.iter().any(|whole| ending.contains(whole)) {
                continue;
            }
            entry.released = true;
            ending.insert(*id);
            if entry.closable {
                due.push(Due { id: *id, word: entry.word, tag: entry.tag.clone() });
            } else {
                gone.push(*id);
            }
        }
        for id in gone {
            state.remove(id);
        }
        due.reverse();
        due
    }

    /// When the next object will have been idle for too long.
    pub(super) fn next_due(&self) -> Option<Instant> {
        let state = self.lock();
        let closable = state.entries.values().filter(|entry| entry.closable);
        closable.map(|entry| entry.used).min().and_then(|used| used.checked_add(self.settings.idle))
    }
}

impl Entry {
    fn generation(&self) -> u32 {
        (self.word >> 32) as u32
    }
}

impl State {
    fn is_of(&self, holder: &Holder, owner: Owner<'_>) -> bool {
        *holder.caller == *owner.caller && holder.user.as_deref() == owner.user && self.is_present(holder)
    }

    fn is_present(&self, holder: &Holder) -> bool {
        self.accounts.get(&holder.caller).is_some_and(|account| account.number == holder.account)
    }

    /// An object that a function gave. One that its caller has already keeps its handle. One that another caller has
    /// is taken from there: either the library has closed it by a function whose description does not say so, and the
    /// address is that of a new object; or the library gives one object to all, and whoever asks again gets it again.
    fn open(&mut self, holder: &Holder, ticket: &Ticket, found: &Found<'_>) -> Given {
        if let Some(id) = self.by_word.get(&found.word).copied() {
            let known = self.entries.get_mut(&id);
            let own = known.filter(|entry| entry.holder == *holder && !entry.released);
            if let Some(entry) = own {
                // The other session still has it when one of them ends.
                entry.session.take_if(|session| ticket.session.as_ref() != Some(session));
                return Given { word: found.word, id, fresh: false };
            }
            self.remove(id);
        }
        self.last_sequence += 1;
        let present =
            self.accounts.get_mut(&holder.caller).filter(|account| account.number == holder.account);
        let released = present.is_none();
        if let Some(account) = present {
            account.taken += 1;
        }
        let id = HandleId::random();
        self.by_word.insert(found.word, id);
        self.closable += usize::from(found.closable);
        let entry = Entry {
            tag: found.tag.to_owned(),
            word: found.word,
            holder: holder.clone(),
            session: ticket.session.clone(),
            made_from: ticket.made_from.clone(),
            used: Instant::now(),
            sequence: self.last_sequence,
            closable: found.closable,
            released,
        };
        self.entries.insert(id, entry);
        Given { word: found.word, id, fresh: true }
    }

    /// Notes that an object is used, and so is what it was made from.
    fn touch(&mut self, id: HandleId) {
        let now = Instant::now();
        let mut unseen = vec![id];
        while let Some(id) = unseen.pop() {
            let Some(entry) = self.entries.get_mut(&id).filter(|entry| entry.used != now) else { continue };
            entry.used = now;
            unseen.extend_from_slice(&entry.made_from);
        }
    }

    fn remove(&mut self, id: HandleId) {
        let Some(entry) = self.entries.remove(&id) else { return };
        self.by_word.remove(&entry.word);
        self.closable -= usize::from(entry.closable);
        self.give_back(&entry.holder, 1);
    }

    fn give_back(&mut self, holder: &Holder, count: usize) {
        let Some(account) = self.accounts.get_mut(&holder.caller) else { return };
        if account.number == holder.account {
            account.taken = account.taken.saturating_sub(count);
            if account.taken == 0 {
                self.accounts.remove(&holder.caller);
            }
        }
    }
}

#[cfg(test)]
mod tests;
