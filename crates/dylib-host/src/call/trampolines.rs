//! Functions for a library to call, one for each of the callbacks that can be registered at a time. Which arguments a call
//! has is known only to the plan: numbers and pointers arrive in six registers and then on the stack, floats in registers
//! of their own, so one signature takes them all.

/// What a callback was called with.
pub(super) struct Received {
    /// Numbers and pointers in their order.
    pub(super) words: [u64; WORDS],
    /// Floats in their order, as bits.
    pub(super) floats: [u64; FLOATS],
}

/// Numbers and pointers that are received: six in registers, the others on the stack.
pub(super) const WORDS: usize = 10;
pub(super) const FLOATS: usize = 8;
/// Callbacks that can be registered at a time.
pub(super) const SLOTS: usize = 32;

type Trampoline = extern "C" fn(
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    f64,
    f64,
    f64,
    f64,
    f64,
    f64,
    f64,
    f64,
    u64,
    u64,
    u64,
    u64,
) -> u64;

static TRAMPOLINES: [Trampoline; SLOTS] = [
    enter::<0>,
    enter::<1>,
    enter::<2>,
    enter::<3>,
    enter::<4>,
    enter::<5>,
    enter::<6>,
    enter::<7>,
    enter::<8>,
    enter::<9>,
    enter::<10>,
    enter::<11>,
    enter::<12>,
    enter::<13>,
    enter::<14>,
    enter::<15>,
    enter::<16>,
    enter::<17>,
    enter::<18>,
    enter::<19>,
    enter::<20>,
    enter::<21>,
    enter::<22>,
    enter::<23>,
    enter::<24>,
    enter::<25>,
    enter::<26>,
    enter::<27>,
    enter::<28>,
    enter::<29>,
    enter::<30>,
    enter::<31>,
];

/// The code of a slot, as an argument.
pub(super) fn address(slot: usize) -> u64 {
    TRAMPOLINES[slot] as *const () as usize as u64
}

#[expect(clippy::many_single_char_names, reason = "they are the registers and the stack of a call by C")]
extern "C" fn enter<const SLOT: usize>(
    a: u64,
    b: u64,
    c: u64,
    d: u64,
    e: u64,
    f: u64,
    s: f64,
    t: f64,
    u: f64,
    v: f64,
    w: f64,
    x: f64,
    y: f64,
    z: f64,
    g: u64,
    h: u64,
    i: u64,
    j: u64,
) -> u64 {
    let floats = [s, t, u, v, w, x, y, z].map(f64::to_bits);
    super::callbacks::called(SLOT, &Received { words: [a, b, c, d, e, f, g, h, i, j], floats })
}
