//! What a process used of processor and memory, read from `/proc`.

use std::fs;
use std::time::Duration;

use anyhow::Context;

use crate::bench::usage;

/// What something cost.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cost {
    /// Time of all processors together.
    pub(super) cpu: Duration,
    /// The most memory beside what was taken before, in mebibytes.
    pub(super) memory: f64,
}

/// A process between two looks at it.
pub(super) struct Watched {
    pid: u32,
    cpu: Duration,
    resident: f64,
}

impl Watched {
    /// Looks at a process, and forgets its highest memory so far.
    pub(super) fn begin(pid: u32) -> anyhow::Result<Self> {
        let path = format!("/proc/{pid}/clear_refs");
        fs::write(&path, "5").with_context(|| format!("cannot write {path}"))?;
        Ok(Self { pid, cpu: usage::cpu(pid)?, resident: usage::resident(pid)? })
    }

    /// What it used since then.
    pub(super) fn end(&self) -> anyhow::Result<Cost> {
        let cpu = usage::cpu(self.pid)?.saturating_sub(self.cpu);
        Ok(Cost { cpu, memory: (peak(self.pid)? - self.resident).max(0.0) })
    }
}

/// The highest resident memory of a process, in mebibytes.
pub(super) fn peak(pid: u32) -> anyhow::Result<f64> {
    let path = format!("/proc/{pid}/status");
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<f64>().ok());
    Ok(kibibytes.with_context(|| format!("cannot understand {path}"))? / 1024.0)
}
