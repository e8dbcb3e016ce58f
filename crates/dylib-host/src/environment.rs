//! Takes variables out of the environment of this process for good. What a process was started with stays readable for
//! others in `/proc/PID/environ`, whatever it does to its variables later, unless the bytes themselves are gone.

use std::ffi::{CStr, CString, c_char};
use std::io;
use std::ops::Range;

/// Removes variables and overwrites what the process was started with of them. Refused as soon as there is another
/// thread, which might be reading them.
pub fn remove_variables(names: &[String]) -> io::Result<()> {
    if std::fs::read_dir("/proc/self/task")?.count() != 1 {
        return Err(io::Error::other("other threads may read the environment"));
    }
    let block = initial_block()?;
    for name in names {
        // A name with a NUL in it names no variable.
        if let Ok(name) = CString::new(name.as_str()) {
            remove(&name, &block);
        }
    }
    Ok(())
}

/// Where the environment is that the process was started with: the memory that `/proc/PID/environ` shows.
fn initial_block() -> io::Result<Range<usize>> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    // The name in parentheses may hold anything; `env_start` and `env_end` are the 50th and 51st fields, state the third.
    let fields = stat.rsplit_once(')').map(|(_, fields)| fields).unwrap_or_default();
    let field = |number: usize| fields.split_whitespace().nth(number - 3).and_then(|text| text.parse().ok());
    match (field(50), field(51)) {
        (Some(start), Some(end)) if 0 < start && start < end => Ok(start..end),
        _ => Err(io::Error::other("the kernel does not say where the environment is")),
    }
}

fn remove(name: &CStr, block: &Range<usize>) {
    // SAFETY: there is no other thread (checked by the caller), so nobody reads or changes the environment while we do.
    // `getenv` gives a string that is valid until the variable is changed, which happens only below.
    unsafe {
        let value: *mut c_char = libc::getenv(name.as_ptr());
        if value.is_null() {
            return;
        }
        let length = libc::strlen(value);
        let (start, name_length) = (value.addr(), name.count_bytes() + 1);
        libc::unsetenv(name.as_ptr());
        // Strings elsewhere were set later, are not shown by `/proc`, and may be in memory that cannot be written. Within
        // the block the kernel has put `NAME=VALUE`, in memory of ours that no Rust value borrows.
        if start >= block.start + name_length && start + length < block.end {
            value.sub(name_length).write_bytes(0, name_length + length);
        }
    }
}
