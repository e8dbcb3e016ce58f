//! One suite: what it is, what it installs, what it runs.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, bail};

use crate::need::Need;
use crate::peers::environment::Folders;
use crate::peers::{node, python};
use crate::process;

/// `timeout` answers so when the time is over.
const TIMED_OUT: i32 = 124;

pub(crate) struct Suite {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// Programs of the machine, installed by the `setup` step.
    pub(crate) needs: &'static [Need],
    /// PyPI packages with their versions, `mcp==1.2.3`.
    pub(crate) python: &'static [&'static str],
    /// npm packages with their versions, `@modelcontextprotocol/sdk@1.2.3`.
    pub(crate) node: &'static [&'static str],
    /// Started in the workspace root; sees `TOOLMUX_BIN`, `TOOLMUX_ROOT` and `TOOLMUX_SCRATCH`.
    pub(crate) command: &'static [&'static str],
    /// After this the command and all it started are ended, and the suite has failed.
    pub(crate) limit: Duration,
}

impl Suite {
    /// Installs its packages, unless they are there.
    pub(crate) fn prepare(&self, folders: &Folders) -> anyhow::Result<()> {
        if !self.python.is_empty() {
            python::prepare(&folders.python, self.python)?;
        }
        if !self.node.is_empty() {
            node::prepare(&folders.node, self.node)?;
        }
        Ok(())
    }

    /// What its command prints goes to `output`.
    pub(crate) fn run(&self, output: File, binary: &Path, root: &Path, cache: &Path) -> anyhow::Result<()> {
        let folders = Folders::of(self.name, cache);
        self.prepare(&folders)?;
        empty(&folders.scratch)?;
        let mut command = Command::new("timeout");
        command.args(["--kill-after=5", &self.limit.as_secs().to_string()]).args(self.command);
        folders.furnish(&mut command, binary, root)?;
        command.stdout(output.try_clone()?).stderr(output);
        let status =
            command.status().with_context(|| format!("cannot start `{}`", process::line(&command)))?;
        match status.code() {
            Some(0) => Ok(()),
            Some(TIMED_OUT) => bail!("took longer than {:?}", self.limit),
            _ => bail!("`{}` ended with {status}", self.command.join(" ")),
        }
    }
}

fn empty(folder: &Path) -> anyhow::Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot make `{}`", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::Suite;
    use std::path::Path;
    use std::time::Duration;

    fn check(script: &'static str, seconds: u64, expect: &str) {
        let cache = tempfile::tempdir().unwrap();
        let command: &'static [&'static str] = Box::leak(Box::new(["sh", "-c", script]));
        let limit = Duration::from_secs(seconds);
        let suite = Suite { name: "peer", about: "", needs: &[], python: &[], node: &[], command, limit };
        let output = tempfile::tempfile().unwrap();
        let outcome = suite.run(output, Path::new("/toolmux"), Path::new("/"), cache.path());
        assert_eq!(outcome.map_or_else(|error| error.to_string(), |()| "passed".to_owned()), expect);
    }

    #[test]
    fn the_command_decides() {
        check("true", 60, "passed");
        check("exit 4", 60, "`sh -c exit 4` ended with exit status: 4");
    }

    #[test]
    fn a_suite_that_hangs_fails() {
        check("while :; do :; done", 1, "took longer than 1s");
    }

    #[test]
    fn the_command_finds_its_environment() {
        check(
            "test $TOOLMUX_BIN = /toolmux && test $TOOLMUX_ROOT = / && touch $TOOLMUX_SCRATCH/file",
            60,
            "passed",
        );
        check(
            "case $PATH in */peer/python/bin:*/peer/node/node_modules/.bin:*) ;; *) exit 1;; esac",
            60,
            "passed",
        );
    }
}
