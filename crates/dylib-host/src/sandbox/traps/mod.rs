//! The signal handler that answers the system calls which the filters of a library trap. A refused call answers with
//! EPERM, as it would without the handler, and is recorded. Calls with paths are trapped only to see what becomes of
//! them: the handler makes them itself, and landlock decides.
//!
//! Nothing here guards anything. A library may replace the handler, or make a call with the cookie itself: what is refused
//! stays refused by the filters and by landlock.
//!
//! The kernel ends a process that blocks SIGSYS when a call is trapped. The C library blocks every signal while it starts
//! a thread, and many libraries do in threads of their own, so that the calls which block signals are trapped too: see
//! `masks`. Everything runs in a signal handler, on any thread: no allocation, no lock, no `errno`, no thread-locals.

mod machine;
mod masks;
mod paths;
mod record;

use std::io;
use std::mem;
use std::ptr;
use std::sync::OnceLock;

use libc::{c_int, c_void, siginfo_t, ucontext_t};
use seccompiler::{BpfProgram, Error, SeccompCmpOp};

use super::filter::{Rules, all, int, long, trapping};
use crate::hello::Profile;
use crate::load::LibraryError;
use machine::{Call, answer, trapped_call};
pub(crate) use record::{denials, forget_denials};

/// The signature of a handler with `SA_SIGINFO`.
pub(crate) type Handler = extern "C" fn(c_int, *mut siginfo_t, *mut c_void);

/// In the sixth argument of a call that the handler makes: none of them has so many, so that the kernel ignores it.
const COOKIE: u64 = 0x746f_6f6c_6d75_7821;
/// `si_code` of a signal that comes from a filter.
const FROM_FILTER: c_int = 1;
const REFUSED: i64 = -(libc::EPERM as i64);

/// For SIGSYS that somebody just sent. A signal handler is given nothing: what it needs must be reachable from a static.
static SENT: OnceLock<Handler> = OnceLock::new();

/// Must come before the filters: a call that is trapped without the handler ends the process.
pub(crate) fn answer_traps(profile: Profile, sent: Handler) -> Result<(), LibraryError> {
    match profile {
        Profile::Off => Ok(()),
        Profile::Pure | Profile::Deny => install(sent).map_err(LibraryError::Worker),
    }
}

/// Traps calls that the filters of the profiles allow: those with paths, and those that could block SIGSYS.
pub(super) fn observing() -> Result<BpfProgram, Error> {
    let foreign = || long(5, SeccompCmpOp::Ne, COOKIE);
    let mut rules = Rules::new();
    for path in paths::calls() {
        rules.insert(path.number, vec![all([foreign()?])?]);
    }
    let blocks = int(0, SeccompCmpOp::Ne, libc::SIG_UNBLOCK as u64)?;
    rules.insert(libc::SYS_rt_sigprocmask, vec![all([blocks, long(1, SeccompCmpOp::Ne, 0)?, foreign()?])?]);
    rules.insert(libc::SYS_rt_sigaction, vec![all([long(1, SeccompCmpOp::Ne, 0)?, foreign()?])?]);
    trapping(rules)
}

fn install(sent: Handler) -> io::Result<()> {
    let _ = SENT.set(sent);
    // SAFETY: all zeroes is a valid `sigaction` and a valid set. The handler has the signature that SA_SIGINFO asks for
    // and only does what is allowed in a signal handler. SA_NODEFER because its own calls may be trapped, too.
    unsafe {
        let mut action: libc::sigaction = mem::zeroed();
        action.sa_sigaction = on_trap as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
        let mut own: libc::sigset_t = mem::zeroed();
        libc::sigaddset(&raw mut own, libc::SIGSYS);
        if libc::sigaction(libc::SIGSYS, &raw const action, ptr::null_mut()) != 0
            || libc::sigprocmask(libc::SIG_UNBLOCK, &raw const own, ptr::null_mut()) != 0
        {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

extern "C" fn on_trap(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes a valid `siginfo_t` to a handler with SA_SIGINFO.
    if unsafe { (*info).si_code } != FROM_FILTER {
        masks::restore_default(signal);
        if let Some(sent) = SENT.get() {
            sent(signal, info, context);
        }
        return;
    }
    // SAFETY: the third argument is the context of the interrupted code, which is ours until the handler returns.
    let context = unsafe { &mut *context.cast::<ucontext_t>() };
    let call = trapped_call(context);
    let result = match call.number {
        libc::SYS_rt_sigprocmask => masks::set_mask(&call, context),
        libc::SYS_rt_sigaction => masks::set_action(&call),
        _ => attempt(&call),
    };
    answer(context, result);
}

fn attempt(call: &Call) -> i64 {
    let Some(path) = paths::calls().find(|path| path.number == call.number) else {
        record::record_call(call.number);
        return REFUSED;
    };
    if call.arguments[5] == COOKIE {
        // Our own attempt, one handler further out, which the filter of `pure` refuses.
        return REFUSED;
    }
    let result = call.with_cookie().make();
    if result == REFUSED || result == -i64::from(libc::EACCES) {
        record::record_path(path.access(call), call.arguments[path.argument]);
    }
    result
}
