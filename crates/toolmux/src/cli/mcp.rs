//! `toolmux mcp`: the tools of a configuration for a client that starts its servers itself.

use std::process::ExitCode;
use std::sync::Arc;

use toolmux_core::call::Caller;
use toolmux_core::gateway::{Credential, Gateway};
use toolmux_core::nearest::nearest;
use toolmux_protocols::mcp::serve_streams;

use super::assembling::assembled_with;
use super::closing::{CLOSING_TIMEOUT, until_signal};
use super::failure::Failure;
use super::origin::{Origin, Originated};
use crate::assembly::store;
use crate::receipt_signing::keep_receipts;
use crate::telemetry::Exporter;

/// Serve tools over MCP on standard input and output.
///
/// Takes the same arguments as `toolmux serve`.
///
/// Example: toolmux mcp toolmux.toml
#[derive(clap::Args)]
pub(super) struct Mcp {
    #[command(flatten)]
    pub(super) origin: Origin,
    /// Only the tools of this toolset.
    #[arg(long, value_name = "TOOLSET")]
    toolset: Option<String>,
}

impl Mcp {
    pub(super) async fn run(self) -> Result<ExitCode, Failure> {
        let Originated { config, file, .. } = self.origin.config().await?;
        let known = config.toolsets.iter().map(|set| set.name.as_str());
        if let Some(wanted) =
            self.toolset.as_deref().filter(|wanted| !known.clone().any(|set| set == *wanted))
        {
            return Err(Failure::refused(anyhow::anyhow!("there is no toolset `{wanted}`"))
                .hint(format!("add a [toolsets.{wanted}] table"))
                .meaning(nearest(wanted, known)));
        }
        let config = config.without_callers();
        let store = store(&config.store, config.retention).await?;
        let assembly = assembled_with(&config, store, file.as_ref().map(|file| &*file.path))?;
        let gateway = &assembly.gateway;
        keep_receipts(&config, gateway)?;
        let caller = gateway.admit(Credential::None, self.toolset.as_deref())?;
        let telemetry = Exporter::start(&config, gateway)?;
        let ended = serve_standard_streams(gateway, caller).await;
        telemetry.stop().await;
        ended
    }
}

/// Serves until the input ends or a signal comes, then closes the gateway.
pub(super) async fn serve_standard_streams(
    gateway: &Arc<Gateway>,
    caller: Caller,
) -> Result<ExitCode, Failure> {
    let serving = async {
        // Clients ask once, at their start, and some never again.
        gateway.sources().wait_until_started().await;
        serve_streams(Arc::clone(gateway), caller, tokio::io::stdin(), tokio::io::stdout()).await;
    };
    // As with `serve`, the first signal is an ordinary end.
    until_signal(serving).await.ok();
    until_signal(gateway.close(CLOSING_TIMEOUT)).await?;
    Ok(ExitCode::SUCCESS)
}
