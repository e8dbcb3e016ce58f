//! The queue before a gate: callers get turns one after the other, however many calls each has waiting.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// What waits, by caller. It does not lock or wake anybody: the gate does.
#[derive(Debug)]
pub(super) struct FairQueue<W> {
    /// Callers with something waiting, the next one to get a turn first.
    order: VecDeque<Arc<str>>,
    waiting: HashMap<Arc<str>, VecDeque<(u64, W)>>,
    total: usize,
    next_id: u64,
}

/// What came of joining a queue.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Joined<W> {
    /// It waits, under this number.
    Waits(u64),
    /// It waits in the place of another caller's newest, which is out.
    Displaced(u64, W),
    /// There is no room.
    Full,
}

impl<W> Default for FairQueue<W> {
    fn default() -> Self {
        FairQueue { order: VecDeque::new(), waiting: HashMap::new(), total: 0, next_id: 0 }
    }
}

impl<W> FairQueue<W> {
    pub(super) fn len(&self) -> usize {
        self.total
    }

    pub(super) fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// Joins behind the caller's own. When `most` wait already, a caller that has fewer waiting than the one
    /// with most takes the place of the newest of that one.
    pub(super) fn join(&mut self, caller: &Arc<str>, waiter: W, most: usize) -> Joined<W> {
        // Were the queue only first come, first served, one caller could fill it and have everybody else refused.
        let displaced = if self.total < most {
            None
        } else {
            match self.newest_of_largest(caller) {
                Some(displaced) => Some(displaced),
                None => return Joined::Full,
            }
        };
        let id = self.next_id;
        self.next_id += 1;
        let own = self.waiting.entry(Arc::clone(caller)).or_default();
        // A caller stands in `order` exactly once while it has something waiting, however much: one turn each round.
        if own.is_empty() {
            self.order.push_back(Arc::clone(caller));
        }
        own.push_back((id, waiter));
        self.total += 1;
        displaced.map_or(Joined::Waits(id), |displaced| Joined::Displaced(id, displaced))
    }

    /// Takes out whoever is next: the oldest of the caller whose turn it is.
    pub(super) fn next(&mut self) -> Option<W> {
        let caller = self.order.pop_front()?;
        let own = self.waiting.get_mut(&caller)?;
        let (_, waiter) = own.pop_front()?;
        self.total -= 1;
        if own.is_empty() {
            // Callers that wait for nothing leave nothing behind: names can be many.
            self.waiting.remove(&caller);
        } else {
            self.order.push_back(caller);
        }
        Some(waiter)
    }

    /// Takes out what waits under a number, unless it is out already.
    pub(super) fn leave(&mut self, caller: &Arc<str>, id: u64) -> Option<W> {
        let own = self.waiting.get_mut(caller)?;
        // Numbers of one caller only grow from front to back.
        let place = own.binary_search_by_key(&id, |(id, _)| *id).ok()?;
        self.take(&Arc::clone(caller), place)
    }

    fn newest_of_largest(&mut self, caller: &Arc<str>) -> Option<W> {
        let mine = self.waiting.get(caller).map_or(0, VecDeque::len);
        let (largest, own) = self.waiting.iter().max_by_key(|(_, own)| own.len())?;
        let (largest, newest) = (Arc::clone(largest), own.len().checked_sub(1)?);
        // Only a caller with fewer waiting may displace: two that have as many would displace each other for ever. The
        // newest goes, because it has waited least.
        (mine <= newest).then(|| self.take(&largest, newest))?
    }

