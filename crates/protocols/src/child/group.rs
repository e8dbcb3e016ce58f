//! Child processes: a group of their own, a clean environment, and an end with all their descendants, however this
//! process ends. Those that leave the group of a family are known by a mark in their environment.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};
use toolmux_core::ports::figures::{ProcessCounters, RunningProcess};

use super::family;
use super::sandbox::{ChildSandbox, Sandboxed};
use super::watch::{self, Watched};

/// What a child inherits of our environment; nothing else, so that our secrets stay ours.
const INHERITED: [&str; 11] =
    ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TZ", "TMPDIR", "TERM", "XDG_CACHE_HOME"];

/// How often a family is looked for, which may have grown while it was killed.
const SEARCHES: usize = 3;

/// A process and its descendants, all killed when this is dropped, or by the watcher when this process ends before.
pub(crate) struct ChildGroup {
    /// The process itself.
    pub(crate) child: Child,
    group: Option<Pid>,
    /// Who is looked for outside the group when this is dropped.
    search: Search,
    /// What was made for it alone, removed after the group was killed.
    sandboxed: Option<Sandboxed>,
    /// Taken back after the group was killed.
    _watched: Watched,
    /// Taken back when the group was killed.
    counted: Option<RunningProcess>,
}

/// Who is looked for outside a group.
enum Search {
    Nobody,
    /// Whoever has this mark in its environment.
    Family(String),
}

/// A program to start, all three streams piped.
pub(crate) struct Program<'a> {
    /// The program and its arguments.
    pub(crate) argv: &'a [String],
    /// Its environment, besides what is inherited.
    pub(crate) env: &'a BTreeMap<String, String>,
    /// Where it runs.
    pub(crate) folder: &'a Path,
    /// What it may do; whatever the user of this process may without.
    pub(crate) sandbox: Option<&'a ChildSandbox>,
}

impl ChildGroup {
    /// Starts a program that does one thing and ends.
    pub(crate) fn start(program: &Program<'_>) -> io::Result<Self> {
        ChildGroup::spawn(program, Search::Nobody)
    }

    /// Starts a program that lives long: descendants that made a session of their own end with it too. Finding them
    /// costs a look at every process of the machine.
    pub(crate) fn start_family(program: &Program<'_>) -> io::Result<Self> {
        ChildGroup::spawn(program, Search::Family(family::of_child()))
    }

    fn spawn(program: &Program<'_>, search: Search) -> io::Result<Self> {
        if program.argv.is_empty() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the command is empty"));
        }
        let inherited = INHERITED.iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
        let mark = match &search {
            Search::Family(mark) => mark,
            Search::Nobody => &*family::OF_PROCESS,
        };
        watch::start();
        let sandboxed = program.sandbox.map(ChildSandbox::prepare).transpose()?;
        let mut command = match &sandboxed {
            Some(sandboxed) => sandboxed.launcher(program.argv),
            None => plain(program.argv),
        };
        let child = command
            .current_dir(program.folder)
            .env_clear()
            .envs(inherited)
            .envs(sandboxed.as_ref().map(Sandboxed::variable))
            .envs(program.env)
            .env(family::VARIABLE, mark)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        Ok(ChildGroup::of(child, search, sandboxed))
    }

    /// Why the launcher of a sandbox did not start the program; none when the program ran.
    pub(crate) fn not_launched(&self, status: ExitStatus, stderr: &[u8]) -> Option<String> {
        self.sandboxed.as_ref()?.failure(status, stderr)
    }

    /// Starts a program that talks over its standard input and output: an environment of these variables
    /// alone, our standard error. It may make a group of its own, and leads one already if it does not. It ends with
    /// its group by itself when its input does, so no watcher is started for it alone.
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
        Ok(ChildGroup::of(child, Search::Nobody, None))
    }

    fn of(child: Child, search: Search, sandboxed: Option<Sandboxed>) -> Self {
        let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        ChildGroup { child, group, search, sandboxed, _watched: Watched::new(group), counted: None }
    }

    /// Has the process counted as running until the group is killed.
    pub(crate) fn counted_by(mut self, counters: &Arc<ProcessCounters>) -> Self {
        self.counted = Some(counters.started());
        self
    }

    /// Asks the whole group to end.
    pub(crate) fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            // The group may be gone already, which is what we want.
            kill_process_group(group, signal).ok();
        }
    }
}

fn plain(argv: &[String]) -> Command {
    let mut command = Command::new(&argv[0]);
    command.args(&argv[1..]);
    command
}

impl Drop for ChildGroup {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        drop(self.counted.take());
        let Search::Family(mark) = &self.search else { return };
        for _ in 0..SEARCHES {
            if family::kill_those(|value| value == mark.as_bytes()) == 0 {
                return;
            }
        }
    }
}
