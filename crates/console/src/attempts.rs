//! Attempts to sign in that failed: after too many within a minute nobody's are looked at for the rest of it.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Within which time failures are counted.
const WINDOW: Duration = Duration::from_mins(1);

/// The failures of the last minute.
#[derive(Debug)]
pub(crate) struct Attempts {
    most: usize,
    failures: VecDeque<Instant>,
}

impl Attempts {
    pub(crate) fn new(most: usize) -> Self {
        Attempts { most, failures: VecDeque::new() }
    }

    /// How long to wait before the next attempt is looked at.
    pub(crate) fn wait(&mut self, now: Instant) -> Option<Duration> {
        while self.failures.front().is_some_and(|at| now.duration_since(*at) >= WINDOW) {
            self.failures.pop_front();
        }
        let oldest = self.failures.front().filter(|_| self.failures.len() >= self.most)?;
        Some(WINDOW.saturating_sub(now.duration_since(*oldest)))
    }

    pub(crate) fn failed(&mut self, now: Instant) {
        self.failures.push_back(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_too_many_failures_one_waits_until_the_oldest_is_a_minute_old() {
        let (mut attempts, start) = (Attempts::new(2), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        attempts.failed(at(0));
        assert_eq!(attempts.wait(at(1)), None);
        attempts.failed(at(10));
        assert_eq!(attempts.wait(at(20)), Some(Duration::from_secs(40)));
        assert_eq!(attempts.wait(at(60)), None);
        attempts.failed(at(60));
        assert_eq!(attempts.wait(at(61)), Some(Duration::from_secs(9)));
    }
}
