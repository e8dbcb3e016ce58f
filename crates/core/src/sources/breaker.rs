//! The circuit breaker: a source, or a tool, that fails again and again is not called for a while, so that its
//! callers are refused at once.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::limits::Limits;
use crate::millis::millis;

static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Counts failures in a row and opens after too many. When it has been open long enough, one call is let
/// through to probe.
#[derive(Debug, Default)]
pub(crate) struct Breaker {
    failures: AtomicU32,
    open_until: AtomicU64,
}

/// How many failures in a row there were when a call began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Since(u32);

/// What a failure did to the breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counted {
    /// Nothing that callers notice.
    Closed,
    /// It has just opened.
    Opened,
}

impl Breaker {
    /// Notes where a call begins, for [`Breaker::failed`].
    pub(crate) fn begin(&self) -> Since {
        Since(self.failures.load(Ordering::Relaxed))
    }

    /// Lets a call through, or says how long the breaker stays open.
    pub(crate) fn check(&self, limits: &Limits) -> Result<(), Duration> {
        if self.failures.load(Ordering::Relaxed) < limits.breaker_failures {
            return Ok(());
        }
        let (now, until) = (since_start(), self.open_until.load(Ordering::Relaxed));
        if now < until {
            return Err(Duration::from_millis(until - now));
        }
        // Several calls may find the time over at once. Whoever moves the mark is the probe; should it never
        // answer, the next one is let through after the same time again.
        let next = now + millis(limits.breaker_rest);
        let won = self.open_until.compare_exchange(until, next, Ordering::Relaxed, Ordering::Relaxed);
        won.map(drop).map_err(|_| limits.breaker_rest)
    }

    /// For how long it still refuses calls; nothing when it lets one through.
    pub(crate) fn open_for(&self, limits: &Limits) -> Option<Duration> {
        let until = self.open_until.load(Ordering::Relaxed);
        let is_open = self.failures.load(Ordering::Relaxed) >= limits.breaker_failures;
        let left = until.checked_sub(since_start()).filter(|left| is_open && *left > 0);
        left.map(Duration::from_millis)
    }

    /// Whether calls are refused, or one of them probes.
    pub(super) fn is_open(&self, limits: &Limits) -> bool {
        self.failures.load(Ordering::Relaxed) >= limits.breaker_failures
    }

    /// The source answered, whatever it said.
    pub(crate) fn answered(&self) {
        if self.failures.load(Ordering::Relaxed) != 0 {
            self.failures.store(0, Ordering::Relaxed);
        }
    }

    /// Counts a failure of a call that began at `since`, unless another one was counted meanwhile. One broken
    /// connection fails every call that is on it, and every retry of each: together they are one failure. The
    /// compare-exchange lets exactly one of them count; a call that begins afterwards sees the new number and
    /// can count the next failure.
    pub(crate) fn failed(&self, since: Since, limits: &Limits) -> Counted {
        let Since(seen) = since;
        let count = seen.saturating_add(1);
        let counted = self.failures.compare_exchange(seen, count, Ordering::Relaxed, Ordering::Relaxed);
        if counted.is_err() || count < limits.breaker_failures {
            return Counted::Closed;
        }
        self.open_until.store(since_start() + millis(limits.breaker_rest), Ordering::Relaxed);
        if count == limits.breaker_failures { Counted::Opened } else { Counted::Closed }
    }
}

fn since_start() -> u64 {
    millis(START.elapsed())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(rest: Duration) -> Limits {
        Limits { breaker_failures: 2, breaker_rest: rest, ..Limits::default() }
    }

    fn fail(breaker: &Breaker, limits: &Limits) -> Counted {
        breaker.failed(breaker.begin(), limits)
    }

    #[test]
    fn repeated_failures_open_it_and_an_answer_closes_it() {
        let (breaker, limits) = (Breaker::default(), limits(Duration::from_hours(1)));
        assert_eq!(fail(&breaker, &limits), Counted::Closed);
        assert!(breaker.check(&limits).is_ok());
        assert_eq!(fail(&breaker, &limits), Counted::Opened);
        assert!(breaker.check(&limits).is_err());
        breaker.answered();
        assert!(breaker.check(&limits).is_ok());
    }

    #[test]
    fn calls_that_fail_together_count_once() {
        let (breaker, limits) = (Breaker::default(), limits(Duration::from_hours(1)));
        let together = [breaker.begin(), breaker.begin(), breaker.begin()];
        for since in together {
            breaker.failed(since, &limits);
        }
        assert!(breaker.check(&limits).is_ok());
        fail(&breaker, &limits);
        assert!(breaker.check(&limits).is_err());
    }

    #[test]
    fn after_a_while_one_call_probes() {
        let (breaker, short) = (Breaker::default(), limits(Duration::ZERO));
        fail(&breaker, &short);
        fail(&breaker, &short);
        let long = limits(Duration::from_hours(1));
        assert!(breaker.check(&long).is_ok(), "the probe");
        assert!(breaker.check(&long).is_err(), "all others");
        fail(&breaker, &long);
        assert!(breaker.check(&long).is_err(), "a probe that failed");
    }
}
