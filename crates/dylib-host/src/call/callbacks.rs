//! Callbacks that are registered: which slot belongs to which callback, and what they have collected. A library may call
//! from threads of its own, so all of it is behind locks; none is held while code of a library runs.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char, c_void};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use super::items::{item, product, words};
use super::trampolines::{Received, SLOTS, address};
use crate::callback::{Callback, CallbackAction, CallbackReturn, Compared};
use crate::scalar::Scalar;

/// One callback that a library has.
struct Registered {
    plan: Arc<Callback>,
    /// The object that it belongs to, if it stays.
    object: Option<usize>,
    items: Items,
}

/// JSON objects with commas between them.
#[derive(Default)]
struct Items {
    json: Vec<u8>,
    most: usize,
}

static REGISTERED: Mutex<[Option<Registered>; SLOTS]> = Mutex::new([const { None }; SLOTS]);
/// What the listeners of each object have collected.
static HEARD: LazyLock<Mutex<HashMap<usize, Items>>> = LazyLock::new(Mutex::default);

/// Gives a callback a slot: its number and the code for C. A listener that an object has already is replaced.
pub(super) fn register(plan: &Arc<Callback>, object: Option<usize>, most: usize) -> Option<(usize, u64)> {
    let mut slots = lock(&REGISTERED);
    let is_same =
        |known: &Registered| object.is_some() && known.object == object && known.plan.name == plan.name;
    let same = slots.iter().position(|slot| slot.as_ref().is_some_and(is_same));
    let slot = same.or_else(|| slots.iter().position(Option::is_none))?;
    let items = Items { json: Vec::new(), most };
    slots[slot] = Some(Registered { plan: Arc::clone(plan), object, items });
    Some((slot, address(slot)))
}

/// What a callback has collected, as a JSON array.
pub(super) fn take(slot: usize) -> Vec<u8> {
    let mut slots = lock(&REGISTERED);
    slots[slot].as_mut().map_or_else(Items::default, |known| std::mem::take(&mut known.items)).array()
}

/// Ends a callback.
pub(super) fn finish(slot: usize) {
    lock(&REGISTERED)[slot] = None;
}

/// Ends the listeners of an object that is closed.
pub(super) fn object_closed(object: usize) {
    for slot in lock(&REGISTERED).iter_mut() {
        if slot.as_ref().is_some_and(|known| known.object == Some(object)) {
            *slot = None;
        }
    }
    lock(&HEARD).remove(&object);
}

/// What the listeners of an object have collected since they were asked last, as a text that `free` frees. It is called
/// like a function of the library.
pub(super) extern "C" fn collected(object: *const c_void) -> *mut c_char {
    let heard = lock(&HEARD).remove(&(object as usize)).unwrap_or_default();
    let text = CString::new(heard.array()).unwrap_or_default();
    // SAFETY: `text` is a C string; `strdup` copies it.
    unsafe { libc::strdup(text.as_ptr()) }
}

/// A library calls the callback of a slot.
pub(super) fn called(slot: usize, received: &Received) -> u64 {
    let plan = lock(&REGISTERED)[slot].as_ref().map(|known| Arc::clone(&known.plan));
    // A library may call what it was given for another call: nothing can be said to that.
    let Some(plan) = plan else { return 0 };
    match &plan.does {
        CallbackAction::Compare(compared) => {
            let [a, b, ..] = received.words;
            // SAFETY: the plan says what the pointers lead to.
            let order = unsafe { compare(*compared, a, b) };
            i64::from(order as i8).cast_unsigned()
        }
        CallbackAction::Collect { parts, returns, full } => {
            let words = words(parts, received);
            let name = plan.listener.map(|_| plan.name.as_str());
            // SAFETY: the plan says what the library calls with.
            let item = unsafe { item(name, parts, &words, most_of(slot)) };
            if !add(slot, &item.to_string()) {
                return *full;
            }
            match returns {
                CallbackReturn::Fixed(value) => *value,
                CallbackReturn::Product(factors) => product(factors, &words),
            }
        }
    }
}

fn most_of(slot: usize) -> usize {
    lock(&REGISTERED)[slot].as_ref().map_or(0, |known| known.items.most)
}

/// Whether there was room for it.
fn add(slot: usize, json: &str) -> bool {
    let mut slots = lock(&REGISTERED);
    let Some(known) = slots[slot].as_mut() else { return false };
    match known.object {
        None => known.items.push(json),
        Some(object) => {
            let mut heard = lock(&HEARD);
            let items = heard.entry(object).or_default();
            items.most = known.items.most;
            items.push(json)
        }
    }
}

impl Items {
    fn push(&mut self, json: &str) -> bool {
        if self.json.len() + json.len() + 3 > self.most {
            return false;
        }
        if !self.json.is_empty() {
            self.json.push(b',');
        }
        self.json.extend_from_slice(json.as_bytes());
        true
    }

    fn array(self) -> Vec<u8> {
        [b"[", &*self.json, b"]"].concat()
    }
}

/// # Safety
/// `a` and `b` lead to elements of the compared type.
unsafe fn compare(compared: Compared, a: u64, b: u64) -> Ordering {
    match compared {
        Compared::Number(scalar) => {
            // SAFETY: as above.
            let (a, b) = unsafe { (read(scalar, a), read(scalar, b)) };
            match (scalar.integer(a), scalar.integer(b)) {
                (Some(a), Some(b)) => a.cmp(&b),
                _ => float(scalar, a).total_cmp(&float(scalar, b)),
            }
        }
        Compared::Texts => {
            // SAFETY: as above; each element is a pointer to a C string.
            let text = |at: u64| unsafe { CStr::from_ptr((at as *const *const c_char).read_unaligned()) };
            text(a).cmp(text(b))
        }
    }
}

/// # Safety
/// `address` leads to a value of that type.
unsafe fn read(scalar: Scalar, address: u64) -> u64 {
    // SAFETY: as above.
    scalar.read(unsafe { std::slice::from_raw_parts(address as *const u8, scalar.size()) })
}

fn float(scalar: Scalar, word: u64) -> f64 {
    if scalar.size() == 4 { f64::from(f32::from_bits(word as u32)) } else { f64::from_bits(word) }
}

/// No code that holds a lock panics.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
