//! Seccomp programs, made of lists of system calls and conditions on their arguments. A refused call answers with an
//! error, it does not kill: code handles errors better than death.
//!
//! Filters add up: the kernel asks all of them about a call and takes the strictest answer, so their order is of no
//! account, and one that was applied can never be taken back.

use std::collections::BTreeMap;

use libc::c_long;
#[cfg(target_arch = "x86_64")]
use seccompiler::sock_filter;
use seccompiler::{
    BpfProgram, Error, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter_all_threads,
};

/// Calls, each with the conditions of which one must hold; none means always.
pub(super) type Rules = BTreeMap<c_long, Vec<SeccompRule>>;

/// Applies filters to every thread of this process, and to whatever it becomes or starts.
pub(super) fn apply(filters: &[BpfProgram]) -> Result<(), Error> {
    // All threads in one step, or none: one that was left out could do for the library what the filters refuse it.
    filters.iter().try_for_each(|filter| apply_filter_all_threads(filter))
}

pub(super) fn unconditional<'a>(calls: impl Iterator<Item = &'a c_long>) -> Rules {
    calls.map(|call| (*call, Vec::new())).collect()
}

/// A condition on an argument that is a pointer or a `long`.
pub(super) fn long(argument: u8, operator: SeccompCmpOp, value: u64) -> Result<SeccompCondition, Error> {
    Ok(SeccompCondition::new(argument, SeccompCmpArgLen::Qword, operator, value)?)
}

/// A condition on an argument that the kernel takes as an `int`: it ignores the upper half, so a filter must too.
pub(super) fn int(argument: u8, operator: SeccompCmpOp, value: u64) -> Result<SeccompCondition, Error> {
    Ok(SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)?)
}

/// A rule that holds when all of its conditions do.
pub(super) fn all<const N: usize>(conditions: [SeccompCondition; N]) -> Result<SeccompRule, Error> {
    Ok(SeccompRule::new(conditions.into())?)
}

/// Rules of which each holds when an `int` argument is one of these.
pub(super) fn one_of(argument: u8, values: &[u64]) -> Result<Vec<SeccompRule>, Error> {
    values.iter().map(|value| all([int(argument, SeccompCmpOp::Eq, *value)?])).collect()
}

/// Refuses these calls and no others.
pub(super) fn refusing(rules: Rules) -> Result<BpfProgram, Error> {
    program(rules, SeccompAction::Allow, SeccompAction::Errno(libc::EPERM as u32))
}

/// Leaves these calls, and no others, to the signal handler of a worker, which refuses them or makes them itself.
pub(super) fn trapping(rules: Rules) -> Result<BpfProgram, Error> {
    program(rules, SeccompAction::Allow, SeccompAction::Trap)
}

/// Allows these calls; all others are left to the signal handler of a worker, which refuses them.
pub(super) fn allowing(rules: Rules) -> Result<BpfProgram, Error> {
    program(rules, SeccompAction::Trap, SeccompAction::Allow)
}

/// The flags of clone3 lie in memory that a filter cannot read. "Not implemented" makes the C library fall back to
/// clone.
pub(super) fn without_clone3() -> Result<BpfProgram, Error> {
    let newer = unconditional([libc::SYS_clone3].iter());
    program(newer, SeccompAction::Allow, SeccompAction::Errno(libc::ENOSYS as u32))
}

/// Kernels with the x32 ABI have a second number for every call, which no list here names.
#[cfg(target_arch = "x86_64")]
pub(super) fn without_x32() -> BpfProgram {
    const X32: u32 = 0x4000_0000;
    // Written by hand because `SeccompFilter` compares numbers for equality only, and these are a range. All numbers of
    // the second ABI have this bit; the program refuses whatever is not below it.
    let load_number = sock_filter { code: 0x20, jt: 0, jf: 0, k: 0 };
    let unless_x32 = sock_filter { code: 0x35, jt: 0, jf: 1, k: X32 };
    let answer = |k| sock_filter { code: 0x06, jt: 0, jf: 0, k };
    let refuse = answer(libc::SECCOMP_RET_ERRNO | libc::EPERM.cast_unsigned());
    vec![load_number, unless_x32, refuse, answer(libc::SECCOMP_RET_ALLOW)]
}

fn program(rules: Rules, otherwise: SeccompAction, matched: SeccompAction) -> Result<BpfProgram, Error> {
    let target = TargetArch::try_from(std::env::consts::ARCH)?;
    Ok(BpfProgram::try_from(SeccompFilter::new(rules, otherwise, matched, target)?)?)
}
