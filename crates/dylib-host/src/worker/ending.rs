//! How a worker leaves by itself: at once, without the library's exit handlers, and with everything the
//! library may have left running in its process group.

/// Why, as the exit status says it. Where the profile allows processes, the status is SIGKILL instead.
#[derive(Debug, Clone, Copy)]
pub(super) enum Ending {
    /// STOP, or the server is gone.
    Stopped = 0,
    /// The pipes or the frames on them cannot be used.
    Broken = 70,
    /// The library cannot be loaded, or cannot be trusted after what it did.
    Unfit = 71,
}

/// Ends this process only: before a library is loaded there is nothing else.
pub(super) fn leave(ending: Ending) -> ! {
    // SAFETY: ends the process, touches no memory.
    unsafe { libc::_exit(ending as i32) }
}

/// Ends the group. Under the profiles that forbid both processes and `kill`, that is this process alone.
pub(super) fn end(ending: Ending) -> ! {
    // SAFETY: none of the calls touches memory. Group 0 is ours alone if we lead it.
    unsafe {
        // In a group that another process leads, whoever started us would be killed too.
        if libc::getpgrp() == libc::getpid() {
            libc::kill(0, libc::SIGKILL);
        }
    }
    leave(ending)
}
