//! A server under measurement: built as for a release, started on a free port, ended with its owner.

use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use crate::bench::exchange::Exchange;
use crate::process;
use crate::workspace::Workspace;

const START_LIMIT: Duration = Duration::from_secs(20);

/// Short, because the time to the first answer is itself measured.
const POLL: Duration = Duration::from_micros(200);

/// What cargo builds, and from which package.
#[derive(Clone, Copy)]
pub(crate) enum Program {
    Binary { package: &'static str, name: &'static str },
    Example { package: &'static str, name: &'static str },
}

/// A program with its arguments; `--listen ADDR` is added to them.
pub(crate) struct Subject {
    pub(crate) label: &'static str,
    pub(crate) program: Program,
    pub(crate) arguments: &'static [&'static str],
}

pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
    /// From the start of the process to its first good answer.
    pub(crate) ready_after: Duration,
}

impl Program {
    pub(crate) const XTASK: Self = Self::Binary { package: "xtask", name: "xtask" };

    pub(crate) fn build(self, workspace: &Workspace) -> anyhow::Result<PathBuf> {
        let (package, kind, name) = match self {
            Self::Binary { package, name } => (package, "--bin", name),
            Self::Example { package, name } => (package, "--example", name),
        };
        process::run(workspace.cargo().args([
            "build",
            "--quiet",
            "--profile",
            "dist",
            "--package",
            package,
            kind,
            name,
        ]))?;
        let built = workspace.target.join("dist");
        Ok(match self {
            Self::Binary { .. } => built.join(name),
            Self::Example { .. } => built.join("examples").join(name),
        })
    }
}

impl Server {
    /// Builds and starts the subject; it is ready when it gives a good answer.
    pub(crate) fn start(
        workspace: &Workspace,
        subject: &Subject,
        exchange: &Exchange,
    ) -> anyhow::Result<Self> {
        let binary = subject.program.build(workspace)?;
        let mut command = Command::new(binary);
        command.args(subject.arguments).current_dir(&workspace.root);
        let log = workspace.cache().join("bench").join(format!("{}.log", subject.label.replace(' ', "-")));
        Self::launch(&mut command, exchange, &log)
            .with_context(|| format!("`{}` did not start, its log is {}", subject.label, log.display()))
    }

    pub(crate) fn launch(command: &mut Command, exchange: &Exchange, log: &Path) -> anyhow::Result<Self> {
        fs::create_dir_all(log.parent().unwrap_or(Path::new(".")))?;
        let output = File::create(log)?;
        let address = free_address()?;
        command.args(["--listen", &address.to_string()]);
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
        let start = Instant::now();
        let child = command.spawn().with_context(|| format!("cannot start `{}`", process::line(command)))?;
        let mut server = Self { child, address, ready_after: Duration::ZERO };
        server.wait_until_ready(exchange, start)?;
        server.ready_after = start.elapsed();
        Ok(server)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    fn wait_until_ready(&mut self, exchange: &Exchange, start: Instant) -> anyhow::Result<()> {
        loop {
            let Err(error) = exchange.ask(self.address) else { return Ok(()) };
            if let Some(status) = self.child.try_wait()? {
                bail!("it ended with {status}");
            }
            if start.elapsed() > START_LIMIT {
                return Err(error.context(format!("no good answer within {START_LIMIT:?}")));
            }
            thread::sleep(POLL);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself, which is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn free_address() -> anyhow::Result<SocketAddr> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?)
}

#[cfg(test)]
mod tests {
    use super::Server;
    use crate::bench::exchange::Exchange;
    use std::process::Command;

    fn check(script: &str, expect: &str) {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        let started =
            Server::launch(&mut command, &Exchange::get("/", ""), &folder.path().join("server.log"));
        assert_eq!(started.map_or_else(|error| error.to_string(), |_| "ready".to_owned()), expect);
    }

    #[test]
    fn a_server_that_ends_is_not_waited_for() {
        check("exit 3", "it ended with exit status: 3");
    }
}
