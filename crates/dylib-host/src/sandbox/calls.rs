//! Seccomp: which system calls the library may make. A refused call answers EPERM, it does not kill:
//! libraries handle errors better than death.

use std::collections::BTreeMap;
use std::process;

use libc::c_long;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter_all_threads,
};

use super::call_numbers::{COMPUTING, COMPUTING_OLD, DENIED};
use crate::hello::{Degree, Profile};
use crate::load::LoadError;

type Rules = BTreeMap<c_long, Vec<SeccompRule>>;

/// Applies the profile to every thread, the one that watches the pipe among them.
pub(crate) fn restrict_calls(profile: Profile) -> Result<Degree, LoadError> {
    let filters = match profile {
        Profile::Off => return Ok(Degree::Not),
        Profile::Pure => pure(),
        Profile::Deny => deny(),
    };
    let applied = filters.and_then(|filters| {
        filters.iter().try_for_each(|filter| apply_filter_all_threads(filter))?;
        Ok(Degree::Fully)
    });
    applied.map_err(|error| LoadError::Sandbox(Box::new(error)))
}

fn pure() -> Result<Vec<BpfProgram>, seccompiler::Error> {
    let mut rules = unconditional(COMPUTING.iter().chain(COMPUTING_OLD));
    rules.insert(libc::SYS_tgkill, vec![when(0, SeccompCmpOp::Eq, u64::from(process::id()))?]);
    // Reading limits is fine, setting them is not: root could raise them again.
    rules.insert(libc::SYS_prlimit64, vec![when(2, SeccompCmpOp::Eq, 0)?]);
    let refuse = SeccompAction::Errno(libc::EPERM as u32);
    Ok(vec![program(rules, refuse, SeccompAction::Allow)?])
}

fn deny() -> Result<Vec<BpfProgram>, seccompiler::Error> {
    let mut rules = unconditional(DENIED.iter().copied().flatten());
    let thread = libc::CLONE_THREAD as u64;
    rules.insert(libc::SYS_clone, vec![when(0, SeccompCmpOp::MaskedEq(thread), 0)?]);
    rules.insert(libc::SYS_tgkill, vec![when(0, SeccompCmpOp::Ne, u64::from(process::id()))?]);
    rules.insert(libc::SYS_prlimit64, vec![when(2, SeccompCmpOp::Ne, 0)?]);
    let refuse = program(rules, SeccompAction::Allow, SeccompAction::Errno(libc::EPERM as u32))?;
    // The flags of clone3 lie in memory that a filter cannot read. "Not implemented" makes the C library
    // fall back to clone.
    let newer = unconditional([libc::SYS_clone3].iter());
    let absent = program(newer, SeccompAction::Allow, SeccompAction::Errno(libc::ENOSYS as u32))?;
    Ok(vec![refuse, absent])
}

fn unconditional<'a>(calls: impl Iterator<Item = &'a c_long>) -> Rules {
    calls.map(|call| (*call, Vec::new())).collect()
}

fn when(argument: u8, operator: SeccompCmpOp, value: u64) -> Result<SeccompRule, seccompiler::Error> {
    let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Qword, operator, value)?;
    Ok(SeccompRule::new(vec![condition])?)
}

fn program(
    rules: Rules,
    otherwise: SeccompAction,
    matched: SeccompAction,
) -> Result<BpfProgram, seccompiler::Error> {
    let target = TargetArch::try_from(std::env::consts::ARCH)?;
    Ok(BpfProgram::try_from(SeccompFilter::new(rules, otherwise, matched, target)?)?)
}
