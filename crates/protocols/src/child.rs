//! Child processes: a group of their own, a clean environment, and an end with all their descendants, however this
//! process ends. Those that leave the group of a family are known by a mark in their environment.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};

use crate::child_family;
use crate::child_watch::{self, Watched};

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
    /// Taken back after the group was killed.
    _watched: Watched,
}

/// Who is looked for outside a group.
enum Search {
    Nobody,
    /// Whoever has this mark in its environment.
    Family(String),
}

impl ChildGroup {
    /// Starts a program in `folder`, all three streams piped.
    pub(crate) fn start(argv: &[String], env: &BTreeMap<String, String>, folder: &Path) -> io::Result<Self> {
        ChildGroup::spawn(argv, env, folder, Search::Nobody)
    }

    /// The same for a program that lives long: descendants that made a session of their own end with it too.
    /// Finding them costs a look at every process of the machine.
    pub(crate) fn start_family(
        argv: &[String],
        env: &BTreeMap<String, String>,
        folder: &Path,
    ) -> io::Result<Self> {
        ChildGroup::spawn(argv, env, folder, Search::Family(child_family::of_child()))
    }

    fn spawn(
        argv: &[String],
        env: &BTreeMap<String, String>,
        folder: &Path,
        search: Search,
    ) -> io::Result<Self> {
        let (program, arguments) = argv
            .split_first()
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the command is empty"))?;
        let inherited = INHERITED.iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
        let mark = match &search {
            Search::Family(mark) => mark,
            Search::Nobody => &*child_family::OF_PROCESS,
        };
        child_watch::start();
        let child = Command::new(program)
            .args(arguments)
            .current_dir(folder)
            .env_clear()
            .envs(inherited)
            .envs(env)
            .env(child_family::VARIABLE, mark)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        Ok(ChildGroup::of(child, search))
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
        Ok(ChildGroup::of(child, Search::Nobody))
    }

    fn of(child: Child, search: Search) -> Self {
        let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        ChildGroup { child, group, search, _watched: Watched::new(group) }
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
        let Search::Family(mark) = &self.search else { return };
        for _ in 0..SEARCHES {
            if child_family::kill_those(|value| value == mark.as_bytes()) == 0 {
                return;
            }
        }
    }
}
