//! Which system calls a library may make. What `deny` refuses is refused under `pure` too while the library loads: its
//! constructors run then, and the loader needs more calls than `pure` allows.

use std::process;

use seccompiler::{BpfProgram, Error, SeccompCmpOp};

use super::call_numbers::{COMPUTING, COMPUTING_OLD, DENIED, FCNTLS, IOCTLS};
use super::filter::{self, all, allowing, int, long, one_of, trapping, unconditional};
use super::traps::observing;
use crate::hello::{Degree, Profile};
use crate::load::LibraryError;

/// For every thread, before any code of the library runs.
pub(crate) fn restrict_calls_of_loading(profile: Profile) -> Result<(), LibraryError> {
    match profile {
        Profile::Off => Ok(()),
        Profile::Pure | Profile::Deny => applied(deny()),
    }
}

/// For every thread, the one that watches the pipe among them, before the first call.
pub(crate) fn restrict_calls(profile: Profile) -> Result<Degree, LibraryError> {
    match profile {
        Profile::Off => Ok(Degree::Not),
        Profile::Deny => Ok(Degree::Fully),
        Profile::Pure => applied(pure()).map(|()| Degree::Fully),
    }
}

fn applied(filters: Result<Vec<BpfProgram>, Error>) -> Result<(), LibraryError> {
    let applied = filters.and_then(|filters| filter::apply(&filters));
    applied.map_err(|error| LibraryError::Sandbox(Box::new(error)))
}

fn pure() -> Result<Vec<BpfProgram>, Error> {
    let mut rules = unconditional(COMPUTING.iter().chain(COMPUTING_OLD));
    let own = u64::from(process::id());
    rules.insert(libc::SYS_tgkill, vec![all([long(0, SeccompCmpOp::Eq, own)?])?]);
    // Reading limits is fine, setting them is not: root could raise them again.
    rules.insert(libc::SYS_prlimit64, vec![all([long(2, SeccompCmpOp::Eq, 0)?])?]);
    Ok(vec![allowing(rules)?])
}

fn deny() -> Result<Vec<BpfProgram>, Error> {
    let mut rules = unconditional(DENIED.iter().copied().flatten());
    let (thread, own) = (libc::CLONE_THREAD as u64, u64::from(process::id()));
    rules.insert(libc::SYS_clone, vec![all([long(0, SeccompCmpOp::MaskedEq(thread), 0)?])?]);
    rules.insert(libc::SYS_tgkill, vec![all([int(0, SeccompCmpOp::Ne, own)?])?]);
    rules.insert(libc::SYS_prlimit64, vec![all([long(2, SeccompCmpOp::Ne, 0)?])?]);
    rules.insert(libc::SYS_ioctl, one_of(1, IOCTLS)?);
    rules.insert(libc::SYS_fcntl, one_of(1, FCNTLS)?);
    // The kernel asks all of them about every call, and the strictest answer counts: their order does not matter, and none
    // can allow what another refuses.
    Ok(vec![
        trapping(rules)?,
        observing()?,
        filter::without_clone3()?,
        #[cfg(target_arch = "x86_64")]
        filter::without_x32(),
    ])
}
