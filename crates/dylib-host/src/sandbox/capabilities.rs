//! The rights of root beyond its files: a program in a sandbox has none.

/// `SECBIT_NOROOT` and its lock: being root gives no capabilities to what is executed.
const ROOT_IS_NOBODY: libc::c_ulong = 0b11;

/// What is executed from here on has no capabilities. Other users than root have none but ambient ones, and may not set the
/// bits, which they do not need. Where root itself may not, it keeps those that it was left with.
pub(crate) fn give_up_capabilities() {
    // SAFETY: neither call touches memory.
    unsafe {
        libc::prctl(libc::PR_SET_SECUREBITS, ROOT_IS_NOBODY, 0, 0, 0);
        libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    }
}
