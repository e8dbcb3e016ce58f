//! How much is kept, for how long, and how that is divided among callers.

use std::time::Duration;

use crate::task::LONGEST_KEPT;

/// How often what is older or more than allowed is removed.
pub const PRUNE_EVERY: Duration = Duration::from_secs(30);

/// How much is kept and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// How long ended calls are kept.
    pub calls_for: Duration,
    /// How many calls are kept at most, the newest of each caller.
    pub calls: u64,
    /// How many bytes of their results; what the store has room for when absent.
    pub calls_bytes: Option<u64>,
    /// How long a task may wait for its turn.
    pub pending_for: Duration,
    /// How long ended tasks are kept at most, whatever their submitters asked for.
    pub tasks_for: Duration,
    /// How many ended tasks are kept at most, the newest of each caller.
    pub tasks: u64,
    /// How many bytes of their results and updates; what the store has room for when absent.
    pub tasks_bytes: Option<u64>,
    /// How long audit records are kept.
    pub audit_for: Duration,
    /// How many audit records are kept at most besides those of refused calls, the newest of each caller.
    pub audit: u64,
    /// How many audit records of refused calls are kept at most, the newest of each caller.
    pub refusals: u64,
    /// The largest part of each of these numbers that one caller has, in percent.
    pub caller_share: u8,
    /// How long definitions are kept that no server has confirmed.
    pub definitions_for: Duration,
}

impl Default for Retention {
    fn default() -> Self {
        Retention {
            calls_for: Duration::from_hours(24 * 7),
            calls: 1_000_000,
            calls_bytes: None,
            pending_for: Duration::from_hours(24),
            tasks_for: LONGEST_KEPT,
            tasks: 100_000,
            tasks_bytes: None,
            audit_for: Duration::from_hours(24 * 90),
            audit: 100_000,
            refusals: 20_000,
            caller_share: 50,
            definitions_for: Duration::from_hours(24 * 30),
        }
    }
}

impl Retention {
    /// One of the numbers above with the share of one caller in it.
    pub fn quota(&self, total: u64) -> Quota {
        let share = (u128::from(total) * u128::from(self.caller_share.min(100))).div_ceil(100);
        Quota { total, share: u64::try_from(share).unwrap_or(total) }
    }
}

/// A number of records or bytes, and the part of it that one caller may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// What all callers may keep together.
    pub total: u64,
    /// The most that one of them may keep.
    pub share: u64,
}

impl Quota {
    /// The most that each caller may keep, given what each holds now. When all together hold too much, those who
    /// hold the most lose first, so that a caller who holds little loses nothing, whatever others do. Never less than
    /// one: where there are more callers than `total`, the store keeps the newest of all.
    pub fn level(&self, held: impl IntoIterator<Item = u64>) -> u64 {
        let mut held: Vec<u64> = held.into_iter().map(|held| held.min(self.share)).collect();
        held.sort_unstable();
        let least = self.share.min(1);
        let (mut left, mut callers) = (self.total, held.len() as u64);
        for held in held {
            let fair = left / callers;
            if held > fair {
                return fair.max(least);
            }
            left -= held;
            callers -= 1;
        }
        self.share
    }

    /// The same with an eighth left free. Making room costs a look at everything that is kept, so that it must not
    /// be due again at once.
    pub fn with_room(&self) -> Self {
        Quota { total: self.total - self.total / 8, share: self.share - self.share / 8 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_holds_the_most_loses_first() {
        let check = |held: &[u64], total, share, expect| {
            assert_eq!(Quota { total, share }.level(held.iter().copied()), expect, "{held:?}");
        };
        check(&[], 10, 5, 5);
        check(&[3, 9], 10, 5, 5);
        check(&[1, 1, 90], 10, 50, 8);
        check(&[5, 5, 5], 9, 5, 3);
        check(&[1, 5, 5], 9, 9, 4);
        check(&[1, 1], 0, 0, 0);
        check(&[1, 1], 1, 1, 1);
    }

    #[test]
    fn one_caller_may_have_at_least_one_of_any() {
        let retention = Retention::default();
        assert_eq!(retention.quota(1), Quota { total: 1, share: 1 });
        assert_eq!(retention.quota(u64::MAX).share, u64::MAX / 2 + 1);
        assert_eq!(retention.quota(0).share, 0);
    }
}
