//! Which system calls a program in a sandbox may make.

use seccompiler::{BpfProgram, Error, SeccompCmpOp, SeccompRule};

use super::call_numbers::{DENIED_TO_PROGRAMS, FCNTLS, FORKS, IOCTLS, NAMESPACES};
use super::filter::{self, Rules, all, int, long, one_of, refusing, unconditional};
use super::program_resources::limited;
use crate::launcher::{Confinement, Network};

/// The filters of a program, ready to be applied: making them takes memory, of which there may be little later.
pub(crate) fn program_filters(confinement: &Confinement) -> Result<Vec<BpfProgram>, Error> {
    let mut rules = unconditional(DENIED_TO_PROGRAMS.iter().copied().flatten());
    rules.insert(libc::SYS_ioctl, one_of(1, IOCTLS)?);
    rules.insert(libc::SYS_fcntl, one_of(1, FCNTLS)?);
    let namespaces = NAMESPACES.iter().map(|flag| all([long(0, SeccompCmpOp::MaskedEq(*flag), *flag)?]));
    rules.insert(libc::SYS_clone, namespaces.collect::<Result<_, _>>()?);
    sockets(&mut rules, confinement.network)?;
    limits(&mut rules, confinement)?;
    Ok(vec![
        refusing(rules)?,
        filter::without_clone3()?,
        #[cfg(target_arch = "x86_64")]
        filter::without_x32(),
    ])
}

pub(crate) fn restrict_program_calls(filters: &[BpfProgram]) -> Result<(), Error> {
    filter::apply(filters)
}

/// No path to a socket of another program in any case: such a socket may be a way to everything on this machine, and
/// landlock does not cover them. Pairs of sockets are pipes by another name.
fn sockets(rules: &mut Rules, network: Network) -> Result<(), Error> {
    let other_than = |families: &[i32]| -> Result<SeccompRule, Error> {
        let others = families.iter().map(|family| int(0, SeccompCmpOp::Ne, u64::from(family.unsigned_abs())));
        Ok(SeccompRule::new(others.collect::<Result<_, _>>()?)?)
    };
    rules.insert(libc::SYS_socketpair, vec![other_than(&[libc::AF_UNIX])?]);
    match network {
        Network::Denied => rules.insert(libc::SYS_socket, Vec::new()),
        // The C library asks the kernel for its addresses by netlink.
        Network::Allowed => rules
            .insert(libc::SYS_socket, vec![other_than(&[libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK])?]),
    };
    Ok(())
}

/// What would go around the rlimits of the sandbox.
fn limits(rules: &mut Rules, confinement: &Confinement) -> Result<(), Error> {
    let (mut of_process, mut of_self) = (Vec::new(), Vec::new());
    for resource in limited(confinement) {
        let resource = u64::from(resource);
        let is_set = long(2, SeccompCmpOp::Ne, 0)?;
        of_process.push(all([int(1, SeccompCmpOp::Eq, resource)?, is_set])?);
        of_self.push(all([int(0, SeccompCmpOp::Eq, resource)?])?);
    }
    rules.insert(libc::SYS_prlimit64, of_process);
    rules.insert(libc::SYS_setrlimit, of_self);
    if confinement.memory.is_some() {
        // Shared memory is not counted by the rlimit.
        let (mask, shared) = (libc::MAP_ANONYMOUS | libc::MAP_TYPE, libc::MAP_ANONYMOUS | libc::MAP_SHARED);
        let shared = long(3, SeccompCmpOp::MaskedEq(mask as u64), shared as u64)?;
        rules.insert(libc::SYS_mmap, vec![all([shared])?]);
        rules.insert(libc::SYS_memfd_create, Vec::new());
    }
    if confinement.processes == Some(0) {
        let thread = libc::CLONE_THREAD as u64;
        let alone = all([long(0, SeccompCmpOp::MaskedEq(thread), 0)?])?;
        rules.entry(libc::SYS_clone).or_default().push(alone);
        rules.extend(unconditional(FORKS.iter()));
    }
    Ok(())
}
