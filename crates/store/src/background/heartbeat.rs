//! Our own heartbeat, and what it lets us say of others. While the database was away nobody could renew a lease, and all
//! of them have run out when it is back: whoever comes first must not take the others for dead. So nobody is dead before
//! we have renewed our own lease without a gap for as long as a lease lasts: in that time all others could renew theirs too.

/// When we beat, by the clock all servers share.
#[derive(Debug, Default)]
pub(crate) struct Heartbeat {
    last: Option<i64>,
    /// Since when we have beaten without a gap.
    steady: i64,
}

impl Heartbeat {
    /// A gap is more than half a lease; heartbeats come four times in one.
    pub(crate) fn beat(&mut self, now: i64, lease: i64) {
        // Half a lease, not a whole one: with a gap that is only just shorter than a lease another server's lease may
        // have run out in it, although that server renewed as soon as it could.
        if self.last.is_none_or(|last| now - last > lease / 2) {
            self.steady = now;
        }
        self.last = Some(now);
    }

    /// Whoever's lease ended before this is dead. Nobody's did while our own heartbeat is late: what keeps us from the
    /// database may keep others from it.
    pub(crate) fn dead_before(&self, now: i64, lease: i64) -> i64 {
        let beats = self.last.is_some_and(|last| now - last <= lease / 2);
        if beats && now - self.steady >= lease { now } else { i64::MIN }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a lease that ended long ago means death, at `now`, to one who beat at these times.
    fn check(beats: &[i64], now: i64, expect: bool) {
        let mut heartbeat = Heartbeat::default();
        for beat in beats {
            heartbeat.beat(*beat, 100);
        }
        assert_eq!(heartbeat.dead_before(now, 100) == now, expect, "{beats:?} {now}");
    }

    #[test]
    fn nobody_is_dead_to_one_who_just_came() {
        check(&[0], 0, false);
        check(&[0, 25, 50, 75], 99, false);
        check(&[0, 25, 50, 75, 100], 100, true);
    }

    #[test]
    fn nobody_is_dead_after_an_outage_until_all_had_a_lease_to_beat() {
        check(&[0, 25, 50, 75, 100], 151, false);
        check(&[0, 25, 50, 75, 100, 400], 400, false);
        check(&[0, 25, 50, 75, 100, 400, 425, 450, 475], 499, false);
        check(&[0, 25, 50, 75, 100, 400, 425, 450, 475, 500], 500, true);
    }
}
