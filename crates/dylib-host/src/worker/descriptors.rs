//! The first thing a worker does: it moves the pipes to where a library does not stumble over them, and
//! leaves the terminal, the process group and the descriptors of its parent.

use std::io;
use std::os::fd::RawFd;

/// Low numbers are what a library gets when it opens files.
const LOWEST: RawFd = 100;

#[derive(Debug, Clone, Copy)]
pub(super) struct Descriptors {
    pub(super) requests: RawFd,
    pub(super) answers: RawFd,
}

pub(super) fn take_over() -> io::Result<Descriptors> {
    let descriptors = Descriptors { requests: move_up(0)?, answers: move_up(1)? };
    replace_standard()?;
    close_others(descriptors);
    // SAFETY: neither call touches memory. `setsid` fails for a process that leads a group already, which
    // is all we want of it; a process that cannot be dumped cannot be traced by its equals.
    unsafe {
        libc::setsid();
        libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0);
    }
    Ok(descriptors)
}

fn move_up(descriptor: RawFd) -> io::Result<RawFd> {
    // SAFETY: duplicating a descriptor touches no memory.
    checked(unsafe { libc::fcntl(descriptor, libc::F_DUPFD_CLOEXEC, LOWEST) })
}

/// Reading gives nothing, printing goes to standard error, the pipes are untouched by either.
fn replace_standard() -> io::Result<()> {
    // SAFETY: the path is a C string; duplicating descriptors touches no memory.
    unsafe {
        let null = checked(libc::open(c"/dev/null".as_ptr(), libc::O_RDWR))?;
        checked(libc::dup2(null, 0))?;
        if libc::fcntl(2, libc::F_GETFD) < 0 {
            checked(libc::dup2(null, 2))?;
        }
        checked(libc::dup2(2, 1))?;
    }
    Ok(())
}

/// A descriptor that was inherited may be a pipe of another worker, which would not notice that the server hung up as
/// long as this process holds a copy.
fn close_others(kept: Descriptors) {
    let (low, high) = (kept.requests.min(kept.answers), kept.requests.max(kept.answers));
    close_range(3, low - 1);
    close_range(low + 1, high - 1);
    close_range(high + 1, RawFd::MAX);
}

fn close_range(first: RawFd, last: RawFd) {
    if first > last {
        return;
    }
    // SAFETY: nothing in this process uses these descriptors yet.
    let closed = unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
    if closed == 0 {
        return;
    }
    // Kernels before 5.9 have no such call.
    // SAFETY: `sysconf` only reads.
    let highest = unsafe { libc::sysconf(libc::_SC_OPEN_MAX) } as RawFd;
    for descriptor in first..=last.min(highest) {
        // SAFETY: as above.
        unsafe { libc::close(descriptor) };
    }
}

fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
