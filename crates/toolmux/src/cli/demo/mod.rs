//! `toolmux demo`: a server with one source of each kind, and a walk that calls it over every protocol.

mod server;
mod steps;
mod walk;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use toolmux_core::gateway::Gateway;

pub(super) use self::server::DemoServer;
use self::walk::{Pace, Walk};
use super::announce::announce_ready;
use super::connecting::connected;
use super::failure::{Failure, TOOL_FAILED};
use super::serve::{address_of, listen_on};
use super::terminal::{Terminal, note, print_line};
use crate::assembly::{Assembly, store};
use crate::config::Config;
use crate::server::Running;
use crate::signals::EndSignals;

/// The configuration, with the documents of its sources in it: the demo reads and writes no file.
const CONFIG: &str = include_str!("demo.toml");
/// Where the demo listens: on a free port, so that it never collides with a server that runs.
const LISTEN: &str = "127.0.0.1:0";
/// The MCP server of the demo, which is this program.
const OWN_SOURCE: &str = "Tickets";
/// How long the sources get to start.
const SETTLE: Duration = Duration::from_secs(10);

/// Start a server with example tools and call them over every protocol.
///
/// The tools are two functions of the C mathematics library, a C function that crashes, a command, a workflow
/// and an MCP server that is part of this program. Each step shows a request as a curl line, sends it, shows the
/// answer, and says what to look at. On a terminal, press Enter for the next step. Afterwards the
/// server keeps running until Ctrl-C, for requests of your own.
///
/// Example: toolmux demo
///
/// Example: toolmux demo --exit > demo.txt
///
/// Example: toolmux demo --print-config > toolmux.toml && toolmux serve
#[derive(clap::Args)]
pub(super) struct Demo {
    /// Where to listen [default: a free port on loopback].
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    /// Exit after the last step instead of running until Ctrl-C.
    #[arg(long)]
    exit: bool,
    /// Print the configuration of the demo instead, to start your own from.
    #[arg(long, conflicts_with_all = ["listen", "exit"])]
    print_config: bool,
}

impl Demo {
    pub(super) async fn run(self, terminal: &Terminal) -> Result<ExitCode, Failure> {
        if self.print_config {
            print_line(CONFIG.trim_end());
            return Ok(ExitCode::SUCCESS);
        }
        let config = self.config()?;
        config.check_exposure()?;
        // Before sources start: a signal that comes then must not leave one of them running.
        let mut signals = EndSignals::new();
        let assembly = Assembly::new(&config, store(&config.store, config.retention).await?)?;
        let running = Running::start(Arc::clone(&assembly.gateway), listen_on(&config), None).await;
        let running = running.map_err(|error| {
            Failure::refused(error)
                .hint("is another server running there? --listen ADDR chooses another address")
        })?;
        let ended = tokio::select! {
            ended = self.show(&assembly.gateway, &running, terminal) => ended,
            () = signals.next() => Ok(ExitCode::SUCCESS),
        };
        running.stop_or(signals.next()).await;
        ended
    }

    fn config(&self) -> Result<Config, Failure> {
        let mut config = Config::read(CONFIG, "demo.toml", Path::new("."))?;
        let program = std::env::current_exe().context("the file of this program cannot be found")?;
        for source in config.sources.iter_mut().filter(|source| source.name == OWN_SOURCE) {
            source.table["command"][0] = program.to_string_lossy().into();
        }
        config.listen = address_of(self.listen.as_deref().unwrap_or(LISTEN))?;
        // Nobody else relies on this server: nothing is gained by answering on while it stops.
        config.connections.stop_grace = Duration::ZERO;
        Ok(config)
    }

    /// The walk, and then nothing more until a signal comes, unless the demo ends with the walk.
    async fn show(
        &self,
        gateway: &Gateway,
        running: &Running,
        terminal: &Terminal,
    ) -> Result<ExitCode, Failure> {
        let base = &running.url();
        connected(gateway, terminal, SETTLE).await;
        announce_ready(gateway, running.address(), base, terminal);
        let mut walk = Walk::new(base, *terminal, Pace::of_process());
        walk.run(&steps::steps()).await?;
        if self.exit {
            return Ok(if walk.is_as_expected() { ExitCode::SUCCESS } else { ExitCode::from(TOOL_FAILED) });
        }
        note(&format!(
            "The server keeps running at {base} until Ctrl-C: see and try it at {base}/console. Next: toolmux init, toolmux docs connect"
        ));
        std::future::pending().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_is_good_and_complete() {
        let demo = Demo { listen: None, exit: true, print_config: false };
        let config = demo.config().map_err(|failure| failure.to_string()).expect("a good configuration");
        let kinds: Vec<&str> = config.sources.iter().map(|source| source.kind).collect();
        assert_eq!(kinds, ["opendyn", "opendyn", "command", "workflow", "mcp"]);
        for source in &config.sources {
            assert!(source.open().is_ok(), "{}", source.name);
        }
        assert_eq!(config.listen, LISTEN.parse().expect("an address"));
    }
}
