//! SIGSYS is never blocked: where a library asks for that, everything else that it asks for is done. Left are the masks of
//! calls that wait with one (`ppoll`, `rt_sigsuspend`): they hold in handlers of the library that run meanwhile.

use libc::{c_int, ucontext_t};

use super::machine::{Call, blocked};

const SIGSYS: u64 = 1 << (libc::SIGSYS - 1);
/// Bytes of a set of signals.
const SET: u64 = 8;
/// The words of the kernel's `sigaction`: handler, flags, restorer and mask.
const ACTION: usize = 4;
const MASK: usize = 3;
/// No way to change a mask.
const NO_WAY: u64 = 99;

/// `rt_sigprocmask`, except that SIGSYS stays unblocked. Returning from the handler sets the mask in the context.
pub(super) fn set_mask(call: &Call, context: &mut ucontext_t) -> i64 {
    let [how, set, old, size, ..] = call.arguments;
    let (before, how) = (*blocked(context), how as c_int);
    let after = match (how, read_words::<1>(set)) {
        (libc::SIG_BLOCK, Some([signals])) if size == SET => (before | signals) & !SIGSYS,
        (libc::SIG_SETMASK, Some([signals])) if size == SET => signals & !SIGSYS,
        // The kernel knows what is wrong with it.
        _ => return call.with_cookie().make(),
    };
    let arguments = [libc::SIG_SETMASK as u64, (&raw const after).expose_provenance() as u64, old, SET];
    let result = Call::own(libc::SYS_rt_sigprocmask, arguments).make();
    if result == 0 || result == -i64::from(libc::EFAULT) {
        // The kernel sets the mask before it finds that it cannot write the old one.
        *blocked(context) = after;
    }
    result
}

/// `rt_sigaction`, except that no handler blocks SIGSYS, and that the handler of SIGSYS stays as it is: to replace it
/// seems to succeed.
pub(super) fn set_action(call: &Call) -> i64 {
    let [signal, action, old, size, ..] = call.arguments;
    if signal as c_int == libc::SIGSYS {
        return Call::own(call.number, [signal, 0, old, size]).make();
    }
    let Some(mut action) = read_words::<ACTION>(action) else { return call.with_cookie().make() };
    action[MASK] &= !SIGSYS;
    Call::own(call.number, [signal, (&raw const action).expose_provenance() as u64, old, size]).make()
}

/// The next signal of this kind ends the process.
pub(super) fn restore_default(signal: c_int) {
    let default = [0_u64; ACTION];
    let arguments = [signal as u64, (&raw const default).expose_provenance() as u64, 0, SET];
    Call::own(libc::SYS_rt_sigaction, arguments).make();
}

/// Whether 8 bytes can be read at an address: the kernel reads a mask before it looks at what to do with it.
pub(super) fn is_readable(address: u64) -> bool {
    let asked = Call::own(libc::SYS_rt_sigprocmask, [NO_WAY, address, 0, SET]).make();
    asked == -i64::from(libc::EINVAL)
}

/// Words at an address that the library gave to the kernel; nothing if they cannot be read.
pub(super) fn read_words<const N: usize>(address: u64) -> Option<[u64; N]> {
    let mut words = [0; N];
    for (word, offset) in words.iter_mut().zip((0..).step_by(size_of::<u64>())) {
        let at = address.checked_add(offset).filter(|at| is_readable(*at))?;
        // SAFETY: these bytes were readable a moment ago. A library that unmaps them while it passes them to the kernel
        // faults here instead of there.
        *word = unsafe { std::ptr::with_exposed_provenance::<u64>(at as usize).read_unaligned() };
    }
    Some(words)
}
