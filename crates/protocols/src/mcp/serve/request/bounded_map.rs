//! A map that is bounded in entries and bytes, for each caller and for all together. A caller who has too much loses
//! its own entry that was unused for longest; only when all together have too much does the caller who has the most
//! lose one.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

/// How much is kept.
#[derive(Clone, Copy, Debug)]
pub(in crate::mcp) struct Bounds {
    /// Entries of one caller, and of all.
    pub(in crate::mcp) entries: [usize; 2],
    /// Bytes of one caller, and of all. One entry of a caller is kept however large it is.
    pub(in crate::mcp) bytes: [usize; 2],
}

/// A key of a caller.
pub(in crate::mcp) trait OfCaller {
    /// Whose it is.
    fn caller(&self) -> &Arc<str>;
    /// How many bytes it has itself.
    fn bytes(&self) -> usize;
}

pub(in crate::mcp) struct BoundedMap<K, V> {
    bounds: Bounds,
    all: Mutex<All<K, V>>,
}

struct All<K, V> {
    callers: HashMap<Arc<str>, Own<K, V>>,
    entries: usize,
    bytes: usize,
    /// Counts uses, which are the age of an entry.
    uses: u64,
}

struct Own<K, V> {
    entries: HashMap<K, Entry<V>>,
    by_use: BTreeMap<u64, K>,
    bytes: usize,
}

struct Entry<V> {
    value: V,
    bytes: usize,
    used: u64,
}

impl<K: OfCaller + Hash + Eq + Clone, V> BoundedMap<K, V> {
    pub(in crate::mcp) fn new(bounds: Bounds) -> Self {
        let all = All { callers: HashMap::new(), entries: 0, bytes: 0, uses: 0 };
        BoundedMap { bounds, all: Mutex::new(all) }
    }

    /// Keeps a value of so many bytes in the place of what was there.
    pub(in crate::mcp) fn put(&self, key: K, value: V, bytes: usize) {
        // Values may do things when dropped, which must not happen under the lock.
        let _gone = self.locked(|all| {
            let mut gone: Vec<V> = all.take(&key).into_iter().collect();
            all.put(key.clone(), value, bytes);
            all.make_room(key.caller(), self.bounds, &mut gone);
            gone
        });
    }

    /// Changes a value, or what stands for none; `change` gives it back with its bytes. Of two changes at the same
    /// time none is lost.
    pub(in crate::mcp) fn change(&self, key: &K, change: impl FnOnce(V) -> (V, usize))
    where
        V: Default,
    {
        let _gone = self.locked(|all| {
            let (value, bytes) = change(all.take(key).unwrap_or_default());
            all.put(key.clone(), value, bytes);
            let mut gone = Vec::new();
            all.make_room(key.caller(), self.bounds, &mut gone);
            gone
        });
    }

    pub(in crate::mcp) fn take(&self, key: &K) -> Option<V> {
        self.locked(|all| all.take(key))
    }

    /// Looks at a value, which counts as a use.
    pub(in crate::mcp) fn read<T>(&self, key: &K, read: impl FnOnce(&V) -> T) -> Option<T> {
        self.locked(|all| {
            all.uses += 1;
            let own = all.callers.get_mut(key.caller())?;
            let entry = own.entries.get_mut(key)?;
            own.by_use.remove(&entry.used);
            entry.used = all.uses;
            own.by_use.insert(all.uses, key.clone());
            Some(read(&entry.value))
        })
    }

