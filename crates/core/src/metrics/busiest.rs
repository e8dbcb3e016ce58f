//! A bounded number of label values: the busiest have a place of their own, all others share one. Whoever comes again
//! and again keeps its place; a place whose holder has become rare goes to whoever comes next.

use std::collections::HashMap;
use std::time::{Duration, Instant};

/// How long a place is kept at least: series that come and go cost whoever stores them.
const STAY: Duration = Duration::from_mins(10);
/// The weight beyond which being busy counts no more, so that a holder that stops can lose its place.
const MOST_WEIGHT: u32 = 1_000;

/// Where the choice of places begins; any number but 0.
const SEED: u64 = 0x9e37_79b9_7f4a_7c15;
/// The name under which all names without a place are counted.
const OTHER: &str = "other";

/// Values by name, for a bounded number of names.
///
/// Each use of a name that has a place adds to the weight of that place. Each use of one that has none takes from one
/// place, chosen at random, so that a place is lost by being used less than an equal share of what has none. Both cost the same
/// whatever the number of names is.
#[derive(Clone, Debug)]
pub(super) struct BusiestTable<V> {
    places: HashMap<Box<str>, usize>,
    held: Vec<HeldPlace<V>>,
    most: usize,
    /// The place of the name that was used last: most come many times in a row.
    last: usize,
    /// Chooses the place that a use of a name without one takes from.
    random: u64,
    other: V,
}

#[derive(Clone, Debug)]
struct HeldPlace<V> {
    name: Box<str>,
    weight: u32,
    since: Instant,
    value: V,
}

impl<V: Default> BusiestTable<V> {
    pub(super) fn new(most: usize) -> Self {
        BusiestTable {
            places: HashMap::new(),
            held: Vec::new(),
            most,
            last: 0,
            random: SEED,
            other: V::default(),
        }
    }

    /// How many names have a place from now on. Those beyond it lose theirs.
    pub(super) fn resize(&mut self, most: usize) {
        self.most = most;
        for place in self.held.drain(self.held.len().min(most)..) {
            self.places.remove(&place.name);
        }
    }

    /// The value of a name, or the one that names without a place share.
    pub(super) fn of(&mut self, name: &str, now: Instant) -> &mut V {
        let is_last = self.held.get(self.last).is_some_and(|held| *held.name == *name);
        let known = if is_last { Some(self.last) } else { self.places.get(name).copied() };
        let place = match known {
            Some(place) => {
                let held = &mut self.held[place];
                held.weight = (held.weight + 1).min(MOST_WEIGHT);
                Some(place)
            }
            None => self.take_place(name, now),
        };
        let Some(place) = place else { return &mut self.other };
        self.last = place;
        &mut self.held[place].value
    }

    /// The value of a name that has a place.
    pub(super) fn get(&self, name: &str) -> Option<&V> {
        self.places.get(name).map(|place| &self.held[*place].value)
    }

    /// A place for a new name: one that nobody has, or one that its holder uses too little.
    fn take_place(&mut self, name: &str, now: Instant) -> Option<usize> {
        if name == OTHER {
            return None;
        }
        let new = || HeldPlace { name: name.into(), weight: 1, since: now, value: V::default() };
        if self.held.len() < self.most {
            self.held.push(new());
            self.places.insert(name.into(), self.held.len() - 1);
            return Some(self.held.len() - 1);
        }
        let place = self.random_place()?;
        let held = &mut self.held[place];
        held.weight = held.weight.saturating_sub(1);
        if held.weight > 0 || now.saturating_duration_since(held.since) < STAY {
            return None;
        }
        let before = std::mem::replace(held, new());
        self.places.remove(&before.name);
        self.places.insert(name.into(), place);
        Some(place)
    }

    /// Not in turn: names that come in a rhythm would always take from the same place.
    fn random_place(&mut self) -> Option<usize> {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        usize::try_from(self.random >> 1).ok()?.checked_rem(self.held.len())
    }

    /// Every name that has a place with its value, and what all others share.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &V)> {
        let held = self.held.iter().map(|place| (&*place.name, &place.value));
        held.chain(std::iter::once((OTHER, &self.other)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(table: &BusiestTable<u64>) -> Vec<&str> {
        let mut names: Vec<&str> = table.iter().map(|(name, _)| name).collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn what_has_no_place_is_counted_together() {
        let (mut table, now) = (BusiestTable::<u64>::new(2), Instant::now());
        for name in ["a", "b", "c", "a", "d"] {
            *table.of(name, now) += 1;
        }
        let counted: Vec<_> = table.iter().map(|(name, count)| (name, *count)).collect();
        assert_eq!(counted, [("a", 2), ("b", 1), ("other", 2)]);
    }

    /// Three busy names among thousands that each come once, which had all places before.
    #[test]
    fn the_busiest_get_the_places_and_keep_them() {
        let (mut table, begin) = (BusiestTable::<u64>::new(4), Instant::now());
        let mut total = 0;
        for round in 0..20_000_u64 {
            let now = begin + Duration::from_secs(round);
            for name in [format!("rare {round}"), format!("busy {}", round % 3)] {
                *table.of(&name, now) += 1;
                total += 1;
            }
            assert!(table.iter().count() <= 5);
        }
        let names = names(&table);
        for busy in ["busy 0", "busy 1", "busy 2"] {
            assert!(names.contains(&busy), "{names:?}");
        }
        assert!(table.iter().map(|(_, count)| count).sum::<u64>() <= total);
    }

    #[test]
    fn a_place_is_kept_for_a_while_though_its_holder_is_gone() {
        let (mut table, now) = (BusiestTable::<u64>::new(1), Instant::now());
        table.of("a", now);
        for _ in 0..10 {
            table.of("b", now + STAY / 2);
        }
        assert_eq!(names(&table), ["a", "other"]);
        table.of("b", now + STAY);
        assert_eq!(names(&table), ["b", "other"]);
    }

    #[test]
    fn without_places_all_are_counted_together() {
        let (mut table, now) = (BusiestTable::<u64>::new(2), Instant::now());
        table.of("a", now);
        table.resize(0);
        table.of("a", now);
        table.of("b", now);
        assert_eq!(names(&table), ["other"]);
        table.resize(1);
        table.of("b", now);
        assert_eq!(names(&table), ["b", "other"]);
    }
}
