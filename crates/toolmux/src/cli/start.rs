//! `toolmux start`: `serve` with the flags that OpenTool's daemon and OpenTool's guideline for servers give.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;

use toolmux_core::gateway::ApiKey;
use toolmux_core::secret::Secret;

use super::failure::Failure;
use super::serve::{ServeOptions, serve};
use super::terminal::Terminal;
use crate::config::Config;

/// In the form that the guideline for OpenTool servers asks for.
const HELP: &str = concat!(
    "TOOLMUX OpenTool Server CLI (",
    env!("CARGO_PKG_VERSION"),
    ") - OpenTool Server implement by TOOLMUX.

Usage: toolmux <command> [options]

Available commands:

Command: start [CONFIG]
  -v, --version     Version, Default: ",
    env!("CARGO_PKG_VERSION"),
    "
  -t, --toolPort    OpenTool Server Port, Default: 9627
  -k, --apiKeys     API Keys, allow array, as: --apiKeys KEY_A --apiKeys KEY_B

  CONFIG            Where the tools come from, Default: toolmux.toml

  As the OpenTool daemon starts it:
  --opentoolServerTag        the same as --version
  --opentoolServerHost       Address to listen on, Default: 127.0.0.1
  --opentoolServerPort       the same as --toolPort
  --opentoolServerApiKeys    the same as --apiKeys; commas separate several

Example: toolmux start toolmux.toml --toolPort 9700 --apiKeys KEY_A

Global options:

-h, --help    Show help information
"
);

/// Serve as a server that the OpenTool daemon starts and stops.
///
/// Example: toolmux start toolmux.toml --toolPort 9700
#[derive(clap::Args)]
#[command(override_help = HELP)]
pub(super) struct Start {
    /// Where the tools come from.
    #[arg(default_value = "toolmux.toml")]
    pub(super) config: PathBuf,
    /// The version that the server reports.
    #[arg(short = 'v', long, alias = "opentoolServerTag", value_name = "VERSION")]
    version: Option<String>,
    /// The address to listen on.
    #[arg(long = "opentoolServerHost", value_name = "HOST")]
    host: Option<String>,
    /// The port to listen on.
    #[arg(short = 't', long = "toolPort", alias = "opentoolServerPort", value_name = "PORT")]
    port: Option<u16>,
    /// Keys that open the server.
    #[arg(
        short = 'k',
        long = "apiKeys",
        alias = "opentoolServerApiKeys",
        value_name = "KEY",
        value_delimiter = ','
    )]
    keys: Vec<String>,
}

impl Start {
    pub(super) async fn run(self, terminal: &Terminal) -> Result<ExitCode, Failure> {
        let mut config = Config::load(&self.config)?;
        config.listen = self.address(config.listen)?;
        let keys = self.keys.iter().filter(|key| !key.is_empty()).enumerate();
        let key = |(place, key): (usize, &String)| ApiKey {
            name: format!("opentool-{}", place + 1).into(),
            sha256: Secret::new(key.as_str()).sha256(),
            toolset: None,
        };
        config.keys.extend(keys.map(key));
        // The daemon has no other way to stop a server than to ask it; only who has a key may.
        config.allow_stop |= !config.keys.is_empty();
        config.check_exposure()?;
        // Reading the file again would forget the keys of the command line.
        serve(&config, ServeOptions { version: self.version, ..ServeOptions::default() }, terminal).await
    }

    fn address(&self, configured: SocketAddr) -> Result<SocketAddr, Failure> {
        let host = match self.host.as_deref() {
            None => configured.ip(),
            Some("localhost") => IpAddr::V4(Ipv4Addr::LOCALHOST),
            Some(host) => host.parse().map_err(|_| {
                Failure::refused(anyhow::anyhow!("`{host}` is not an address to listen on"))
                    .hint("write 127.0.0.1, or 0.0.0.0 with a key for every network")
            })?,
        };
        Ok(SocketAddr::new(host, self.port.unwrap_or(configured.port())))
    }
}
