//! Pauses before a server that keeps failing is started again.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The pause after a second failure in a row; it doubles.
const FIRST: Duration = Duration::from_millis(100);
/// A connection that lived this long was a good one.
const STEADY: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(super) struct Backoff {
    longest: Duration,
    state: Mutex<(u32, Option<Instant>)>,
}

impl Backoff {
    pub(super) fn new(longest: Duration) -> Self {
        Backoff { longest, state: Mutex::default() }
    }

    /// Notes the end of a connection, or of an attempt, that lived for `lived`.
    pub(super) fn ended(&self, lived: Duration) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let failures = if lived >= STEADY { 1 } else { state.0.saturating_add(1) };
        // The first restart is at once: most crashes are alone.
        let pause = match failures {
            0 | 1 => Duration::ZERO,
            more => FIRST.saturating_mul(1 << (more - 2).min(20)).min(self.longest),
        };
        *state = (failures, Some(Instant::now() + pause));
    }

    /// How long the pause still is.
    pub(super) fn left(&self) -> Option<Duration> {
        let until = self.state.lock().unwrap_or_else(PoisonError::into_inner).1?;
        until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(lived: &[Duration], expect_pause: bool) {
        let backoff = Backoff::new(Duration::from_hours(1));
        for lived in lived {
            backoff.ended(*lived);
        }
        assert_eq!(backoff.left().is_some(), expect_pause, "{lived:?}");
    }

    #[test]
    fn only_failures_in_a_row_earn_a_pause() {
        let (short, long) = (Duration::ZERO, Duration::from_mins(1));
        check(&[], false);
        check(&[short], false);
        check(&[short, short], true);
        check(&[short, short, long], false);
    }
}
