//! A toolmux under test: its configuration, its address that stays the same over restarts, and its process.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use rustix::process::Signal;
use tokio::time::sleep;

use super::client::HttpClient;
use super::owned::{Owned, User};
use super::place::Place;
use super::protocol::Protocol;

/// How long a start, or an orderly end, may take, on a busy machine and with a debug build.
const START_TIMEOUT: Duration = Duration::from_mins(1);

pub(crate) struct Toolmux {
    binary: PathBuf,
    folder: PathBuf,
    name: &'static str,
    pub(crate) environment: Vec<(&'static str, String)>,
    /// What lists are asked for with.
    pub(crate) key: Option<&'static str>,
    pub(crate) address: SocketAddr,
    process: Option<Owned>,
}

impl Toolmux {
    /// With a configuration of its own, not yet started.
    pub(crate) fn new(place: &Place, name: &'static str, config: &str) -> anyhow::Result<Self> {
        let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
        let folder = place.folder.path().to_owned();
        let toolmux = Self {
            binary: place.toolmux.clone(),
            folder,
            name,
            environment: Vec::new(),
            key: None,
            address,
            process: None,
        };
        fs::write(toolmux.config(), config)?;
        Ok(toolmux)
    }

    /// Started and ready.
    pub(crate) async fn start_ready(place: &Place, name: &'static str, config: &str) -> anyhow::Result<Self> {
        Self::new(place, name, config)?.ready().await
    }

    /// Starts it, and waits until it is ready and lists a tool.
    pub(crate) async fn ready(mut self) -> anyhow::Result<Self> {
        self.start()?;
        self.until_ready().await?;
        self.until_listed(1).await?;
        Ok(self)
    }

    pub(crate) fn config(&self) -> PathBuf {
        self.folder.join(format!("{}.toml", self.name))
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.folder.join(format!("{}.log", self.name))
    }

    pub(crate) fn base(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn pid(&self) -> anyhow::Result<u32> {
        self.process.as_ref().map(Owned::pid).context("the server does not run")
    }

    pub(crate) fn start(&mut self) -> anyhow::Result<()> {
        let mut command = Command::new(&self.binary);
        command.arg("serve").arg(self.config()).args(["--listen", &self.address.to_string()]);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.current_dir(&self.folder);
        self.process = Some(Owned::start(&command, User::Ours, &self.log())?);
        Ok(())
    }

    /// Until `/health` says that it is ready.
    pub(crate) async fn until_ready(&mut self) -> anyhow::Result<Duration> {
        let (client, url) = (HttpClient::new(), format!("{}/health", self.base()));
        let start = Instant::now();
        loop {
            if client.get(&url).await.is_ok_and(|reply| reply.status == 200) {
                return Ok(start.elapsed());
            }
            let process = self.process.as_mut().context("the server does not run")?;
            if let Some(status) = process.ended()? {
                bail!("`{}` ended with {status}: {}", self.name, tail(&self.log()));
            }
            if start.elapsed() > START_TIMEOUT {
                bail!("`{}` was not ready within {START_TIMEOUT:?}: {}", self.name, tail(&self.log()));
            }
            sleep(Duration::from_millis(10)).await;
        }
    }

    /// Until so many tools are listed, for scenarios that are not about starting.
    pub(crate) async fn until_listed(&self, tools: usize) -> anyhow::Result<()> {
        let (client, start) = (HttpClient::new(), Instant::now());
        while start.elapsed() < START_TIMEOUT {
            let listed = Protocol::Ats.list(&client, &self.base(), self.key).await;
            if listed.is_ok_and(|listed| listed >= tools) {
                return Ok(());
            }
            sleep(Duration::from_millis(10)).await;
        }
        bail!("`{}` did not list {tools} tools within {START_TIMEOUT:?}: {}", self.name, tail(&self.log()))
    }

    /// Kills it as `kill -9` does.
    pub(crate) fn kill(&mut self) -> anyhow::Result<()> {
        self.process.take().context("the server does not run")?.kill()
    }

    /// SIGTERM, and waits for the end.
    pub(crate) async fn terminate(&mut self) -> anyhow::Result<()> {
        let mut process = self.process.take().context("the server does not run")?;
        process.signal(Signal::TERM);
        process.until_ended(START_TIMEOUT).await?;
        Ok(())
    }
}

fn tail(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().rev().take(5).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join(" | ")
}
