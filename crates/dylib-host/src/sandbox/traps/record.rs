//! The latest refusals since the present call began. Signal handlers of all threads write, the thread that serves calls
//! reads. Everything is atomic: where a thread of the library goes on after its call, a text may be mixed of two, and no
//! harm is done, as it is only told to people.

use std::sync::atomic::{AtomicI64, AtomicU8, AtomicUsize, Ordering};

use libc::c_long;

use super::masks::is_readable;
use super::paths::Access;
use crate::denial::Denial;
use crate::sandbox::call_names::call_name;

/// How many are kept.
const KEPT: usize = 8;
/// How much is kept of a path.
const PATH: usize = 512;
/// No system has smaller pages.
const PAGE: u64 = 4096;

const READ: u8 = 1;
const WRITE: u8 = 2;
const CALL: u8 = 3;

struct Slot {
    /// The number of the refusal that is here, counted from one; zero while it is written.
    whole: AtomicUsize,
    kind: AtomicU8,
    call: AtomicI64,
    length: AtomicUsize,
    path: [AtomicU8; PATH],
}

static SLOTS: [Slot; KEPT] = [const { Slot::new() }; KEPT];
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// To be called before each call. Costs one load where nothing was refused.
pub(crate) fn forget_denials() {
    if COUNT.load(Ordering::Relaxed) != 0 {
        // The slots first: once the count is zero, a handler begins with the first of them again.
        for slot in &SLOTS {
            slot.whole.store(0, Ordering::Relaxed);
        }
        COUNT.store(0, Ordering::Release);
    }
}

/// What was refused since, the latest last, each once.
pub(crate) fn denials() -> Vec<Denial> {
    let count = COUNT.load(Ordering::Acquire);
    let mut denials: Vec<Denial> = Vec::new();
    for number in count.saturating_sub(KEPT)..count {
        let slot = &SLOTS[number % KEPT];
        if slot.whole.load(Ordering::Acquire) == number + 1 {
            let denial = slot.denial();
            denials.retain(|other| *other != denial);
            denials.push(denial);
        }
    }
    denials
}

pub(super) fn record_call(call: c_long) {
    record(|slot| {
        slot.kind.store(CALL, Ordering::Relaxed);
        slot.call.store(call, Ordering::Relaxed);
    });
}

pub(super) fn record_path(access: Access, address: u64) {
    record(|slot| {
        let kind = if access == Access::Read { READ } else { WRITE };
        slot.kind.store(kind, Ordering::Relaxed);
        slot.copy_path(address);
    });
}

fn record(write: impl FnOnce(&Slot)) {
    // Two threads get two numbers, and so two slots, unless eight refusals come while one is being written.
    let number = COUNT.fetch_add(1, Ordering::AcqRel);
    let slot = &SLOTS[number % KEPT];
    // A reader takes a slot only with the number that it expects there: not while it is written.
    slot.whole.store(0, Ordering::Relaxed);
    write(slot);
    slot.whole.store(number + 1, Ordering::Release);
}

impl Slot {
    const fn new() -> Self {
        Self {
            whole: AtomicUsize::new(0),
            kind: AtomicU8::new(0),
            call: AtomicI64::new(0),
            length: AtomicUsize::new(0),
            path: [const { AtomicU8::new(0) }; PATH],
        }
    }

    /// Copies a C string up to what is kept, and no further than memory can be read.
    fn copy_path(&self, address: u64) {
        let mut length = 0;
        for (byte, offset) in self.path.iter().zip(0..) {
            let at = address.wrapping_add(offset);
            // Eight aligned bytes are on one page.
            if (length == 0 || at % PAGE == 0) && !is_readable(at & !7) {
                break;
            }
            // SAFETY: this page was readable a moment ago. A library that unmaps it while it passes a path in it to the
            // kernel faults here instead of there.
            let letter = unsafe { std::ptr::with_exposed_provenance::<u8>(at as usize).read() };
            if letter == 0 {
                break;
            }
            byte.store(letter, Ordering::Relaxed);
            length += 1;
        }
        self.length.store(length, Ordering::Relaxed);
    }

    fn denial(&self) -> Denial {
        match self.kind.load(Ordering::Relaxed) {
            READ => Denial::Read(self.path()),
            WRITE => Denial::Write(self.path()),
            _ => Denial::Call(call_name(self.call.load(Ordering::Relaxed))),
        }
    }

    fn path(&self) -> String {
        let length = self.length.load(Ordering::Relaxed).min(PATH);
        let bytes: Vec<u8> = self.path[..length].iter().map(|byte| byte.load(Ordering::Relaxed)).collect();
        let end = if length == PATH { "…" } else { "" };
        format!("{}{end}", String::from_utf8_lossy(&bytes))
    }
}
