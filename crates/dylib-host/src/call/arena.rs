//! Memory for the buffers of one call. Each parameter has its own region: a mapping between two pages that
//! cannot be touched. A buffer ends where the upper guard begins, so reading or writing past it faults at
//! once; in front of it lies a canary. A region is kept between calls: no system call in steady state.

use std::io;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use crate::plan::MAX_PARAMETERS;

const CANARY: [u8; 16] = *b"\xc5toolmux\xcacanary\x5c";
const SMALLEST: usize = 64 << 10;
/// Larger regions are given back after the call.
const KEPT: usize = 1 << 20;

/// Where the regions lie, for the signal handler: it may read this at any moment.
#[derive(Debug, Default)]
pub(crate) struct Ranges {
    bounds: [(AtomicUsize, AtomicUsize); MAX_PARAMETERS],
    live: AtomicU32,
}

impl Ranges {
    /// The parameter of the running call whose region, guards included, holds the address.
    pub(crate) fn parameter_at(&self, address: usize) -> Option<usize> {
        let live = self.live.load(Ordering::Relaxed);
        self.bounds.iter().enumerate().find_map(|(index, (low, high))| {
            let region = low.load(Ordering::Relaxed)..high.load(Ordering::Relaxed);
            (live >> index & 1 == 1 && region.contains(&address)).then_some(index)
        })
    }
}

#[derive(Debug, Default)]
pub(super) struct Arena {
    regions: [Option<Region>; MAX_PARAMETERS],
    ranges: Arc<Ranges>,
}

impl Arena {
    pub(super) fn ranges(&self) -> Arc<Ranges> {
        Arc::clone(&self.ranges)
    }

    /// Room for `bytes` in the region of a parameter, its content undefined, with a fresh canary in front.
    pub(super) fn place(&mut self, index: usize, bytes: usize) -> io::Result<*mut u8> {
        let region = &mut self.regions[index];
        let region = match region {
            Some(kept) if kept.fits(bytes) => kept,
            _ => {
                *region = None;
                let fresh = region.insert(Region::map(bytes)?);
                let (low, high) = &self.ranges.bounds[index];
                low.store(fresh.base as usize, Ordering::Relaxed);
                high.store(fresh.base as usize + fresh.length, Ordering::Relaxed);
                fresh
            }
        };
        Ok(region.place(bytes))
    }

    /// Tells the signal handler which parameters have a buffer in the call that starts now.
    pub(super) fn set_live(&self, parameters: u32) {
        self.ranges.live.store(parameters, Ordering::Relaxed);
    }

    /// Whether the canary in front of a buffer is whole. Says yes for parameters that have none.
    pub(super) fn is_intact(&self, index: usize) -> bool {
        self.regions[index].as_ref().is_none_or(Region::is_intact)
    }

    /// Unmaps what is too large to keep.
    pub(super) fn give_back(&mut self, mut parameters: u32) {
        while parameters != 0 {
            let region = &mut self.regions[parameters.trailing_zeros() as usize];
            if region.as_ref().is_some_and(|region| region.length > KEPT) {
                *region = None;
            }
            parameters &= parameters - 1;
        }
    }
}

#[derive(Debug)]
struct Region {
    base: *mut u8,
    length: usize,
    page: usize,
    placed: usize,
}

// SAFETY: a region owns its mapping, which is valid in every thread.
unsafe impl Send for Region {}

impl Region {
    fn map(bytes: usize) -> io::Result<Self> {
        let page = page_size();
        let room = (bytes + CANARY.len()).max(SMALLEST).next_multiple_of(page);
        let length = room + 2 * page;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new anonymous mapping at an address of the kernel's choice touches nothing of ours.
        let base = unsafe { libc::mmap(ptr::null_mut(), length, libc::PROT_NONE, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let region = Self { base: base.cast(), length, page, placed: 0 };
        // SAFETY: the range lies inside the mapping made above.
        let opened = unsafe { libc::mprotect(base.byte_add(page), room, libc::PROT_READ | libc::PROT_WRITE) };
        if opened == 0 { Ok(region) } else { Err(io::Error::last_os_error()) }
    }

    fn fits(&self, bytes: usize) -> bool {
        bytes + CANARY.len() <= self.length - 2 * self.page
    }

    fn place(&mut self, bytes: usize) -> *mut u8 {
        self.placed = bytes;
        let start = self.start();
        // SAFETY: `fits` or `map` made room for the canary and the bytes between the guards.
        unsafe { start.sub(CANARY.len()).cast::<[u8; 16]>().write_unaligned(CANARY) };
        start
    }

    fn is_intact(&self) -> bool {
        // SAFETY: the canary was written to this place by `place`.
        unsafe { self.start().sub(CANARY.len()).cast::<[u8; 16]>().read_unaligned() == CANARY }
    }

    fn start(&self) -> *mut u8 {
        // SAFETY: the result lies inside the mapping, at most at the start of the upper guard.
        unsafe { self.base.add(self.length - self.page - self.placed) }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours and no pointer into it outlives the call that used it.
        unsafe { libc::munmap(self.base.cast(), self.length) };
    }
}

fn page_size() -> usize {
    // SAFETY: `sysconf` only reads.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_ends_at_the_guard_and_its_canary_is_whole() {
        let mut arena = Arena::default();
        for bytes in [0, 1, 8, 4096, 200_000, 3 << 20, 5] {
            let start = arena.place(4, bytes).unwrap() as usize;
            assert_eq!((start + bytes) % page_size(), 0);
            assert!(arena.is_intact(4));
        }
    }

    #[test]
    fn an_address_in_a_guard_names_the_parameter_only_while_it_is_live() {
        let mut arena = Arena::default();
        let start = arena.place(4, 10).unwrap() as usize;
        let ranges = arena.ranges();
        assert_eq!(ranges.parameter_at(start + 10), None);
        arena.set_live(1 << 4);
        assert_eq!(ranges.parameter_at(start + 10), Some(4));
        assert_eq!(ranges.parameter_at(start - SMALLEST), Some(4));
        assert_eq!(ranges.parameter_at(8), None);
    }

    #[test]
    fn a_write_in_front_breaks_the_canary() {
        let mut arena = Arena::default();
        let start = arena.place(0, 10).unwrap();
        // SAFETY: the byte in front of a buffer is part of its canary.
        unsafe { start.sub(1).write(0) };
        assert!(!arena.is_intact(0));
    }

    #[test]
    fn only_large_lanes_are_given_back() {
        let mut arena = Arena::default();
        arena.place(0, 10).unwrap();
        arena.place(1, 2 << 20).unwrap();
        arena.give_back(0b11);
        assert!(arena.regions[0].is_some());
        assert!(arena.regions[1].is_none());
    }
}
