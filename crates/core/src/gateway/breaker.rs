//! A source that fails again and again gets a rest, so that its callers hear so at once.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::limits::Limits;

static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Counts failures in a row. After a rest one call is let through to try.
#[derive(Debug, Default)]
pub struct Breaker {
    failures: AtomicU32,
    closed_until: AtomicU64,
}

impl Breaker {
    /// Lets a call through, or says how long the rest still is.
    pub(super) fn check(&self, limits: &Limits) -> Result<(), Duration> {
        if self.failures.load(Ordering::Relaxed) < limits.breaker_failures {
            return Ok(());
        }
        let (now, until) = (millis(), self.closed_until.load(Ordering::Relaxed));
        if now < until {
            return Err(Duration::from_millis(until - now));
        }
        // Whoever moves the mark is the one that tries.
        let next = now + millis_of(limits.breaker_rest);
        let won = self.closed_until.compare_exchange(until, next, Ordering::Relaxed, Ordering::Relaxed);
        won.map(drop).map_err(|_| limits.breaker_rest)
    }

    pub(super) fn succeeded(&self) {
        if self.failures.load(Ordering::Relaxed) != 0 {
            self.failures.store(0, Ordering::Relaxed);
        }
    }

    pub(super) fn failed(&self, limits: &Limits) {
        if self.failures.fetch_add(1, Ordering::Relaxed) + 1 >= limits.breaker_failures {
            self.closed_until.store(millis() + millis_of(limits.breaker_rest), Ordering::Relaxed);
        }
    }
}

fn millis() -> u64 {
    millis_of(START.elapsed())
}

fn millis_of(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(rest: Duration) -> Limits {
        Limits { breaker_failures: 2, breaker_rest: rest, ..Limits::default() }
    }

    #[test]
    fn repeated_failures_earn_a_rest_and_success_ends_it() {
        let (breaker, limits) = (Breaker::default(), limits(Duration::from_hours(1)));
        breaker.failed(&limits);
        assert!(breaker.check(&limits).is_ok());
        breaker.failed(&limits);
        assert!(breaker.check(&limits).is_err());
        breaker.succeeded();
        assert!(breaker.check(&limits).is_ok());
    }

    #[test]
    fn after_the_rest_one_call_tries() {
        let (breaker, short) = (Breaker::default(), limits(Duration::ZERO));
        breaker.failed(&short);
        breaker.failed(&short);
        let long = limits(Duration::from_hours(1));
        assert!(breaker.check(&long).is_ok(), "the one that tries");
        assert!(breaker.check(&long).is_err(), "all others");
    }
}
