//! The system calls that the profiles name. New kernels bring new calls: `pure` is safe from them, the
//! list of `deny` must follow.

use libc::c_long;

/// Memory, time, its own descriptors and itself: what computing takes. All that `pure` allows.
pub(super) const COMPUTING: &[c_long] = &[
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
pub(super) const COMPUTING_OLD: &[c_long] = &[libc::SYS_poll, libc::SYS_time, libc::SYS_pause];
#[cfg(not(target_arch = "x86_64"))]
pub(super) const COMPUTING_OLD: &[c_long] = &[];

/// All that `deny` refuses, whatever the arguments.
pub(super) const DENIED: &[&[c_long]] = &[
    STARTING, LEAVING, SOCKETS, IPC, TRACING, SIGNALS, PRIORITIES, MOUNTS, KERNEL, LIMITS, MARKS, RECENT,
    OLD, FORKS,
];

/// All that programs in a sandbox are refused, whatever the arguments. They start processes, end them and read their
/// own limits: what of that reaches beyond the sandbox is refused by its arguments, or by landlock.
pub(super) const DENIED_TO_PROGRAMS: &[&[c_long]] =
    &[LEAVING, IPC, TRACING, PRIORITIES, MOUNTS, KERNEL, MARKS, RECENT, OLD];

/// Making a process another program.
const STARTING: &[c_long] = &[libc::SYS_execve, libc::SYS_execveat];

/// Leaving the group that the server kills, and the namespaces that the server is in.
const LEAVING: &[c_long] = &[libc::SYS_unshare, libc::SYS_setns, libc::SYS_setsid, libc::SYS_setpgid];

/// Calls that reach the network.
const SOCKETS: &[c_long] = &[
    libc::SYS_socket,
    libc::SYS_socketpair,
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_accept,
    libc::SYS_accept4,
];

/// Channels to other processes that are not files.
const IPC: &[c_long] = &[
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semctl,
    libc::SYS_mq_open,
];

/// Reading and changing other processes.
const TRACING: &[c_long] = &[
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_process_mrelease,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
];

/// Signals to other processes.
const SIGNALS: &[c_long] = &[
    libc::SYS_kill,
    libc::SYS_tkill,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_send_signal,
];

/// How much of the processor and the disks a process gets: any process of the user can be named.
const PRIORITIES: &[c_long] = &[
    libc::SYS_setpriority,
    libc::SYS_ioprio_set,
    libc::SYS_sched_setaffinity,
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setattr,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
];

/// What is mounted where, and ways to a file around its path.
const MOUNTS: &[c_long] = &[
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
    libc::SYS_quotactl_fd,
];

/// The kernel and the machine.
const KERNEL: &[c_long] = &[
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
    libc::SYS_fanotify_init,
    libc::SYS_vhangup,
];

/// The limits of this process, which root could raise again.
const LIMITS: &[c_long] = &[libc::SYS_setrlimit];

/// Marks on files, which landlock does not cover.
const MARKS: &[c_long] = &[
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

/// Newer calls of the kinds above, whose numbers are the same everywhere and not yet all in `libc`:
/// fchmodat2, setxattrat, removexattrat, open_tree_attr, file_setattr.
const RECENT: &[c_long] = &[452, 463, 466, 467, 469];

/// Older calls of the kinds above that only this architecture has.
#[cfg(target_arch = "x86_64")]
const OLD: &[c_long] = &[
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
const OLD: &[c_long] = &[];

/// Ways to make a process other than `clone`.
#[cfg(target_arch = "x86_64")]
pub(super) const FORKS: &[c_long] = &[libc::SYS_fork, libc::SYS_vfork];
#[cfg(not(target_arch = "x86_64"))]
pub(super) const FORKS: &[c_long] = &[];

/// Commands of `ioctl` that act for whoever sits at the terminal: typing for them, the console, the line discipline.
/// The last two are `F_SETOWN` for sockets, `FIOSETOWN` and `SIOCSPGRP`.
pub(super) const IOCTLS: &[u64] = &[libc::TIOCSTI, libc::TIOCLINUX, libc::TIOCSETD, 0x8901, 0x8902];

/// Commands of `fcntl` that have the kernel send a signal of our choice to a process of our choice: `F_SETOWN`,
/// `F_SETSIG` and `F_SETOWN_EX`.
pub(super) const FCNTLS: &[u64] = &[libc::F_SETOWN as u64, 10, 15];

/// What `clone` makes new namespaces by, in which a user without rights has some.
pub(super) const NAMESPACES: &[u64] = &[
    libc::CLONE_NEWNS as u64,
    libc::CLONE_NEWCGROUP as u64,
    libc::CLONE_NEWUTS as u64,
    libc::CLONE_NEWIPC as u64,
    libc::CLONE_NEWUSER as u64,
    libc::CLONE_NEWPID as u64,
    libc::CLONE_NEWNET as u64,
];
