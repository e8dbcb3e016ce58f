//! The variable in the environment of every child, by which descendants are found that left the group of their
//! parent, such as daemons.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::process::{Pid, Signal, kill_process};
use uuid::Uuid;

/// The environment variable by which descendants outside the group are found.
pub(crate) const VARIABLE: &str = "TOOLMUX_FAMILY";
/// What its value begins with in everything that this process starts.
pub(crate) static OF_PROCESS: LazyLock<String> = LazyLock::new(|| Uuid::new_v4().simple().to_string());

static FAMILIES: AtomicU64 = AtomicU64::new(0);

/// A value for one child and its descendants alone.
pub(crate) fn of_child() -> String {
    format!("{}.{}", *OF_PROCESS, FAMILIES.fetch_add(1, Ordering::Relaxed))
}

/// Kills every process whose value of the variable is wanted, and says how many there were. Costs a look at every
/// process of the machine.
pub(crate) fn kill_those(wanted: impl Fn(&[u8]) -> bool) -> usize {
    let found: Vec<Pid> =
        processes().filter(|process| value(*process).is_some_and(|value| wanted(&value))).collect();
    for process in &found {
        // It may have ended by itself meanwhile, which is what we want.
        kill_process(*process, Signal::KILL).ok();
    }
    found.len()
}

fn processes() -> impl Iterator<Item = Pid> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten();
    entries.filter_map(|entry| Pid::from_raw(entry.ok()?.file_name().to_str()?.parse().ok()?))
}

fn value(process: Pid) -> Option<Vec<u8>> {
    let environment = std::fs::read(format!("/proc/{}/environ", process.as_raw_nonzero())).ok()?;
    let mut variables = environment.split(|byte| *byte == 0);
    variables.find_map(|one| one.strip_prefix(VARIABLE.as_bytes())?.strip_prefix(b"=").map(<[u8]>::to_vec))
}
