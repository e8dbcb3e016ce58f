//! How many connections one address has open: whoever opens many must not take them all.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// What holds for addresses beyond this machine when nothing is said.
const USUAL: usize = 1_024;

/// How often a refused address is logged.
const TELL_EVERY: Duration = Duration::from_mins(1);

/// The connections of each address.
#[derive(Debug)]
pub(super) struct Addresses {
    /// `None`: the usual bound, and none for this machine, where a proxy may be that all come by.
    most: Option<usize>,
    open: Mutex<HashMap<IpAddr, usize>>,
    told: Mutex<Option<Instant>>,
}

impl Addresses {
    pub(super) fn new(most: Option<usize>) -> Arc<Self> {
        Arc::new(Addresses { most, open: Mutex::default(), told: Mutex::default() })
    }

    /// Counts a connection until what is returned is dropped; `None` when its address has too many.
    pub(super) fn enter(self: &Arc<Self>, address: IpAddr) -> Option<Counted> {
        let owner = owner_of(address);
        let usual = if owner.is_loopback() { usize::MAX } else { USUAL };
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let count = open.entry(owner).or_default();
        if *count >= self.most.unwrap_or(usual).max(1) {
            drop(open);
            self.tell(owner);
            return None;
        }
        *count += 1;
        Some(Counted { addresses: Arc::clone(self), owner })
    }

    fn tell(&self, owner: IpAddr) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.is_none_or(|at| at.elapsed() >= TELL_EVERY) {
            *told = Some(Instant::now());
            tracing::warn!(
                "connections of `{owner}` are closed at once: it has too many (`limits.connections_per_address`)"
            );
        }
    }
}

/// One connection of an address.
pub(super) struct Counted {
    addresses: Arc<Addresses>,
    owner: IpAddr,
}

impl Drop for Counted {
    fn drop(&mut self) {
        let mut open = self.addresses.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Entry::Occupied(mut count) = open.entry(self.owner) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }
}

/// Who has an address. Networks of IPv6 are given out by 64 bits, so that one machine has any number of addresses.
fn owner_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) if !address.is_loopback() => {
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64))
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of these connections, all open at once, are let in.
    fn check(most: Option<usize>, addresses: &[&str], expect: usize) {
        let counted = Addresses::new(most);
        let open: Vec<Counted> =
            addresses.iter().filter_map(|address| counted.enter(address.parse().unwrap())).collect();
        assert_eq!(open.len(), expect, "{most:?} {addresses:?}");
        drop(open);
        assert!(counted.open.lock().unwrap().is_empty(), "what is closed is not counted");
    }

    #[test]
    fn each_address_has_its_own_bound() {
        check(Some(2), &["192.0.2.1", "192.0.2.1", "192.0.2.1", "192.0.2.2"], 3);
        check(Some(1), &["::ffff:192.0.2.1", "192.0.2.1"], 1);
        check(Some(1), &["2001:db8::1", "2001:db8::2", "2001:db8:0:1::1"], 2);
    }

    #[test]
    fn this_machine_is_bounded_only_when_that_is_said() {
        check(None, &vec!["127.0.0.1"; USUAL + 1], USUAL + 1);
        check(None, &vec!["192.0.2.1"; USUAL + 1], USUAL);
        check(Some(3), &["127.0.0.1"; 5], 3);
        check(Some(3), &["::1"; 5], 3);
    }
}
