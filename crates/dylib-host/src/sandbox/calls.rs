//! Seccomp: which system calls the library may make. A refused call answers EPERM, it does not kill:
//! libraries handle errors better than death.

use std::collections::BTreeMap;
use std::process;

use libc::c_long;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter_all_threads,
};

use crate::hello::{Degree, Profile};
use crate::load::LoadError;

type Rules = BTreeMap<c_long, Vec<SeccompRule>>;

/// Memory, time, its own descriptors and itself: what computing takes.
const PURE: &[c_long] = &[
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_close,
    libc::SYS_fstat,
    libc::SYS_lseek,
    libc::SYS_ppoll,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mprotect,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_brk,
    libc::SYS_membarrier,
    libc::SYS_futex,
    libc::SYS_rseq,
    libc::SYS_set_robust_list,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_rt_sigsuspend,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_gettimeofday,
    libc::SYS_times,
    libc::SYS_getrusage,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_getppid,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_uname,
    libc::SYS_sysinfo,
    libc::SYS_getcpu,
    libc::SYS_getrandom,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_exit,
    libc::SYS_exit_group,
];

/// The same in the older numbers that only this architecture has.
#[cfg(target_arch = "x86_64")]
const PURE_OLD: &[c_long] = &[libc::SYS_poll, libc::SYS_time, libc::SYS_pause];
#[cfg(not(target_arch = "x86_64"))]
const PURE_OLD: &[c_long] = &[];

/// New processes, network, other processes, the kernel, and marks on files that landlock does not cover.
const DENIED: &[c_long] = &[
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_setsid,
    libc::SYS_setpgid,
    libc::SYS_socket,
    libc::SYS_socketpair,
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_kill,
    libc::SYS_tkill,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pidfd_send_signal,
    libc::SYS_process_madvise,
    libc::SYS_kcmp,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsmount,
    libc::SYS_fsconfig,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    libc::SYS_quotactl,
    libc::SYS_bpf,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_syslog,
    libc::SYS_personality,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
];

#[cfg(target_arch = "x86_64")]
const DENIED_OLD: &[c_long] = &[
    libc::SYS_fork,
    libc::SYS_vfork,
    libc::SYS_chmod,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
    libc::SYS_kexec_file_load,
];
#[cfg(not(target_arch = "x86_64"))]
const DENIED_OLD: &[c_long] = &[];

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
    let mut rules = unconditional(PURE.iter().chain(PURE_OLD));
    rules.insert(libc::SYS_tgkill, vec![when(0, SeccompCmpOp::Eq, u64::from(process::id()))?]);
    // Reading limits is fine, setting them is not: root could raise them again.
    rules.insert(libc::SYS_prlimit64, vec![when(2, SeccompCmpOp::Eq, 0)?]);
    let refuse = SeccompAction::Errno(libc::EPERM as u32);
    Ok(vec![program(rules, refuse, SeccompAction::Allow)?])
}

fn deny() -> Result<Vec<BpfProgram>, seccompiler::Error> {
    let mut rules = unconditional(DENIED.iter().chain(DENIED_OLD));
    let thread = libc::CLONE_THREAD as u64;
    rules.insert(libc::SYS_clone, vec![when(0, SeccompCmpOp::MaskedEq(thread), 0)?]);
    rules.insert(libc::SYS_tgkill, vec![when(0, SeccompCmpOp::Ne, u64::from(process::id()))?]);
    rules.insert(libc::SYS_prlimit64, vec![when(2, SeccompCmpOp::Ne, 0)?]);
    rules.insert(libc::SYS_setrlimit, Vec::new());
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
