//! What may stand in the table of an MCP source.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolmux_core::ports::figures::{ConnectionCounters, ProcessCounters, SourceFigures};
use toolmux_http::client::ClientTls;
use url::Url;

use crate::child::{ChildSandbox, SandboxSetting};
use crate::mcp::client::auth::authorization::{Authorization, AuthorizationSetting};
use crate::registry::{OpenError, Opening, SecretSetting};
use crate::tls::TlsSetting;

/// An MCP server: a command that speaks on its standard streams, or an address.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct McpSettings {
    /// Program and arguments of a stdio server, in one list.
    #[serde(default)]
    command: Vec<String>,
    /// Environment variables for it, in addition to a small inherited set.
    #[serde(default)]
    env: BTreeMap<String, SecretSetting>,
    /// Its working directory; relative to the configuration file. Default: the folder of that file.
    #[serde(default)]
    folder: Option<PathBuf>,
    /// What the command may do: `off` (the default): everything the server's user may; `deny`: only compute and
    /// read the system's programs; or a table of what is allowed beyond `deny`.
    #[serde(default)]
    sandbox: SandboxSetting,
    /// The URL of an HTTP server.
    #[serde(default)]
    url: Option<String>,
    /// Headers for every request to it. The caller's own credentials are never among them.
    #[serde(default)]
    headers: BTreeMap<String, SecretSetting>,
    /// TLS for an https `url`: `{ ca = "ca.pem" }` for a private authority, `{ cert = "client.pem", key = {
    /// file = "client.key" } }` for a client certificate. Read again when a file changes.
    #[serde(default)]
    tls: Option<TlsSetting>,
    /// The server requires an OAuth token of the user: `{}` discovers the authorization server and registers
    /// there, `{ provider = "github", scopes = ["repo"] }` uses a configured provider. Every tool requires it,
    /// and it is sent with every call.
    #[serde(default)]
    authorization: Option<AuthorizationSetting>,
    /// Which protocol era to speak: `modern` is 2026-07-28, `legacy` the revisions with a handshake. Default:
    /// negotiated.
    #[serde(default)]
    era: EraSetting,
    /// Client capabilities announced to a server of the handshake era. Default: elicitation, sampling and
    /// roots. Newer servers get the capabilities of each caller with its request.
    #[serde(default)]
    capabilities: Option<Value>,
    /// Maximum size of a message, in bytes.
    #[serde(default = "most_message")]
    max_message: usize,
    /// Stops the command after this many milliseconds without a call, until the next call. Default: never.
    #[serde(default)]
    idle_stop_ms: Option<u64>,
    /// Longest pause, in milliseconds, before a command that keeps exiting is restarted.
    #[serde(default = "longest_pause")]
    max_restart_pause_ms: u64,
}

/// Which era to speak.
#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum EraSetting {
    /// Ask the server.
    #[default]
    Auto,
    /// The stateless 2026-07-28.
    Modern,
    /// With a handshake.
    Legacy,
}

fn most_message() -> usize {
    16 << 20
}

fn longest_pause() -> u64 {
    30_000
}

/// Where a server is and how to speak to it.
pub(super) struct ServerAddress {
    pub(super) address: Address,
    pub(super) era: EraSetting,
    pub(super) capabilities: Value,
    pub(super) max_message: usize,
    pub(super) longest_pause: Duration,
    /// Over all connections and processes that it has had.
    pub(super) connections: Arc<ConnectionCounters>,
    pub(super) processes: Arc<ProcessCounters>,
}

impl ServerAddress {
    pub(super) fn figures(&self) -> SourceFigures {
        match &self.address {
            Address::Url { .. } => SourceFigures::of_connections(self.connections.figures()),
            Address::Command { .. } => SourceFigures::of_processes(self.processes.figures()),
        }
    }

    pub(super) fn authorization(&self) -> Option<&Arc<Authorization>> {
        match &self.address {
            Address::Url { authorization, .. } => authorization.as_ref(),
            Address::Command { .. } => None,
        }
    }
}

pub(super) enum Address {
    Command {
        argv: Vec<String>,
        env: BTreeMap<String, String>,
        folder: PathBuf,
        idle: Option<Duration>,
        sandbox: Option<ChildSandbox>,
    },
    Url {
        url: Url,
        headers: HeaderMap,
        authorization: Option<Arc<Authorization>>,
        tls: Option<ClientTls>,
    },
}

impl McpSettings {
    pub(super) fn place(self, opening: &Opening<'_>) -> Result<ServerAddress, OpenError> {
        let address = match (self.url.as_deref(), self.command.is_empty()) {
            (Some(_), true) if self.sandbox.is_on() => {
                return Err(OpenError::new(
                    "`sandbox` is for a source with a `command`, this one has a `url`",
                ));
            }
            (Some(url), true) => self.at_url(url, opening)?,
            (None, false) if self.tls.is_some() => {
                return Err(OpenError::new("`tls` is for a source with a `url`, this one has a `command`"));
            }
            (None, false) => self.by_command(opening)?,
            (Some(_), false) => {
                return Err(OpenError::new("an MCP source has a `command` or a `url`, not both"));
            }
            (None, true) => {
                return Err(OpenError::new("an MCP source needs a `command` or a `url`")
                    .hint("command = [\"mcp-server-time\"], or url = \"http://127.0.0.1:8000/mcp\""));
            }
        };
        let all = || {
            let elicitation = json!({ "form": {}, "url": {} });
            json!({ "elicitation": elicitation, "sampling": {}, "roots": {} })
        };
        Ok(ServerAddress {
            address,
            era: self.era,
            capabilities: self.capabilities.unwrap_or_else(all),
            max_message: self.max_message,
            connections: Arc::default(),
            processes: Arc::default(),
            longest_pause: Duration::from_millis(self.max_restart_pause_ms),
        })
    }

    fn at_url(&self, url: &str, opening: &Opening<'_>) -> Result<Address, OpenError> {
        let url: Url =
            url.parse().map_err(|error| OpenError::new(format!("`url` is not an address: {error}")))?;
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            let (name, value) = header(name, &secret(opening, name, value)?)?;
            headers.insert(name, value);
        }
        let setting = self.authorization.clone();
        let authorization = setting.map(|setting| Authorization::new(opening.name, &url, setting));
        let tls = opening.tls(self.tls.as_ref())?;
        Ok(Address::Url { url, headers, authorization: authorization.map(Arc::new), tls })
    }

    fn by_command(&self, opening: &Opening<'_>) -> Result<Address, OpenError> {
        let env = self.env.iter().map(|(name, value)| Ok((name.clone(), secret(opening, name, value)?)));
        Ok(Address::Command {
            sandbox: self.sandbox.open(opening.folder)?,
            env: env.collect::<Result<_, OpenError>>()?,
            folder: opening.folder.join(self.folder.as_deref().unwrap_or(Path::new(""))),
            idle: self.idle_stop_ms.map(Duration::from_millis),
            argv: self.command.clone(),
        })
    }
}

fn secret(opening: &Opening<'_>, name: &str, setting: &SecretSetting) -> Result<String, OpenError> {
    let read = (opening.secrets)(setting).map(|secret| secret.expose().to_owned());
    read.map_err(|why| OpenError::new(format!("`{name}` cannot be read: {why}")))
}

fn header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), OpenError> {
    let bad = || OpenError::new(format!("`{name}` is not a header, or its value cannot be one"));
    let mut value = HeaderValue::from_str(value).map_err(|_| bad())?;
    value.set_sensitive(true);
    Ok((HeaderName::try_from(name).map_err(|_| bad())?, value))
}
