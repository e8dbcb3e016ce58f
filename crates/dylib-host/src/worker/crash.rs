//! Last words: a signal handler on a stack of its own that says which call died of what, and in which
//! buffer, before the process dies of the signal as it would have without it.

use std::io;
use std::mem;
use std::os::fd::RawFd;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use libc::{c_int, c_void, siginfo_t};

use super::ending::{Ending, end};
use crate::call::Ranges;
use crate::frame::Crash;

const STACK: usize = 64 << 10;
const SIGNALS: [c_int; 7] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGABRT, libc::SIGTRAP, libc::SIGSYS];

struct Scene {
    answers: RawFd,
    ranges: Arc<Ranges>,
}

// A signal handler is given nothing: what it needs must be reachable from a static.
static SCENE: OnceLock<Scene> = OnceLock::new();
static CALL: AtomicU32 = AtomicU32::new(0);

/// Notes which call runs, so that the handler can name it.
pub(super) fn set_call(id: u32) {
    // Relaxed: a thread that the library started may see an older id. The server does not rely on it, it blames the
    // oldest call without an answer.
    CALL.store(id, Ordering::Relaxed);
}

/// Installs the handler for the calling thread's stack overflows and every thread's other faults. Where calls are trapped,
/// the handler of SIGSYS stays the one that answers them, and hands over to this one what is no trap.
pub(super) fn report_to(answers: RawFd, ranges: Arc<Ranges>) -> io::Result<()> {
    let _ = SCENE.set(Scene { answers, ranges });
    use_other_stack()?;
    SIGNALS.into_iter().try_for_each(install)
}

fn use_other_stack() -> io::Result<()> {
    let memory = Box::leak(vec![0_u8; STACK].into_boxed_slice());
    let stack = libc::stack_t { ss_sp: memory.as_mut_ptr().cast(), ss_flags: 0, ss_size: STACK };
    // SAFETY: the memory is leaked, so it stays valid as long as the thread.
    checked(unsafe { libc::sigaltstack(&raw const stack, ptr::null_mut()) })
}

fn install(signal: c_int) -> io::Result<()> {
    // SAFETY: all zeroes is a valid `sigaction`: no flags, an empty mask.
    let mut action: libc::sigaction = unsafe { mem::zeroed() };
    action.sa_sigaction = on_signal as *const () as usize;
    // On a stack of its own, as the fault may be that the other is full. Reset and not deferred, so that a fault inside
    // the handler, and the signal that it raises at its end, kill the process at once.
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESETHAND | libc::SA_NODEFER;
    // SAFETY: the handler has the signature that SA_SIGINFO asks for and only makes calls that are
    // allowed in a signal handler.
    checked(unsafe { libc::sigaction(signal, &raw const action, ptr::null_mut()) })
}

pub(super) extern "C" fn on_signal(signal: c_int, info: *mut siginfo_t, _context: *mut c_void) {
    if let Some(scene) = SCENE.get() {
        // SAFETY: the kernel passes a valid `siginfo_t` to a handler with SA_SIGINFO.
        let address = unsafe { fault_address(&*info) };
        let parameter = scene.ranges.parameter_at(address);
        let crash = Crash { signal: signal as u16, address: address as u64, parameter };
        let frame = crash.frame(CALL.load(Ordering::Relaxed));
        // SAFETY: `write` is allowed here, and a frame this small is written whole or not at all.
        unsafe { libc::write(scene.answers, frame.as_ptr().cast(), frame.len()) };
    }
    // SAFETY: SA_RESETHAND has restored the default, so this ends the process with the signal's status.
    unsafe { libc::raise(signal) };
    end(Ending::Unfit)
}

/// The address the processor faulted at; zero if somebody just sent the signal.
fn fault_address(info: &siginfo_t) -> usize {
    if info.si_code > 0 {
        // SAFETY: the kernel fills the address for every fault it raises itself.
        unsafe { info.si_addr() as usize }
    } else {
        0
    }
}

fn checked(result: c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
