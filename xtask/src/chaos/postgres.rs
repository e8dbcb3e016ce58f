//! A private PostgreSQL that scenarios may kill, stop, fill and promote; ended with its owner.

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use rustix::process::Signal;
use tempfile::TempDir;
use tokio::time::sleep;

use super::owned::{Owned, User, is_root, send_to_children};
use super::place::Skip;
use super::tmpfs::Tmpfs;
use crate::process;

const START_TIMEOUT: Duration = Duration::from_mins(1);

pub(crate) struct Postgres {
    binaries: PathBuf,
    /// Outside the scenario's folder, which another user could not enter.
    pub(crate) folder: TempDir,
    pub(crate) port: u16,
    settings: Vec<String>,
    process: Option<Owned>,
}

impl Postgres {
    /// Started, with an empty database `chaos`.
    pub(crate) async fn start(settings: &[&str]) -> anyhow::Result<Self> {
        let mut postgres = Self::prepare(settings)?;
        let data = postgres.data();
        let options = ["--username", "toolmux", "--auth", "trust", "--no-sync", "--encoding", "UTF8", "-D"];
        postgres.run(postgres.command("initdb").args(options).arg(data))?;
        postgres.resume().await?;
        postgres.sql("postgres", "CREATE DATABASE chaos")?;
        Ok(postgres)
    }

    /// A standby of the other, started.
    pub(crate) async fn standby(primary: &Self) -> anyhow::Result<Self> {
        let mut standby = Self::prepare(&[])?;
        let (port, data) = (primary.port.to_string(), standby.data());
        let mut copy = standby.command("pg_basebackup");
        copy.args([
            "-h",
            "127.0.0.1",
            "-U",
            "toolmux",
            "-p",
            &port,
            "-R",
            "-X",
            "stream",
            "-c",
            "fast",
            "-D",
        ]);
        standby.run(copy.arg(data))?;
        standby.resume().await?;
        Ok(standby)
    }

    fn prepare(settings: &[&str]) -> anyhow::Result<Self> {
        let folder = tempfile::Builder::new().prefix("toolmux-chaos-postgres-").tempdir()?;
        if is_root() {
            Tmpfs::give_to_nobody(folder.path())?;
        }
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        let settings = settings.iter().map(ToString::to_string).collect();
        Ok(Self { binaries: binaries()?, folder, port, settings, process: None })
    }

    pub(crate) fn url(&self) -> String {
        format!("postgres://toolmux@127.0.0.1:{}/chaos", self.port)
    }

    /// Starts it, once more if need be: after `kill -9` the old backends must have left first.
    pub(crate) async fn resume(&mut self) -> anyhow::Result<()> {
        let start = Instant::now();
        while start.elapsed() < START_TIMEOUT {
            if self.process.as_mut().is_none_or(|process| process.ended().is_ok_and(|ended| ended.is_some()))
            {
                self.process = Some(self.launch()?);
            }
            if self.sql("postgres", "SELECT 1").is_ok() {
                return Ok(());
            }
            sleep(Duration::from_millis(50)).await;
        }
        let log = fs::read_to_string(self.log()).unwrap_or_default();
        let last: Vec<&str> = log.lines().rev().take(3).collect();
        bail!("PostgreSQL did not start within {START_TIMEOUT:?}: {}", last.join(" | "))
    }

    fn launch(&self) -> anyhow::Result<Owned> {
        let mut command = Command::new(self.binaries.join("postgres"));
        command.arg("-D").arg(self.data()).args(["-p", &self.port.to_string(), "-k"]).arg(self.folder.path());
        command.args(["-c", "listen_addresses=127.0.0.1", "-c", "max_connections=200"]);
        for setting in &self.settings {
            command.args(["-c", setting]);
        }
        Owned::start(command.current_dir(self.folder.path()), User::Nobody, &self.log())
    }

    /// `kill -9` of the postmaster; its backends end when they notice.
    pub(crate) fn kill(&mut self) -> anyhow::Result<()> {
        self.process.take().context("PostgreSQL does not run")?.kill()
    }

    /// SIGSTOP or SIGCONT for the server and everything it started.
    pub(crate) fn signal_all(&self, signal: Signal) {
        if let Some(process) = &self.process {
            process.signal(signal);
            send_to_children(process.pid(), signal);
        }
    }

    /// What one statement prints.
    pub(crate) fn sql(&self, database: &str, statement: &str) -> anyhow::Result<String> {
        let port = self.port.to_string();
        let mut psql = Command::new(self.binaries.join("psql"));
        psql.args(["-X", "-q", "-t", "-A", "-h", "127.0.0.1", "-U", "toolmux", "-p", &port]);
        let output = psql.args(["-d", database, "-c", statement]).output().context("cannot start psql")?;
        if !output.status.success() {
            bail!("psql: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// A folder that belongs to the server's user.
    pub(crate) fn make_folder(&self, path: &Path) -> anyhow::Result<()> {
        self.run(Command::new("mkdir").arg(path))
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    fn command(&self, program: &str) -> Command {
        Command::new(self.binaries.join(program))
    }

    /// A program of PostgreSQL to its end, as the user that the server has.
    fn run(&self, command: &mut Command) -> anyhow::Result<()> {
        command.current_dir(self.folder.path());
        let mut owned = Owned::start(command, User::Nobody, &self.log())?;
        if !owned.wait()?.success() {
            let log = fs::read_to_string(self.log()).unwrap_or_default();
            bail!("`{}` failed: {}", process::line(command), log.lines().last().unwrap_or_default());
        }
        Ok(())
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // An immediate shutdown lets the postmaster end its backends, which a kill would leave for a moment.
        if let Some(process) = &mut self.process {
            process.signal(Signal::CONT);
            send_to_children(process.pid(), Signal::CONT);
            process.signal(Signal::QUIT);
            let _ = process.wait();
        }
    }
}

fn binaries() -> anyhow::Result<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().filter_map(Result::ok);
    let newest = versions.map(|entry| entry.path().join("bin")).max();
    newest
        .filter(|path| Path::new(path).join("postgres").exists())
        .ok_or_else(|| Skip("needs the package `postgresql` (cargo xtask test setup)".to_owned()).into())
}
