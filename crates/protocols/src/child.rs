//! Child processes: a group of their own, a clean environment, and an end with all their descendants.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};

/// What a child inherits of our environment; nothing else, so that our secrets stay ours.
const INHERITED: [&str; 11] =
    ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TZ", "TMPDIR", "TERM", "XDG_CACHE_HOME"];

/// A process and its descendants, all killed when this is dropped.
pub(crate) struct ChildGroup {
    /// The process itself.
    pub(crate) child: Child,
    group: Option<Pid>,
}

impl ChildGroup {
    /// Starts a program in `folder`, all three streams piped.
    pub(crate) fn start(argv: &[String], env: &BTreeMap<String, String>, folder: &Path) -> io::Result<Self> {
        let (program, arguments) = argv
            .split_first()
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the command is empty"))?;
        let inherited = INHERITED.iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
        let child = Command::new(program)
            .args(arguments)
            .current_dir(folder)
            .env_clear()
            .envs(inherited)
            .envs(env)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        Ok(ChildGroup { child, group })
    }

    /// Starts a program that talks over its standard input and output: an environment of these variables
    /// alone, our standard error. It may make a group of its own, and leads one already if it does not.
    pub(crate) fn start_worker(
        program: &Path,
        argument: &str,
        env: &BTreeMap<String, String>,
    ) -> io::Result<Self> {
        let child = Command::new(program)
            .arg(argument)
            .env_clear()
            .envs(env)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        Ok(ChildGroup { child, group })
    }

    /// Asks the whole group to end.
    pub(crate) fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            // The group may be gone already, which is what we want.
            kill_process_group(group, signal).ok();
        }
    }
}

impl Drop for ChildGroup {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}
