//! Configuration: what people write ([`raw::Raw`], unknown keys refused) becomes what the program believes
//! ([`Config`], nothing optional that has a default).

mod allowlist;
mod auth;
mod callers;
mod deliver;
mod duration;
mod excerpt;
mod expected;
mod fault;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzz_targets;
mod import;
mod judge;
mod keys;
mod load;
mod near_file;
mod raw;
mod raw_console;
mod raw_limits;
mod raw_receipts;
mod raw_retention;
mod raw_telemetry;
mod raw_tool;
mod reading;
mod resolve;
#[cfg(test)]
mod secrecy;
mod secret_locations;
mod secrets;
mod size;
mod sources;
mod tls;
mod tools;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;
use tokio_rustls::rustls::ServerConfig;
use toolmux_console::ConsoleSettings;
use toolmux_core::gateway::{Admission, ApiKey, TokenToolset};
use toolmux_core::hex::to_hex;
use toolmux_core::limits::Limits;
use toolmux_core::ports::store::Retention;
use toolmux_core::requirements::GrantAllowlist;
use toolmux_core::secret::Secret;
use toolmux_core::sources::{Naming, ToolSettings};
use toolmux_core::toolset::{Pattern, Toolset};
use toolmux_http::serve::WebLimits;
use toolmux_protocols::SOURCES;
use toolmux_protocols::registry::{OpenError, Opening, SecretSetting, SourceKind};

pub use self::auth::{AuthConfig, ProviderConfig, SealingKeyAt};
pub(crate) use self::excerpt::shown as shown_text;
pub use self::fault::ConfigFault;
pub(crate) use self::import::{imported_files, is_clients_file, read as clients, switched_off};
pub(crate) use self::judge::{Judgement, judge};
pub(crate) use self::near_file::near_file;
pub use self::raw::Raw;
pub use self::raw_receipts::ReceiptsConfig;
pub use self::raw_telemetry::{OtlpConfig, TelemetryConfig};
pub(crate) use self::secret_locations::{KeptSecret, SecretLocation, kept_secrets};
pub(crate) use self::secrets::{read as read_secret, read_if_set as read_secret_if_set};
pub(crate) use self::tls::fingerprint_of;
use crate::listener::ListenLimits;

/// Where the server listens when nothing else is said.
pub const LISTEN: &str = "127.0.0.1:9627";

/// What the program believes.
pub struct Config {
    /// Where it listens.
    pub listen: SocketAddr,
    /// Where records are kept; the address may hold a password.
    pub store: Secret,
    /// Where tools come from, in the order of the file.
    pub sources: Vec<SourceConfig>,
    /// Settings by tool.
    pub tools: Vec<(Pattern, ToolSettings)>,
    /// Named selections of tools.
    pub toolsets: Vec<Toolset>,
    /// Callers by key.
    pub keys: Vec<ApiKey>,
    /// Tokens, accepted besides keys.
    pub jwt: Option<JwtConfig>,
    /// TLS of the listener.
    pub tls: Option<Arc<ServerConfig>>,
    /// Callers that are told the developer half of messages.
    pub developers: Vec<String>,
    /// The server's own secrets.
    pub vault: HashMap<String, Secret>,
    /// Providers of users' tokens.
    pub auth: Option<AuthConfig>,
    /// Where browsers and callers reach this server.
    pub public_url: Option<String>,
    /// Bounds of every call.
    pub limits: Limits,
    /// Bounds of what comes in.
    pub web: WebLimits,
    /// Bounds of connections.
    pub connections: ListenLimits,
    /// What is kept and for how long.
    pub retention: Retention,
    /// What is done with receipts of calls.
    pub receipts: ReceiptsConfig,
    /// What is done with traces of calls.
    pub telemetry: TelemetryConfig,
    /// Keys whose callers may see and steer the server.
    pub operators: Vec<String>,
    /// Names this server may be called by, besides those of loopback.
    pub hosts: Vec<String>,
    /// Web pages that may call it.
    pub origins: Vec<String>,
    /// The console for operators.
    pub console: ConsoleSettings,
    /// `POST /opentool/stop` ends the server.
    pub allow_stop: bool,
}

/// One source, ready to be opened.
#[derive(Clone, PartialEq)]
pub struct SourceConfig {
    /// Its name in the file.
    pub name: String,
    /// The toolkit of its tools.
    pub toolkit: String,
    /// How they are named where names are flat.
    pub naming: Naming,
    /// Texts are converted where a schema wants something else.
    pub coerce: bool,
    /// What its tools may be given besides what is named for each of them.
    pub allowlist: GrantAllowlist,
    /// Which kind, by its word.
    pub kind: &'static str,
    /// What only its kind understands.
    pub table: Value,
    /// Relative paths are relative to this folder.
    pub folder: PathBuf,
    /// Tools of it that are not served, by the names that the source gives them.
    pub disabled_tools: Vec<String>,
}