    fn take(&mut self, caller: &Arc<str>, place: usize) -> Option<W> {
        let own = self.waiting.get_mut(caller)?;
        let (_, waiter) = own.remove(place)?;
        self.total -= 1;
        if own.is_empty() {
            self.waiting.remove(caller);
            self.order.retain(|other| other != caller);
        }
        Some(waiter)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn joined(queue: &mut FairQueue<String>, caller: &str, waiter: &str, most: usize) -> Joined<String> {
        queue.join(&Arc::from(caller), waiter.to_owned(), most)
    }

    fn rest(queue: &mut FairQueue<String>) -> Vec<String> {
        std::iter::from_fn(|| queue.next()).collect()
    }

    #[test]
    fn callers_get_turns_one_after_the_other() {
        let mut queue = FairQueue::default();
        for (caller, waiter) in [("a", "a1"), ("a", "a2"), ("a", "a3"), ("b", "b1"), ("b", "b2")] {
            joined(&mut queue, caller, waiter, 9);
        }
        assert_eq!(rest(&mut queue), ["a1", "b1", "a2", "b2", "a3"]);
        assert!(queue.is_empty());
    }

    #[test]
    fn a_full_queue_makes_room_for_whoever_has_fewer_waiting() {
        let mut queue = FairQueue::default();
        for waiter in ["a1", "a2", "a3"] {
            joined(&mut queue, "a", waiter, 3);
        }
        assert_eq!(joined(&mut queue, "a", "a4", 3), Joined::Full);
        assert_eq!(joined(&mut queue, "b", "b1", 3), Joined::Displaced(3, "a3".to_owned()));
        assert_eq!(joined(&mut queue, "b", "b2", 3), Joined::Displaced(4, "a2".to_owned()));
        assert_eq!(joined(&mut queue, "b", "b3", 3), Joined::Full, "b has most waiting now");
        assert_eq!(rest(&mut queue), ["a1", "b1", "b2"]);
        assert_eq!(joined(&mut queue, "a", "a5", 0), Joined::Full, "no queue at all");
    }

    #[test]
    fn whoever_leaves_gets_no_turn() {
        let mut queue = FairQueue::default();
        let a: Arc<str> = Arc::from("a");
        for waiter in ["a1", "a2"] {
            joined(&mut queue, "a", waiter, 9);
        }
        joined(&mut queue, "b", "b1", 9);
        assert_eq!(queue.leave(&a, 0).as_deref(), Some("a1"));
        assert_eq!(queue.leave(&a, 0), None, "it is out already");
        assert_eq!(rest(&mut queue), ["a2", "b1"]);
    }

    #[derive(Clone, Debug)]
    enum Step {
        Join(u8),
        Next,
        Leave(u8, u64),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (0..4u8).prop_map(Step::Join),
            Just(Step::Next),
            (0..4u8, 0..60u64).prop_map(|(caller, id)| Step::Leave(caller, id)),
        ]
    }

    proptest! {
        #[test]
        fn whatever_happens_everybody_is_out_exactly_once(
            steps in proptest::collection::vec(step(), 0..80), most in 0..6usize
        ) {
            let mut queue = FairQueue::default();
            let (mut inside, mut number) = (std::collections::HashSet::new(), 0u64);
            for step in steps {
                match step {
                    Step::Join(caller) => {
                        let caller: Arc<str> = Arc::from(caller.to_string());
                        match queue.join(&caller, number, most) {
                            Joined::Full => {}
                            Joined::Waits(_) => prop_assert!(inside.insert(number)),
                            Joined::Displaced(_, out) => {
                                prop_assert!(inside.insert(number) && inside.remove(&out));
                            }
                        }
                        number += 1;
                    }
                    Step::Next => match queue.next() {
                        Some(out) => prop_assert!(inside.remove(&out)),
                        None => prop_assert!(inside.is_empty()),
                    },
                    Step::Leave(caller, id) => {
                        if let Some(out) = queue.leave(&Arc::from(caller.to_string()), id) {
                            prop_assert!(inside.remove(&out));
                        }
                    }
                }
                prop_assert!(inside.len() <= most && queue.is_empty() == inside.is_empty());
            }
            while let Some(out) = queue.next() {
                prop_assert!(inside.remove(&out));
            }
            prop_assert!(inside.is_empty());
        }
    }
}
