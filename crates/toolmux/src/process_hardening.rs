//! What keeps other processes, and the children of this one, from reading its memory and its environment, where
//! secrets are.

use rustix::process::{DumpableBehavior, geteuid, set_dumpable_behavior};
use rustix::thread::{CapabilitySet, capability_is_in_bounding_set, remove_capability_from_bounding_set};

/// Call it before threads are started: what it takes away is taken from this thread, and from those it starts.
///
/// A process that cannot be dumped leaves no core file, and processes of the same user can neither trace it nor read its
/// memory and its `/proc/PID/environ`, unless they have `CAP_SYS_PTRACE`. Children of root would get that with all the
/// others when they are started, so it is removed for them. Those that have `CAP_SYS_ADMIN` still read
/// `/proc/PID/environ` on newer kernels, which is why secrets are taken out of it (`environment.rs`).
pub(crate) fn harden() {
    // Neither can fail but on a kernel, or with a set of capabilities, where `doctor` says so.
    set_dumpable_behavior(DumpableBehavior::NotDumpable).ok();
    remove_capability_from_bounding_set(CapabilitySet::SYS_PTRACE).ok();
}

/// True when a child could still read the environment of this process.
pub(crate) fn children_can_trace() -> bool {
    geteuid().is_root() && capability_is_in_bounding_set(CapabilitySet::SYS_PTRACE).unwrap_or(true)
}
