//! `toolmux serve`: every source behind every protocol, on one port.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use toolmux_core::call::Caller;
use toolmux_core::gateway::{Credential, Gateway, SourceStatus};
use toolmux_protocols::SERVED;

use super::ConfigArgument;
use super::failure::Failure;
use crate::assembly::{Assembly, store};
use crate::config::Config;
use crate::server::{ListenOn, Running};
use crate::{reload, signals};

/// How long the start waits to hear of every source before it says what it serves.
const SETTLE: Duration = Duration::from_secs(5);

/// Serve the tools of a configuration over every protocol.
///
/// Example: toolmux serve examples/quickstart/toolmux.toml
#[derive(clap::Args)]
pub(super) struct Serve {
    #[command(flatten)]
    config: ConfigArgument,
    /// Where to listen, over what the configuration says.
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    /// Where records are kept, over what the configuration says.
    #[arg(long, value_name = "URL")]
    store: Option<String>,
}

impl Serve {
    pub(super) async fn run(self) -> Result<ExitCode, Failure> {
        let config = self.load()?;
        serve(&config, None, Some(&self.config.config)).await
    }

    fn load(&self) -> Result<Config, Failure> {
        let mut config = Config::load(&self.config.config)?;
        if let Some(listen) = &self.listen {
            config.listen = listen.parse().map_err(|_| {
                Failure::refused(anyhow::anyhow!("`{listen}` is not an address of the form 127.0.0.1:9627"))
            })?;
        }
        if let Some(store) = &self.store {
            config.store.clone_from(store);
        }
        config.check_exposure()?;
        Ok(config)
    }
}

/// Serves a configuration under a version until the process is told to end, and follows the file it is from.
pub(super) async fn serve(
    config: &Config,
    version: Option<String>,
    file: Option<&Path>,
) -> Result<ExitCode, Failure> {
    let (mut assembly, stop) =
        (Assembly::new(config, store(&config.store, config.retention).await?)?, CancellationToken::new());
    assembly.authorize(config)?;
    // Taken now: a signal that comes while sources connect must not end the process.
    let hang_up = signals::hang_ups();
    let running = Running::start(
        assembly.gateway.clone(),
        ListenOn { version, ..listen_on(config) },
        config.allow_stop.then(|| stop.clone()),
    );
    let running = running.await.map_err(|error| {
        Failure::refused(error).hint("is another server running there? --listen ADDR chooses another address")
    })?;
    assembly.listens_at(&running.url());
    let gateway = assembly.gateway.clone();
    let calls = file.map(|_| reload::Calls { hang_up, wishes: reload::wishes(&gateway) });
    let serving = async {
        gateway.settled(SETTLE).await;
        refuse_collisions(&gateway)?;
        announce(&gateway, &running.url());
        match file.zip(calls) {
            Some((file, calls)) => reload::follow(file, assembly, config, calls).await,
            None => std::future::pending().await,
        }
        Ok::<(), Failure>(())
    };
    let ended = tokio::select! {
        ended = serving => ended,
        () = signals::told_to_end() => Ok(()),
        () = stop.cancelled() => Ok(()),
    };
    tracing::info!("stopping");
    running.stop().await;
    ended.map(|()| ExitCode::SUCCESS)
}

fn listen_on(config: &Config) -> ListenOn {
    ListenOn {
        address: config.listen.to_string(),
        hosts: config.hosts.clone(),
        origins: config.origins.clone(),
        web: config.web,
        limits: config.connections,
        version: None,
    }
}

/// Two tools of one name are worth stopping for while somebody is looking.
fn refuse_collisions(gateway: &Gateway) -> Result<(), Failure> {
    let catalog = gateway.catalog();
    match catalog.unserved().iter().find(|tool| tool.collision) {
        Some(tool) => {
            let what = format!("tool `{}` of source `{}`: {}", tool.tool, tool.source, tool.reason);
            Err(Failure::refused(anyhow::anyhow!(what)))
        }
        None => Ok(()),
    }
}

fn announce(gateway: &Gateway, base: &str) {
    let catalog = gateway.catalog();
    eprintln!("toolmux {} serves {} tools on {base}", env!("CARGO_PKG_VERSION"), catalog.len());
    for source in gateway.sources() {
        match source.status {
            SourceStatus::Ready => eprintln!("  source {}: {} tools", source.name, source.tools),
            SourceStatus::Connecting => eprintln!("  source {}: still connecting", source.name),
            SourceStatus::Failing(message) => eprintln!("  source {}: {}", source.name, message.public),
        }
    }
    for tool in catalog.unserved() {
        eprintln!("  not served: {} of {}: {}", tool.tool, tool.source, tool.reason);
    }
    let Ok(anyone) = gateway.admit(Credential::None, None) else {
        eprintln!("Every route but /health asks for a key: Authorization: Bearer KEY");
        return;
    };
    snippets(gateway, &anyone, base);
}

fn snippets(gateway: &Gateway, anyone: &Caller, base: &str) {
    let catalog = gateway.catalog();
    let Some(tool) = catalog.newest(anyone).next() else { return };
    eprintln!("Try:");
    for served in SERVED {
        if let Some(line) = (served.try_it)(base, tool) {
            eprintln!("  {:<9} {line}", served.name);
        }
    }
}