/// Which tokens are good.
#[derive(Clone, Debug)]
pub struct JwtConfig {
    /// The shared secret of HS256.
    pub secret: Option<Secret>,
    /// Where keys for RS256 and ES256 are published.
    pub jwks: Option<String>,
    /// What `aud` must be one of, unless it is empty.
    pub audience: Vec<String>,
    /// What `iss` must be.
    pub issuer: Option<String>,
    /// What `scope` must hold.
    pub scopes: Vec<String>,
    /// What tokens open that have no claim `toolset`.
    pub toolset: TokenToolset,
}

impl Config {
    /// The same without keys and tokens, for commands that run tools themselves: whoever can read the configuration may
    /// call what it serves.
    pub fn without_callers(self) -> Config {
        Config { keys: Vec::new(), jwt: None, ..self }
    }

    /// Who may ask, with the keys of tokens at hand.
    pub fn admission(&self, jwt: Option<toolmux_core::gateway::JwtRules>) -> Admission {
        Admission { keys: self.keys.clone(), jwt }
    }

    /// The keys that differ from `running` and are looked at only when a server starts.
    pub fn needs_restart(&self, running: &Config) -> Vec<&'static str> {
        let differs = [
            ("listen", self.listen != running.listen),
            ("store", self.store != running.store),
            // Another certificate is taken up at once; speaking TLS or not is another listener.
            ("tls", self.tls.is_some() != running.tls.is_some()),
            ("hosts", self.hosts != running.hosts),
            ("origins", self.origins != running.origins),
            ("allow_stop", self.allow_stop != running.allow_stop),
            ("console", self.console != running.console),
            ("receipts.keep", self.receipts.keep != running.receipts.keep),
            ("telemetry.otlp", self.telemetry.otlp != running.telemetry.otlp),
            ("retention", self.retention != running.retention),
            ("limits.body_bytes", self.web.body_bytes != running.web.body_bytes),
            ("limits.body_values", self.web.body_values != running.web.body_values),
            ("limits.body_timeout", self.web.body_timeout != running.web.body_timeout),
            ("limits.sse_sessions", self.web.sse_sessions != running.web.sse_sessions),
            ("limits.session_requests", self.web.session_requests != running.web.session_requests),
            ("limits.head_timeout", self.connections.head_timeout != running.connections.head_timeout),
            ("limits.drain", self.connections.drain != running.connections.drain),
            ("limits.stop_grace", self.connections.stop_grace != running.connections.stop_grace),
            ("limits.task_concurrency", self.limits.task_concurrency != running.limits.task_concurrency),
            ("limits.write_timeout", self.connections.write_timeout != running.connections.write_timeout),
            ("limits.connections", self.connections.connections != running.connections.connections),
            (
                "limits.connections_per_address",
                self.connections.connections_per_address != running.connections.connections_per_address,
            ),
        ];
        differs.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
    }

    /// An address that others can reach needs a key.
    pub fn check_exposure(&self) -> Result<(), ConfigFault> {
        self.check_exposed_at(self.listen)
    }

    /// The same for the address that is really listened on.
    pub fn check_exposed_at(&self, listen: SocketAddr) -> Result<(), ConfigFault> {
        if listen.ip().is_loopback() || !self.keys.is_empty() || self.jwt.is_some() {
            return Ok(());
        }
        let what = format!("`{listen}` is not a loopback address, and no key is configured");
        Err(ConfigFault::at("", "", None, what)
            .hint("add a [keys.NAME] table or [jwt], or listen on 127.0.0.1"))
    }
}

impl SourceConfig {
    /// The entry of the registry that its `kind` names.
    pub fn source_kind(&self) -> Option<&'static SourceKind> {
        SOURCES.iter().find(|known| known.kind == self.kind)
    }

    /// Whether the source asks users for tokens itself.
    pub(crate) fn asks_for_tokens(&self) -> bool {
        self.source_kind().is_some_and(|kind| (kind.asks_for_tokens)(&self.table))
    }

    /// A digest of everything that decides which tools the source lists.
    pub fn digest(&self) -> String {
        let settings = format!("{}\n{}\n{}", self.kind, self.folder.display(), self.table);
        to_hex(&Secret::new(settings).sha256())
    }

    /// Makes the source. Connects to nothing yet.
    pub fn open(&self) -> anyhow::Result<Arc<dyn toolmux_core::ports::source::Source>> {
        Ok(self.open_with(&|setting| secrets::read(setting, &self.folder))?)
    }

    /// The same with secrets from elsewhere.
    fn open_with(
        &self,
        secrets: &dyn Fn(&SecretSetting) -> Result<Secret, String>,
    ) -> Result<Arc<dyn toolmux_core::ports::source::Source>, OpenError> {
        let unknown = || OpenError::new(format!("there is no kind `{}`", self.kind));
        let kind = self.source_kind().ok_or_else(unknown)?;
        let (name, table, folder) = (&self.name, self.table.clone(), &*self.folder);
        (kind.open)(&Opening { name, table, folder, secrets })
    }
}
