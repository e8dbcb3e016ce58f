//! No orphan ever: a thread that waits for the server to go and takes the process along, even while a
//! library is in an endless loop. The parent-death signal would not do: it fires when the *thread* that
//! spawned us ends.
//!
//! The thread is made by hand. A thread of the standard library allocates, for which the C library sets
//! 64 MiB of address space aside, and takes the loader's lock while it starts, which `dlopen` holds while
//! constructors run: a constructor that hangs would keep it from watching.

use std::ffi::c_void;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::RawFd;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::ending::{Ending, end};

const STACK: usize = 64 << 10;

/// Whether the thread has begun to watch.
static RUNS: AtomicBool = AtomicBool::new(false);

pub(super) fn watch(requests: RawFd) -> io::Result<()> {
    // Signals are for the library's threads, so that its handlers run where it expects them.
    let before = block_signals();
    let spawned = spawn(requests);
    // SAFETY: the mask was filled by `block_signals`.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, ptr::null_mut()) };
    if spawned != 0 {
        return Err(io::Error::from_raw_os_error(spawned));
    }
    // A new thread begins with every signal blocked, whatever it was made with, and then unblocks by a call that the
    // filters trap. They are applied to all threads, so that this one must be past that: a trap that is blocked ends the
    // process.
    while !RUNS.load(Ordering::Acquire) {
        thread::yield_now();
    }
    Ok(())
}

fn spawn(requests: RawFd) -> libc::c_int {
    let mut attributes = MaybeUninit::uninit();
    let mut thread = MaybeUninit::uninit();
    let descriptor = ptr::without_provenance_mut(requests.cast_unsigned() as usize);
    // SAFETY: the attributes are initialised before they are used; the thread gets a number, no memory.
    unsafe {
        libc::pthread_attr_init(attributes.as_mut_ptr());
        libc::pthread_attr_setstacksize(attributes.as_mut_ptr(), STACK);
        libc::pthread_attr_setdetachstate(attributes.as_mut_ptr(), libc::PTHREAD_CREATE_DETACHED);
        libc::pthread_create(thread.as_mut_ptr(), attributes.as_ptr(), wait_and_end, descriptor)
    }
}

/// Returns never: the process ends when nobody holds the other end of the pipe any more.
extern "C" fn wait_and_end(descriptor: *mut c_void) -> *mut c_void {
    RUNS.store(true, Ordering::Release);
    let mut watched = libc::pollfd { fd: (descriptor.addr() as u32).cast_signed(), events: 0, revents: 0 };
    // SAFETY: the struct is valid for the time of the call.
    while unsafe { libc::poll(&raw mut watched, 1, -1) } <= 0 {}
    // The library may have closed the descriptor under us.
    end(if watched.revents & libc::POLLNVAL == 0 { Ending::Stopped } else { Ending::Broken })
}

fn block_signals() -> libc::sigset_t {
    let mut all = MaybeUninit::uninit();
    let mut before = MaybeUninit::uninit();
    // SAFETY: both sets are valid places to write to, and the calls fill them.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        // To end the group is a call that is trapped under most profiles, and a trap that is blocked ends the process.
        libc::sigdelset(all.as_mut_ptr(), libc::SIGSYS);
        libc::pthread_sigmask(libc::SIG_BLOCK, all.as_ptr(), before.as_mut_ptr());
        before.assume_init()
    }
}