    fn locked<T>(&self, change: impl FnOnce(&mut All<K, V>) -> T) -> T {
        change(&mut self.all.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<K: OfCaller + Hash + Eq + Clone, V> All<K, V> {
    fn put(&mut self, key: K, value: V, bytes: usize) {
        self.uses += 1;
        let bytes = bytes + key.bytes();
        let new = || Own { entries: HashMap::new(), by_use: BTreeMap::new(), bytes: 0 };
        let own = self.callers.entry(Arc::clone(key.caller())).or_insert_with(new);
        own.by_use.insert(self.uses, key.clone());
        own.entries.insert(key, Entry { value, bytes, used: self.uses });
        own.bytes += bytes;
        self.bytes += bytes;
        self.entries += 1;
    }

    fn take(&mut self, key: &K) -> Option<V> {
        let own = self.callers.get_mut(key.caller())?;
        let entry = own.entries.remove(key)?;
        own.by_use.remove(&entry.used);
        own.bytes -= entry.bytes;
        self.bytes -= entry.bytes;
        self.entries -= 1;
        if own.entries.is_empty() {
            self.callers.remove(key.caller());
        }
        Some(entry.value)
    }

    fn make_room(&mut self, caller: &Arc<str>, bounds: Bounds, gone: &mut Vec<V>) {
        let over = |own: &Own<K, V>| {
            own.entries.len() > bounds.entries[0] || (own.bytes > bounds.bytes[0] && own.entries.len() > 1)
        };
        while self.callers.get(caller).is_some_and(over) {
            gone.extend(self.take_oldest(caller));
        }
        while self.entries > bounds.entries[1] || (self.bytes > bounds.bytes[1] && self.entries > 1) {
            let by_bytes = self.entries <= bounds.entries[1];
            let held = |own: &Own<K, V>| if by_bytes { own.bytes } else { own.entries.len() };
            let largest = self.callers.iter().max_by_key(|(_, own)| held(own));
            let Some(largest) = largest.map(|(caller, _)| Arc::clone(caller)) else { return };
            gone.extend(self.take_oldest(&largest));
        }
    }

    fn take_oldest(&mut self, caller: &Arc<str>) -> Option<V> {
        let oldest = self.callers.get(caller)?.by_use.first_key_value()?.1.clone();
        self.take(&oldest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    struct Key(Arc<str>, u32);

    impl OfCaller for Key {
        fn caller(&self) -> &Arc<str> {
            &self.0
        }

        fn bytes(&self) -> usize {
            0
        }
    }

    fn key(caller: &str, number: u32) -> Key {
        Key(caller.into(), number)
    }

    fn map() -> BoundedMap<Key, u32> {
        BoundedMap::new(Bounds { entries: [3, 5], bytes: [100, 150] })
    }

    fn kept(map: &BoundedMap<Key, u32>, caller: &str) -> Vec<u32> {
        (0..50).filter(|number| map.read(&key(caller, *number), |_| ()).is_some()).collect()
    }

    #[test]
    fn a_caller_with_too_many_loses_its_own_that_was_unused_for_longest() {
        let map = map();
        map.put(key("alice", 0), 0, 1);
        for number in 0..20 {
            map.put(key("mallory", number), number, 1);
            map.read(&key("mallory", 0), |_| ());
        }
        assert_eq!(kept(&map, "mallory"), [0, 18, 19]);
        assert_eq!(kept(&map, "alice"), [0]);
    }

    #[test]
    fn when_all_have_too_much_the_largest_loses() {
        let map = map();
        for (caller, number) in [("alice", 0), ("bob", 0), ("bob", 1), ("bob", 2), ("carol", 0), ("dave", 0)]
        {
            map.put(key(caller, number), number, 1);
        }
        assert_eq!(kept(&map, "bob"), [1, 2]);
        for caller in ["alice", "carol", "dave"] {
            assert_eq!(kept(&map, caller), [0], "{caller}");
        }
    }

    #[test]
    fn bytes_are_bounded_and_one_entry_is_kept() {
        let map = map();
        map.put(key("alice", 0), 0, 40);
        map.put(key("mallory", 0), 0, 60);
        map.put(key("mallory", 1), 1, 60);
        assert_eq!(kept(&map, "mallory"), [1]);
        map.put(key("mallory", 2), 2, 500);
        assert_eq!(kept(&map, "alice"), [0]);
        assert_eq!(map.take(&key("alice", 0)), Some(0));
        assert_eq!(map.take(&key("alice", 0)), None);
    }
}
