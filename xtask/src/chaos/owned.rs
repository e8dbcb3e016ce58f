//! Processes that end with whoever owns them: on drop, and by a parent-death signal when xtask itself is killed.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use rustix::process::{Pid, Signal, kill_process};

use crate::process;

pub(crate) struct Owned {
    child: Child,
}

impl Owned {
    /// Starts the command with its output appended to `log`.
    ///
    /// The kernel sends the parent-death signal when the *thread* that started the process ends, so scenarios
    /// start processes from their own body, which runs on the main thread, and never from a spawned task.
    pub(crate) fn start(command: &Command, user: User, log: &Path) -> anyhow::Result<Self> {
        let output = File::options().create(true).append(true).open(log)?;
        let mut wrapped = Command::new("setpriv");
        if user == User::Nobody && is_root() {
            wrapped.args(["--reuid", "nobody", "--regid", "nogroup", "--clear-groups"]);
        }
        wrapped.args(["--pdeathsig", "KILL"]).arg(command.get_program()).args(command.get_args());
        wrapped.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        if let Some(folder) = command.get_current_dir() {
            wrapped.current_dir(folder);
        }
        wrapped.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
        let child = wrapped.spawn().with_context(|| format!("cannot start `{}`", process::line(command)))?;
        Ok(Self { child })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        send(self.pid(), signal);
    }

    /// The status, once it has ended.
    pub(crate) fn ended(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        Ok(self.child.try_wait()?)
    }

    pub(crate) async fn until_ended(&mut self, limit: Duration) -> anyhow::Result<ExitStatus> {
        let start = Instant::now();
        loop {
            if let Some(status) = self.ended()? {
                return Ok(status);
            }
            if start.elapsed() > limit {
                bail!("process {} did not end within {limit:?}", self.pid());
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    pub(crate) fn wait(&mut self) -> anyhow::Result<ExitStatus> {
        Ok(self.child.wait()?)
    }

    /// `kill -9`, and waits for it.
    pub(crate) fn kill(&mut self) -> anyhow::Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // A stopped process ends by SIGKILL too; one that has ended already is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// As whom a process runs: PostgreSQL refuses to run as root.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum User {
    Ours,
    Nobody,
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A process that has ended already is left alone.
fn send(pid: u32, signal: Signal) {
    if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
        let _ = kill_process(pid, signal);
    }
}

pub(crate) fn send_to_children(parent: u32, signal: Signal) {
    for pid in children(parent) {
        send(pid, signal);
    }
}

/// The processes whose parent this is.
pub(crate) fn children(parent: u32) -> Vec<u32> {
    let processes = fs::read_dir("/proc").into_iter().flatten().filter_map(Result::ok);
    let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    ids.filter(|pid| parent_of(*pid) == Some(parent)).collect()
}

/// The fourth field; the second is a name in parentheses that may itself contain anything.
fn parent_of(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{Owned, User, children};
    use std::process::Command;

    #[test]
    fn a_process_ends_with_its_owner() {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new("sleep");
        let owned = Owned::start(command.arg("100"), User::Ours, &folder.path().join("log")).unwrap();
        let pid = owned.pid();
        assert!(children(std::process::id()).contains(&pid));
        drop(owned);
        assert!(!children(std::process::id()).contains(&pid));
    }
}
