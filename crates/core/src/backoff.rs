//! Pauses between attempts: each twice as long as the one before, up to a bound.

use std::time::Duration;

/// The pauses of one series of attempts.
#[derive(Clone, Copy, Debug)]
pub struct Backoff {
    first: Duration,
    longest: Duration,
    next: Duration,
}

impl Backoff {
    /// Pauses that begin with `first` and never exceed `longest`.
    pub const fn new(first: Duration, longest: Duration) -> Self {
        Backoff { first, longest, next: first }
    }

    /// The pause before the next attempt; the one after it will be twice as long.
    pub fn next_pause(&mut self) -> Duration {
        let pause = self.next.min(self.longest);
        self.next = pause.saturating_mul(2);
        pause
    }

    /// Begins anew, after an attempt that succeeded.
    pub fn reset(&mut self) {
        self.next = self.first;
    }
}

#[cfg(test)]
mod tests {
    use super::Backoff;
    use std::time::Duration;

    #[test]
    fn pauses_double_up_to_the_longest_and_begin_anew() {
        let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_millis(350));
        let pauses = [(); 4].map(|()| backoff.next_pause().as_millis());
        assert_eq!(pauses, [100, 200, 350, 350]);
        backoff.reset();
        assert_eq!(backoff.next_pause().as_millis(), 100);
    }
}
