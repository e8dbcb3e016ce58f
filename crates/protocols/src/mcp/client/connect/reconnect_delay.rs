//! Pauses before a server that keeps failing is started again.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use toolmux_core::backoff::Backoff;

/// The pause after a second failure in a row; it doubles.
const FIRST: Duration = Duration::from_millis(100);
/// A connection that lived this long was a useful one.
pub(in crate::mcp) const STEADY: Duration = Duration::from_secs(10);

/// What a connection was good for before it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mcp) enum ConnectionUse {
    /// It answered a call, or lived for [`STEADY`]: its end is a crash like any other.
    Useful,
    /// Neither, or there was none: the next may end in the same way.
    Useless,
}

/// When a server that ended may be started again.
#[derive(Debug)]
pub(in crate::mcp) struct ReconnectDelay(Mutex<DelayState>);

#[derive(Debug)]
struct DelayState {
    pauses: Backoff,
    /// It ended at least once; the next end without use is a second failure in a row.
    has_ended: bool,
    until: Option<Instant>,
}

impl ReconnectDelay {
    pub(in crate::mcp) fn new(longest: Duration) -> Self {
        let pauses = Backoff::new(FIRST, longest);
        ReconnectDelay(Mutex::new(DelayState { pauses, has_ended: false, until: None }))
    }

    /// Notes the end of a connection, or of an attempt.
    pub(in crate::mcp) fn ended(&self, used: ConnectionUse) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if used == ConnectionUse::Useful {
            state.pauses.reset();
        }
        // The first restart is at once: most crashes are alone.
        let is_first = used == ConnectionUse::Useful || !state.has_ended;
        let pause = if is_first { Duration::ZERO } else { state.pauses.next_pause() };
        (state.has_ended, state.until) = (true, Some(Instant::now() + pause));
    }

    /// How long the pause still is.
    pub(in crate::mcp) fn left(&self) -> Option<Duration> {
        let until = self.0.lock().unwrap_or_else(PoisonError::into_inner).until?;
        until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(uses: &[ConnectionUse], expect_pause: bool) {
        let delay = ReconnectDelay::new(Duration::from_hours(1));
        for used in uses {
            delay.ended(*used);
        }
        assert_eq!(delay.left().is_some(), expect_pause, "{uses:?}");
    }

    #[test]
    fn only_failures_in_a_row_earn_a_pause() {
        use ConnectionUse::{Useful, Useless};
        check(&[], false);
        check(&[Useless], false);
        check(&[Useless, Useless], true);
        check(&[Useless, Useless, Useful], false);
        check(&[Useful; 9], false);
        check(&[Useful, Useless, Useless], true);
    }
}
