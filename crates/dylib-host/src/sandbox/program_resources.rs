//! Rlimits of a program in a sandbox. Each process that it starts has them anew, but for the number of processes.

use std::{fs, io};

use super::resources::{Resource, set};
use crate::launcher::Confinement;

/// What is limited: neither the program nor what it starts may set it again.
pub(super) fn limited(confinement: &Confinement) -> impl Iterator<Item = Resource> {
    limits(confinement).into_iter().map(|(resource, _)| resource)
}

/// Must run before landlock and seccomp, which forbid what it takes to count processes.
pub(crate) fn count_own_processes(confinement: &Confinement) -> io::Result<()> {
    match confinement.processes {
        None | Some(0) => Ok(()),
        Some(_) => own_user_namespace(),
    }
}

/// Memory may be short from here on.
pub(crate) fn restrict_program_resources(confinement: &Confinement) -> io::Result<()> {
    limits(confinement).into_iter().try_for_each(|(resource, limit)| set(resource, limit))
}

fn limits(confinement: &Confinement) -> Vec<(Resource, u64)> {
    let mut limits = vec![(libc::RLIMIT_CORE, 0)];
    // Not addresses: programs such as `node` reserve many that they never use.
    limits.extend(confinement.memory.map(|bytes| (libc::RLIMIT_DATA, bytes)));
    limits.extend(confinement.cpu_seconds.map(|seconds| (libc::RLIMIT_CPU, seconds)));
    // Without any, `clone` is refused and nothing has to be counted. The program itself counts too.
    let processes = confinement.processes.filter(|count| *count > 0);
    limits.extend(processes.map(|count| (libc::RLIMIT_NPROC, count.saturating_add(1))));
    limits
}

/// The kernel counts processes by user, and by user namespace: in one of its own, only those of the sandbox count. It
/// counts none of root's.
fn own_user_namespace() -> io::Result<()> {
    // SAFETY: these only read identities.
    let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
    if user == 0 {
        return Err(io::Error::other(
            "the kernel does not limit the processes of root: run the server as another user",
        ));
    }
    // SAFETY: touches no memory; this process has one thread.
    if unsafe { libc::unshare(libc::CLONE_NEWUSER) } != 0 {
        return Err(io::Error::last_os_error());
    }
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}
