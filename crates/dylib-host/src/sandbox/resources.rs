//! Rlimits: memory and descriptors of the worker, and no core files. Not processor time: it counts the
//! whole life of a process, and a worker lives long; the server's timeout bounds a call.

use std::{fs, io};

use crate::limits::WorkerLimits;
use crate::load::LibraryError;

/// The number of a resource.
pub(super) type Resource = libc::__rlimit_resource_t;

/// Bytes of addresses that this process has; none are known where the system does not say.
pub(crate) fn addresses() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let size = status.lines().find_map(|line| line.strip_prefix("VmSize:")?.trim().strip_suffix(" kB"));
    size.and_then(|kilobytes| kilobytes.parse::<u64>().ok()).map_or(0, |kilobytes| kilobytes << 10)
}

/// The memory is the library's: `own` is what the worker had before it.
pub(crate) fn restrict_resources(limits: &WorkerLimits, own: u64) -> Result<(), LibraryError> {
    // Addresses, not resident memory, which the kernel does not limit by process. Those of the worker are not the library's.
    set(libc::RLIMIT_AS, limits.memory.saturating_add(own))
        .and_then(|()| set(libc::RLIMIT_NOFILE, limits.descriptors))
        .and_then(|()| set(libc::RLIMIT_CORE, 0))
        .map_err(LibraryError::Worker)
}

/// Sets both the limit and the one up to which it can be raised.
pub(super) fn set(resource: Resource, limit: u64) -> io::Result<()> {
    let mut current = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the struct is a valid place to write to.
    if unsafe { libc::getrlimit(resource, &raw mut current) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // A user other than root cannot go above the limit he has.
    let limit = limit.min(current.rlim_max);
    let wanted = libc::rlimit { rlim_cur: limit, rlim_max: limit };
    // SAFETY: the struct is valid for the time of the call.
    if unsafe { libc::setrlimit(resource, &raw const wanted) } == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
