//! The watcher process: this program again, told by its argument to wait for the end of the one that started it and
//! to kill what that left running.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use rustix::thread::set_name;

use super::family;

/// Whether this program becomes a watcher when it is started as one. Another would run a second time instead.
pub(super) static CAN_WATCH: AtomicBool = AtomicBool::new(false);
/// The argument that makes a program the watcher, and its name in lists of processes.
pub(crate) const ARGUMENT: &str = "child-watcher";
/// The name of the file with the groups.
pub(crate) const FILE: &str = "toolmux-child-groups";
/// The bytes of one group in it.
pub(crate) const SLOT: usize = size_of::<i32>();

/// The search for processes outside the groups ends after so many looks that found nothing: a child may have been
/// between its fork and the start of its program, when it has no mark yet.
const EMPTY_LOOKS: usize = 3;
/// How many looks there are at most.
const LOOKS: usize = 50;
/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(20);

/// Turns this process into the child watcher if it was started as one, and does not return then. Call it first in
/// `main`, before anything starts threads or opens files. A program that does not call it has no watcher: when it is
/// killed (SIGKILL), its children stay.
pub fn become_watcher_if_asked() {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|argument| argument == ARGUMENT) {
        watch(arguments.next().unwrap_or_default().as_bytes());
        std::process::exit(0)
    }
    CAN_WATCH.store(true, Ordering::Relaxed);
}

fn watch(mark: &[u8]) {
    set_name(c"child-watcher").ok();
    // Typed by somebody, the standard output holds other bytes than process groups, and no mark fits every child of
    // every toolmux.
    let named = std::fs::read_link("/proc/self/fd/1").unwrap_or_default();
    if mark.is_empty() || !named.to_string_lossy().starts_with(&format!("/memfd:{FILE}")) {
        eprintln!("`{ARGUMENT}` is only for toolmux itself");
        std::process::exit(2)
    }
    // Nothing is ever sent: the pipe ends when the last process that holds its other end has ended.
    io::copy(&mut io::stdin().lock(), &mut io::sink()).ok();
    for group in groups().unwrap_or_default() {
        kill_process_group(group, Signal::KILL).ok();
    }
    let mut empty = 0;
    for _ in 0..LOOKS {
        let killed = family::kill_those(|value| value.starts_with(mark));
        empty = if killed == 0 { empty + 1 } else { 0 };
        if empty == EMPTY_LOOKS {
            return;
        }
        std::thread::sleep(PAUSE);
    }
}

/// The groups that were left. None is 1 or less: they are named by processes that were started.
fn groups() -> io::Result<Vec<Pid>> {
    let mut file = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    let slots = bytes.as_chunks::<SLOT>().0.iter().map(|slot| i32::from_ne_bytes(*slot));
    Ok(slots.filter(|group| *group > 1).filter_map(Pid::from_raw).collect())
}
