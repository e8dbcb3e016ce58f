//! The calls with paths that landlock decides about. All of them have fewer than six arguments.

use libc::c_long;

use super::machine::Call;
use super::masks::read_words;

pub(super) struct PathCall {
    pub(super) number: c_long,
    /// Which argument is the path; the first one of two.
    pub(super) argument: usize,
    purpose: Purpose,
}

#[derive(Clone, Copy)]
enum Purpose {
    /// The flags of `open`, in this argument.
    Flags(usize),
    /// This argument points to flags of `open`.
    PointerToFlags(usize),
    Changing,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
}

const fn calling(number: c_long, argument: usize, purpose: Purpose) -> PathCall {
    PathCall { number, argument, purpose }
}

/// Calls that every architecture has.
const CALLS: &[PathCall] = &[
    calling(libc::SYS_openat, 1, Purpose::Flags(2)),
    calling(libc::SYS_openat2, 1, Purpose::PointerToFlags(2)),
    calling(libc::SYS_truncate, 0, Purpose::Changing),
    calling(libc::SYS_mkdirat, 1, Purpose::Changing),
    calling(libc::SYS_mknodat, 1, Purpose::Changing),
    calling(libc::SYS_unlinkat, 1, Purpose::Changing),
    calling(libc::SYS_renameat, 1, Purpose::Changing),
    calling(libc::SYS_renameat2, 1, Purpose::Changing),
    calling(libc::SYS_symlinkat, 2, Purpose::Changing),
];

/// Older calls that only this architecture has.
#[cfg(target_arch = "x86_64")]
const OLD_CALLS: &[PathCall] = &[
    calling(libc::SYS_open, 0, Purpose::Flags(1)),
    calling(libc::SYS_creat, 0, Purpose::Changing),
    calling(libc::SYS_mkdir, 0, Purpose::Changing),
    calling(libc::SYS_mknod, 0, Purpose::Changing),
    calling(libc::SYS_rmdir, 0, Purpose::Changing),
    calling(libc::SYS_unlink, 0, Purpose::Changing),
    calling(libc::SYS_rename, 0, Purpose::Changing),
    calling(libc::SYS_symlink, 1, Purpose::Changing),
];
#[cfg(not(target_arch = "x86_64"))]
const OLD_CALLS: &[PathCall] = &[];

/// All of them. Looks only at constants, so that a signal handler may call it.
pub(super) fn calls() -> impl Iterator<Item = &'static PathCall> {
    CALLS.iter().chain(OLD_CALLS)
}

impl PathCall {
    pub(super) fn access(&self, call: &Call) -> Access {
        let flags = match self.purpose {
            Purpose::Changing => return Access::Write,
            Purpose::Flags(argument) => call.arguments[argument],
            Purpose::PointerToFlags(argument) => {
                read_words::<1>(call.arguments[argument]).map_or(0, |[flags]| flags)
            }
        };
        let changing = libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC;
        if flags & u64::from(changing.cast_unsigned()) == 0 { Access::Read } else { Access::Write }
    }
}
