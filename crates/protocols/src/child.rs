//! Child processes: a group of their own, a clean environment, and an end with all their descendants. Those that
//! leave the group of a family are known by a mark in their environment.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::process::{Child, Command};
use uuid::Uuid;

/// What a child inherits of our environment; nothing else, so that our secrets stay ours.
const INHERITED: [&str; 11] =
    ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TZ", "TMPDIR", "TERM", "XDG_CACHE_HOME"];

/// The variable that marks a family.
const MARK: &str = "TOOLMUX_FAMILY";
/// How often a family is looked for, which may have grown while it was killed.
const SEARCHES: usize = 3;

/// A process and its descendants, all killed when this is dropped.
pub(crate) struct ChildGroup {
    /// The process itself.
    pub(crate) child: Child,
    group: Option<Pid>,
    /// Also in the environment of those who left the group; absent where nobody looks for them.
    mark: Option<String>,
}

impl ChildGroup {
    /// Starts a program in `folder`, all three streams piped.
    pub(crate) fn start(argv: &[String], env: &BTreeMap<String, String>, folder: &Path) -> io::Result<Self> {
        ChildGroup::spawn(argv, env, folder, None)
    }

    /// The same for a program that lives long: descendants that made a session of their own end with it too.
    /// Finding them costs a look at every process of the machine.
    pub(crate) fn start_family(
        argv: &[String],
        env: &BTreeMap<String, String>,
        folder: &Path,
    ) -> io::Result<Self> {
        ChildGroup::spawn(argv, env, folder, Some(Uuid::new_v4().to_string()))
    }

    fn spawn(
        argv: &[String],
        env: &BTreeMap<String, String>,
        folder: &Path,
        mark: Option<String>,
    ) -> io::Result<Self> {
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
            .envs(mark.iter().map(|mark| (MARK, mark)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        Ok(ChildGroup { child, group, mark })
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
        Ok(ChildGroup { child, group, mark: None })
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
        let Some(mark) = &self.mark else { return };
        let mark = format!("{MARK}={mark}");
        for _ in 0..SEARCHES {
            let marked = marked(mark.as_bytes());
            if marked.is_empty() {
                return;
            }
            for process in marked {
                kill_process(process, Signal::KILL).ok();
            }
        }
    }
}

/// Processes that were started with this variable.
fn marked(variable: &[u8]) -> Vec<Pid> {
    let Ok(processes) = std::fs::read_dir("/proc") else { return Vec::new() };
    let marked = |id: i32| {
        let environment = std::fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|one| one == variable)
    };
    let ids = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    ids.filter(|id| marked(*id)).filter_map(Pid::from_raw).collect()
}
