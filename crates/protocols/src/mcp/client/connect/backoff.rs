//! Pauses before a server that keeps failing is started again.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The pause after a second failure in a row; it doubles.
const FIRST: Duration = Duration::from_millis(100);
/// A connection that lived this long was a useful one.
pub(in crate::mcp) const STEADY: Duration = Duration::from_secs(10);

/// What a connection was good for before it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mcp) enum Life {
    /// It answered a call, or lived for [`STEADY`]: its end is a crash like any other.
    Useful,
    /// Neither, or there was none: the next may end in the same way.
    Useless,
}

#[derive(Debug)]
pub(in crate::mcp) struct Backoff {
    longest: Duration,
    state: Mutex<(u32, Option<Instant>)>,
}

impl Backoff {
    pub(in crate::mcp) fn new(longest: Duration) -> Self {
        Backoff { longest, state: Mutex::default() }
    }

    /// Notes the end of a connection, or of an attempt.
    pub(in crate::mcp) fn ended(&self, life: Life) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let failures = match life {
            Life::Useful => 1,
            Life::Useless => state.0.saturating_add(1),
        };
        // The first restart is at once: most crashes are alone.
        let pause = match failures {
            0 | 1 => Duration::ZERO,
            more => FIRST.saturating_mul(1 << (more - 2).min(20)).min(self.longest),
        };
        *state = (failures, Some(Instant::now() + pause));
    }

    /// How long the pause still is.
    pub(in crate::mcp) fn left(&self) -> Option<Duration> {
        let until = self.state.lock().unwrap_or_else(PoisonError::into_inner).1?;
        until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(lives: &[Life], expect_pause: bool) {
        let backoff = Backoff::new(Duration::from_hours(1));
        for life in lives {
            backoff.ended(*life);
        }
        assert_eq!(backoff.left().is_some(), expect_pause, "{lives:?}");
    }

    #[test]
    fn only_failures_in_a_row_earn_a_pause() {
        use Life::{Useful, Useless};
        check(&[], false);
        check(&[Useless], false);
        check(&[Useless, Useless], true);
        check(&[Useless, Useless, Useful], false);
        check(&[Useful; 9], false);
        check(&[Useful, Useless, Useless], true);
    }
}
