//! `toolmux serve`: every source behind every protocol, on one port.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use toolmux_core::catalog::UnservedCause;
use toolmux_core::gateway::Gateway;
use toolmux_core::secret::Secret;
use toolmux_core::sources::{SourceReport, SourceStatus, UnusedSetting};

use super::announce::{announce, announce_console, tell_found};
use super::assembling::assembled_with;
use super::connecting::connected;
use super::db::failed;
use super::detect::{Certainty, Found};
use super::failure::{Failure, whole};
use super::missing_program::missing_program;
use super::origin::Origin;
use super::terminal::{Form, Terminal, note};
use crate::assembly::store;
use crate::config::{Config, LISTEN};
use crate::console_view::ConsoleView;
use crate::listener::ListenTls;
use crate::receipt_signing::keep_receipts;
use crate::reload::{self, File, Flags, Follower};
use crate::server::{ListenOn, Running};
use crate::service_manager::{self, ServiceState};
use crate::signals::{self, EndSignals};
use crate::telemetry::Exporter;

/// How long the start waits to hear of every source before it says what it serves.
const SETTLE: Duration = Duration::from_secs(5);

/// The same for what was named on the command line: a package may have to be downloaded first.
const SETTLE_FOUND: Duration = Duration::from_mins(1);

/// Serve tools over every protocol.
///
/// Serves a configuration. It can also serve tools without one: an OpenDyn, OpenTool or OpenAPI document, a C library with
/// its header in the same folder, the address of an MCP, OpenTool, OXP or ATS server, the file of an MCP client (Claude
/// Desktop, Cursor, VS Code, Codex), or the command of an MCP server after `--`. Several can be combined; records are
/// then kept in memory.
///
/// Example: toolmux serve toolmux.toml
///
/// Example: toolmux serve -- npx -y @modelcontextprotocol/server-everything
///
/// Example: toolmux serve zlib.opendyn.json http://127.0.0.1:9700
#[derive(clap::Args)]
pub(super) struct Serve {
    #[command(flatten)]
    pub(super) origin: Origin,
    /// Where to listen; overrides the configuration.
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    /// Where records are kept; overrides the configuration.
    #[arg(long, value_name = "URL")]
    store: Option<String>,
    /// Not an option; other servers have it.
    #[arg(long, short, value_name = "PORT", hide = true)]
    port: Option<String>,
    /// Log one line for each call.
    #[arg(long)]
    log_calls: bool,
}

impl Serve {
    pub(super) async fn run(self, terminal: &Terminal) -> Result<ExitCode, Failure> {
        if let Some(port) = &self.port {
            let meant = whole_address(port).map_or_else(|| LISTEN.to_owned(), |address| address.to_string());
            return Err(Failure::refused(anyhow::anyhow!("there is no option `--port`"))
                .hint(format!("--listen {meant} says where to listen")));
        }
        let origin = self.origin.config().await?;
        tell_found(&origin.found, Certainty::Known, terminal);
        let flags = self.flags()?;
        let config = flags.over(origin.config);
        config.check_exposure().map_err(|fault| match &origin.file {
            Some(file) if flags.listen.is_none() => fault.at_key(&file.path, "listen"),
            _ => fault,
        })?;
        let manner = ServeOptions { version: None, file: origin.file, flags, found: origin.found };
        serve(&config, manner, terminal).await
    }

    fn flags(&self) -> Result<Flags, Failure> {
        Ok(Flags {
            listen: self.listen.as_deref().map(address_of).transpose()?,
            store: self.store.clone().map(Secret::new),
            log_calls: self.log_calls,
        })
    }
}

/// The address that was given with `--listen`.
pub(super) fn address_of(listen: &str) -> Result<SocketAddr, Failure> {
    listen.parse().map_err(|_| {
        Failure::refused(anyhow::anyhow!("`{listen}` is not an address of the form 127.0.0.1:9627"))
            .meaning(whole_address(listen))
    })
}

/// The address that was meant by a part of one: a port, an address without its port, or `localhost`.
fn whole_address(part: &str) -> Option<SocketAddr> {
    let (usual, part): (SocketAddr, String) = (LISTEN.parse().ok()?, part.replace("localhost", "127.0.0.1"));
    let port = part.strip_prefix(':').unwrap_or(&part).parse().map(|port| SocketAddr::new(usual.ip(), port));
    let host = || part.parse().map(|host: IpAddr| SocketAddr::new(host, usual.port()));
    port.or_else(|_| host()).or_else(|_| part.parse()).ok()
}

/// How a configuration is served.
#[derive(Default)]
pub(super) struct ServeOptions {
    /// The version that the server tells, where that is not the program's own.
    pub(super) version: Option<String>,
    /// The file to follow.
    pub(super) file: Option<File>,
    /// What the command line says over the file each time it is read.
    pub(super) flags: Flags,
    /// What the configuration was made of, when there is no file.
    pub(super) found: Vec<Found>,
}

