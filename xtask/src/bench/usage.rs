//! What a process has used, read from `/proc`.

use std::fs;
use std::time::Duration;

use anyhow::Context;

/// Linux counts processor time for user space in hundredths of a second on every platform we run on.
const TICKS_PER_SECOND: u64 = 100;

/// User and system time of the process so far, all its threads together.
pub(crate) fn cpu(pid: u32) -> anyhow::Result<Duration> {
    let path = format!("/proc/{pid}/stat");
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    let ticks = ticks(&text).with_context(|| format!("cannot understand {path}"))?;
    Ok(Duration::from_millis(ticks * 1000 / TICKS_PER_SECOND))
}

/// Resident memory, in mebibytes.
pub(crate) fn resident(pid: u32) -> anyhow::Result<f64> {
    let path = format!("/proc/{pid}/status");
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    let kibibytes = resident_kibibytes(&text).with_context(|| format!("cannot understand {path}"))?;
    Ok(kibibytes as f64 / 1024.0)
}

/// Fields 14 and 15; the second field is a name in parentheses that may itself contain anything.
fn ticks(stat: &str) -> Option<u64> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(user + system)
}

fn resident_kibibytes(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{cpu, resident, resident_kibibytes, ticks};

    fn check(stat: &str, expect: Option<u64>) {
        assert_eq!(ticks(stat), expect);
    }

    #[test]
    fn processor_time_is_user_and_system() {
        check("7 (a) b) S 1 7 7 0 -1 4194560 100 0 0 0 250 75 0 0 20 0 3 0 5 6 7", Some(325));
        check("7 (toolmux", None);
        check("7 (toolmux) S 1 2", None);
    }

    #[test]
    fn resident_memory_is_found_by_name() {
        assert_eq!(resident_kibibytes("VmPeak:\t 9 kB\nVmRSS:\t   12345 kB\n"), Some(12345));
        assert_eq!(resident_kibibytes("Name: x"), None);
    }

    #[test]
    fn this_process_can_be_read() {
        assert!(cpu(std::process::id()).is_ok());
        assert!(resident(std::process::id()).unwrap() > 0.5);
    }
}
