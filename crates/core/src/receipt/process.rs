//! What tells one process from another: the number alone is used again, and is the same in every container.

use std::fs;

use serde::{Deserialize, Serialize};

/// Where numbers of processes mean the same, and when the process began. Empty where there is no `/proc`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessMark {
    /// The boot of the machine and the namespace of process numbers.
    pub space: String,
    /// When it began, in clock ticks since that boot.
    pub started: u64,
}

impl ProcessMark {
    pub(crate) fn own() -> Self {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok();
        let namespace = fs::read_link("/proc/self/ns/pid").ok();
        let mark = boot.zip(namespace).zip(start_of("self")).map(|((boot, namespace), started)| {
            ProcessMark { space: format!("{} {}", boot.trim(), namespace.display()), started }
        });
        mark.unwrap_or_default()
    }

    /// True for one that nothing is known of.
    pub fn is_unknown(&self) -> bool {
        self.space.is_empty()
    }

    /// Whether the process runs; none when it cannot be seen from here.
    pub(crate) fn runs(&self, pid: u32, own: &ProcessMark) -> Option<bool> {
        let seen = !self.is_unknown() && self.space == own.space;
        seen.then(|| start_of(&pid.to_string()) == Some(self.started))
    }
}

/// When a process began; none when it has ended. One that nobody has waited for yet has ended too.
fn start_of(process: &str) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name in brackets may hold anything, brackets and spaces included.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    let started = fields.nth(18)?.parse().ok()?;
    (!matches!(state, "Z" | "X")).then_some(started)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_is_used_again_is_another_process() {
        let own = ProcessMark::own();
        let pid = std::process::id();
        assert_eq!(own.runs(pid, &own), Some(true));
        let earlier = ProcessMark { started: own.started - 1, ..own.clone() };
        assert_eq!(earlier.runs(pid, &own), Some(false));
        let elsewhere = ProcessMark { space: "another boot".to_owned(), ..own.clone() };
        assert_eq!(elsewhere.runs(pid, &own), None);
        assert_eq!(ProcessMark::default().runs(pid, &own), None);
    }

    #[test]
    fn a_process_that_ended_does_not_run() {
        let mut child = std::process::Command::new("sleep").arg("600").spawn().expect("a process");
        let (own, pid) = (ProcessMark::own(), child.id());
        let started = start_of(&pid.to_string()).expect("it runs");
        let mark = ProcessMark { started, ..own.clone() };
        assert_eq!(mark.runs(pid, &own), Some(true));
        child.kill().expect("it runs");
        child.wait().expect("it has ended");
        assert_eq!(mark.runs(pid, &own), Some(false));
    }
}