/// Serves a configuration until a signal ends the process, and follows the file it is from.
pub(super) async fn serve(
    config: &Config,
    manner: ServeOptions,
    terminal: &Terminal,
) -> Result<ExitCode, Failure> {
    let (store, stop) = (store(&config.store, config.retention).await?, CancellationToken::new());
    let mut assembly = assembled_with(config, store, manner.path())?;
    assembly.authorize(config)?;
    let tls = config.tls.clone().map(ListenTls::new);
    follow_store(config, &assembly.gateway).await?;
    let telemetry = Exporter::start(config, &assembly.gateway)?;
    // Taken now: a signal that comes while sources connect must not end the process.
    let (hang_up, mut signals) = (signals::hang_ups(), EndSignals::new());
    let program = ConsoleView::new(config, manner.path(), assembly.broker());
    let on = ListenOn { version: manner.version.clone(), tls: tls.clone(), ..listen_on(config) };
    let on = ListenOn { program: Some(program.clone()), ..on };
    let running = Running::start(assembly.gateway.clone(), on, config.allow_stop.then(|| stop.clone())).await;
    let running = running.map_err(not_listening)?;
    assembly.listens_at(&running.url());
    let gateway = assembly.gateway.clone();
    let calls = manner.file.as_ref().map(|_| reload::Calls { hang_up, wishes: reload::wishes(&gateway) });
    let serving = async {
        let settle = if manner.found.is_empty() { SETTLE } else { SETTLE_FOUND };
        connected(&gateway, terminal, settle).await;
        refuse_silence(&gateway, &manner.found)?;
        log_unused_settings(&gateway);
        tell_found(&manner.found, Certainty::AfterListing, terminal);
        announce(&gateway, running.address(), &running.url(), terminal);
        announce_console(config, &running.url(), terminal);
        tell_remedy(&gateway, &manner.found, terminal);
        match manner.file.as_ref().zip(calls) {
            Some((file, calls)) => {
                let follower =
                    Follower::new(assembly, config, manner.flags.clone()).serving_by(tls).shown_by(program);
                reload::follow(file, follower, calls).await;
            }
            None => std::future::pending().await,
        }
        Ok::<(), Failure>(())
    };
    let (ended, first) = tokio::select! {
        ended = serving => (ended, FirstSignal::Awaited),
        () = signals.next() => (Ok(()), FirstSignal::Seen),
        () = stop.cancelled() => (Ok(()), FirstSignal::Awaited),
        never = report_ready(&gateway) => match never {},
    };
    stop_serving(running, telemetry, (&mut signals, first)).await;
    ended.map(|()| ExitCode::SUCCESS)
}

fn not_listening(error: anyhow::Error) -> Failure {
    Failure::refused(error).hint("is another server running there? --listen ADDR chooses another address")
}

impl ServeOptions {
    /// The file that the configuration is from.
    fn path(&self) -> Option<&std::path::Path> {
        self.file.as_ref().map(|file| &*file.path)
    }
}

/// Reports to the service manager and the log that the server stops, and stops it. The spans of the last calls are sent
/// after these have ended, unless one more signal comes.
async fn stop_serving(
    running: Running,
    telemetry: Exporter,
    (signals, first): (&mut EndSignals, FirstSignal),
) {
    service_manager::notify(ServiceState::Stopping);
    tracing::info!("stopping");
    running.stop_or(second_signal(signals, first)).await;
    tokio::select! {
        () = telemetry.stop() => {}
        () = signals.next() => {}
    }
}

/// Reports to the service manager that the server is ready, when `/health` says so too. Never ends.
async fn report_ready(gateway: &Gateway) -> Infallible {
    gateway.sources().until_ready().await;
    service_manager::notify(ServiceState::Ready);
    std::future::pending().await
}

/// What the store has to do with calls besides recording them. Before anybody is listened to: where the store has keys,
/// nobody is let in without one.
async fn follow_store(config: &Config, gateway: &Arc<Gateway>) -> Result<(), Failure> {
    keep_receipts(config, gateway)?;
    gateway.keys().follow().await.map_err(failed)
}

/// Whether the server ends because of a signal.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FirstSignal {
    Seen,
    Awaited,
}

/// A second signal stops a stopping server at once. One that stops without a signal has not got the first one yet.
async fn second_signal(signals: &mut EndSignals, first: FirstSignal) {
    if first == FirstSignal::Awaited {
        signals.next().await;
    }
    signals.next().await;
}

pub(super) fn listen_on(config: &Config) -> ListenOn {
    ListenOn {
        address: config.listen.to_string(),
        hosts: config.hosts.clone(),
        origins: config.origins.clone(),
        web: config.web,
        limits: config.connections,
        tls: None,
        version: None,
        console: config.console,
        program: None,
    }
}

/// Settings of tools that have no effect are most likely a slip.
fn log_unused_settings(gateway: &Gateway) {
    for unused in gateway.sources().unused_settings() {
        match unused {
            UnusedSetting::Pattern(pattern) => {
                tracing::warn!("[tools.\"{}\"] matches no tool", pattern.as_str());
            }
            UnusedSetting::Argument(pattern, argument) => tracing::warn!(
                "`arguments.{argument}` of [tools.\"{}\"] is not a parameter of any tool that it matches",
                pattern.as_str()
            ),
        }
    }
}

/// Without a configuration there is a flag against two tools of one name.
fn tell_remedy(gateway: &Gateway, found: &[Found], terminal: &Terminal) {
    let collides = gateway.catalog().unserved().iter().any(|tool| tool.cause == UnservedCause::Collision);
    if collides && !found.is_empty() && terminal.notes == Form::People {
        note("hint: `--names prefixed` puts the name of its source before that of each tool");
    }
}

/// Without a configuration somebody waits for what was named: when none of it answers, there is nothing to
/// serve.
fn refuse_silence(gateway: &Gateway, found: &[Found]) -> Result<(), Failure> {
    let sources = gateway.sources().reports();
    let why = |source: &SourceReport| match &source.status {
        SourceStatus::Failing(message) => Some(format!("source `{}`: {}", source.name, whole(message))),
        SourceStatus::Connecting | SourceStatus::Ready => None,
    };
    let failures: Vec<String> = sources.iter().filter_map(why).collect();
    if found.is_empty() || failures.len() < sources.len() {
        return Ok(());
    }
    let why = found.iter().flat_map(|found| &found.sources).find_map(missing_program);
    Err(Failure::refused(anyhow::anyhow!(failures.join("\n")))
        .hint(why.unwrap_or("run it by hand to see why it fails; RUST_LOG=debug shows more")))
}
