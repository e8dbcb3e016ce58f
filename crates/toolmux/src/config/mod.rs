//! Configuration: what people write ([`raw::Raw`], unknown keys refused) becomes what the program believes
//! ([`Config`], nothing optional that has a default).

mod deliver;
mod fault;
mod keys;
mod raw;
mod secrets;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use toolmux_core::gateway::{Admission, ApiKey};
use toolmux_core::limits::Limits;
use toolmux_core::mount::{Naming, ToolSettings};
use toolmux_core::names::is_plain;
use toolmux_core::nearest::nearest;
use toolmux_core::secret::Secret;
use toolmux_core::toolset::{Pattern, Toolset};
use toolmux_protocols::SOURCES;
use toolmux_protocols::registry::{Opening, SourceKind};
use toolmux_protocols::web::WebLimits;

pub use self::fault::ConfigFault;
pub use self::raw::Raw;
use crate::listener::ListenLimits;

/// Where the server listens when nothing else is said.
pub const LISTEN: &str = "127.0.0.1:9627";

/// What the program believes.
#[derive(Debug)]
pub struct Config {
    /// Where it listens.
    pub listen: SocketAddr,
    /// Where records are kept.
    pub store: String,
    /// Where tools come from, in the order of the file.
    pub sources: Vec<SourceConfig>,
    /// Settings by tool.
    pub tools: Vec<(Pattern, ToolSettings)>,
    /// Named selections of tools.
    pub toolsets: Vec<Toolset>,
    /// Callers by key.
    pub keys: Vec<ApiKey>,
    /// Tokens, accepted beside keys.
    pub jwt: Option<JwtConfig>,
    /// The server's own secrets.
    pub vault: HashMap<String, Secret>,
    /// Bounds of every call.
    pub limits: Limits,
    /// Bounds of what comes in.
    pub web: WebLimits,
    /// Bounds of connections.
    pub connections: ListenLimits,
    /// Names this server may be called by, beside those of loopback.
    pub hosts: Vec<String>,
    /// Web pages that may call it.
    pub origins: Vec<String>,
    /// `POST /opentool/stop` ends the server.
    pub allow_stop: bool,
}

/// One source, ready to be opened.
#[derive(Clone, Debug, PartialEq)]
pub struct SourceConfig {
    /// Its name in the file.
    pub name: String,
    /// The toolkit of its tools.
    pub toolkit: String,
    /// How they are named where names are flat.
    pub naming: Naming,
    /// Which kind, by its word.
    pub kind: &'static str,
    /// What only its kind understands.
    pub table: Value,
    /// Relative paths are relative to this folder.
    pub folder: PathBuf,
}

/// Which tokens are good.
#[derive(Clone, Debug)]
pub struct JwtConfig {
    /// For HS256.
    pub secret: Option<Secret>,
    /// Where keys for RS256 and ES256 are published.
    pub jwks: Option<String>,
    /// What `aud` may be.
    pub audience: Vec<String>,
}

impl Config {
    /// Reads a file.
    pub fn load(path: &Path) -> Result<Config, ConfigFault> {
        let text = std::fs::read_to_string(path).map_err(|error| ConfigFault::unread(path, &error))?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        Config::read(&text, &path.display().to_string(), folder)
    }

    /// Reads a text; `name` is what faults call it.
    pub fn read(text: &str, name: &str, folder: &Path) -> Result<Config, ConfigFault> {
        let reader = Reader { text, name, folder };
        let table = keys::check(text).map_err(|fault| fault.within(name, text))?;
        let raw: Raw = toml::from_str(text).map_err(|error| ConfigFault::toml(name, text, &error))?;
        reader.believe(raw, &table)
    }

    /// Who may ask, with the keys of tokens at hand.
    pub fn admission(&self, jwt: Option<toolmux_core::gateway::JwtRules>) -> Admission {
        Admission { keys: self.keys.clone(), jwt }
    }

    /// An address that others can reach needs a key.
    pub fn check_exposure(&self) -> Result<(), ConfigFault> {
        if self.listen.ip().is_loopback() || !self.keys.is_empty() || self.jwt.is_some() {
            return Ok(());
        }
        let what = format!("`{}` is not a loopback address, and no key is configured", self.listen);
        Err(ConfigFault::at("", "", None, what)
            .hint("add a [keys.NAME] table or [jwt], or listen on 127.0.0.1"))
    }
}

impl SourceConfig {
    /// The kind.
    pub fn source_kind(&self) -> Option<&'static SourceKind> {
        SOURCES.iter().find(|known| known.kind == self.kind)
    }

    /// Makes the source. Connects to nothing yet.
    pub fn open(&self) -> anyhow::Result<Arc<dyn toolmux_core::source::Source>> {
        let kind = self.source_kind().ok_or_else(|| anyhow::anyhow!("there is no kind `{}`", self.kind))?;
        let secrets = |setting: &_| secrets::read(setting, &self.folder);
        let opening =
            Opening { name: &self.name, table: self.table.clone(), folder: &self.folder, secrets: &secrets };
        Ok((kind.open)(&opening)?)
    }
}

/// Turns what was written into what is believed; every fault knows its line.
struct Reader<'a> {
    text: &'a str,
    name: &'a str,
    folder: &'a Path,
}

impl Reader<'_> {
    fn believe(&self, raw: Raw, spans: &keys::Spans) -> Result<Config, ConfigFault> {
        let listen = raw.listen.as_deref().unwrap_or(LISTEN);
        let listen = listen.parse().map_err(|_| {
            self.fault(spans, &["listen"], format!("`{listen}` is not an address of the form 127.0.0.1:9627"))
        })?;
        let toolsets: Vec<Toolset> = raw
            .toolsets
            .into_iter()
            .map(|(name, set)| Toolset { name, tools: set.tools.into_iter().map(Pattern::new).collect() })
            .collect();
        let limits = raw.limits.unwrap_or_default();
        let config = Config {
            listen,
            store: raw.store.unwrap_or_else(|| "memory".to_owned()),
            sources: self.sources(raw.sources, spans)?,
            tools: raw.tools.into_iter().map(|(name, tool)| (Pattern::new(name), tool.settings())).collect(),
            keys: self.keys(raw.keys, &toolsets, spans)?,
            toolsets,
            jwt: self.jwt(raw.jwt, spans)?,
            vault: self.vault(&raw.secrets, spans)?,
            limits: limits.of_calls(),
            web: limits.of_bodies(),
            connections: limits.of_connections(),
            hosts: raw.hosts,
            origins: raw.origins,
            allow_stop: raw.allow_stop,
        };
        Ok(config)
    }

    fn sources(&self, raw: toml::Table, spans: &keys::Spans) -> Result<Vec<SourceConfig>, ConfigFault> {
        raw.into_iter().map(|(name, table)| self.source(&name, table, spans)).collect()
    }

    fn source(
        &self,
        name: &str,
        table: toml::Value,
        spans: &keys::Spans,
    ) -> Result<SourceConfig, ConfigFault> {
        let fault = |what: String| self.fault(spans, &["sources", name], what);
        let json = serde_json::to_value(table).map_err(|error| fault(error.to_string()))?;
        let Value::Object(mut members) = json else { return Err(fault("a source is a table".to_owned())) };
        let mut text = |key: &str| match members.shift_remove(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(fault(format!("`{key}` must be a text"))),
        };
        let kind = text("kind")?.ok_or_else(|| {
            fault(format!("source `{name}` has no `kind`")).hint(format!("one of: {}", kinds().join(", ")))
        })?;
        let known = SOURCES.iter().find(|known| known.kind == kind).ok_or_else(|| {
            let hint = match nearest(&kind, kinds()) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("one of: {}", kinds().join(", ")),
            };
            self.fault(spans, &["sources", name, "kind"], format!("there is no kind `{kind}`")).hint(hint)
        })?;
        let toolkit = text("toolkit")?.unwrap_or_else(|| name.to_owned());
        if !is_plain(&toolkit) {
            return Err(fault(format!(
                "toolkit `{toolkit}` has characters other than letters, digits and _"
            ))
            .hint("give the source a plain name with `toolkit = \"…\"`"));
        }
        let naming = match text("names")?.as_deref() {
            None | Some("prefixed") => Naming::Prefixed,
            Some("bare") => Naming::Bare,
            Some(other) => {
                return Err(fault(format!("`names` is \"prefixed\" or \"bare\", not \"{other}\"")));
            }
        };
        Ok(SourceConfig {
            name: name.to_owned(),
            toolkit,
            naming,
            kind: known.kind,
            table: Value::Object(members),
            folder: self.folder.to_owned(),
        })
    }

    fn keys(
        &self,
        raw: Vec<(String, raw::RawKey)>,
        toolsets: &[Toolset],
        spans: &keys::Spans,
    ) -> Result<Vec<ApiKey>, ConfigFault> {
        let key = |(name, key): (String, raw::RawKey)| {
            let fault = |what: String| self.fault(spans, &["keys", &name], what);
            let sha256 = match (&key.key, &key.sha256) {
                (Some(setting), None) => secrets::read(setting, self.folder).map_err(fault)?.sha256(),
                (None, Some(hex)) => secrets::digest(hex).map_err(fault)?,
                _ => return Err(fault(format!("key `{name}` needs either `key` or `sha256`"))),
            };
            if let Some(wanted) = &key.toolset
                && !toolsets.iter().any(|set| set.name == *wanted)
            {
                let known: Vec<&str> = toolsets.iter().map(|set| set.name.as_str()).collect();
                let fault = fault(format!("there is no toolset `{wanted}`"));
                return Err(match nearest(wanted, known.iter().copied()) {
                    Some(meant) => fault.hint(format!("did you mean `{meant}`?")),
                    None => fault.hint(format!("add a [toolsets.{wanted}] table")),
                });
            }
            Ok(ApiKey { name: name.into(), sha256, toolset: key.toolset.map(Arc::from) })
        };
        raw.into_iter().map(key).collect()
    }

    fn jwt(&self, raw: Option<raw::RawJwt>, spans: &keys::Spans) -> Result<Option<JwtConfig>, ConfigFault> {
        let Some(raw) = raw else { return Ok(None) };
        let fault = |what: String| self.fault(spans, &["jwt"], what);
        if raw.secret.is_none() && raw.jwks.is_none() {
            return Err(fault("[jwt] needs `secret` or `jwks`".to_owned()));
        }
        let secret =
            raw.secret.map(|setting| secrets::read(&setting, self.folder)).transpose().map_err(fault)?;
        Ok(Some(JwtConfig { secret, jwks: raw.jwks, audience: raw.audience }))
    }

    fn vault(
        &self,
        raw: &HashMap<String, toolmux_protocols::registry::SecretSetting>,
        spans: &keys::Spans,
    ) -> Result<HashMap<String, Secret>, ConfigFault> {
        let read = |(name, setting): (&String, &_)| {
            let secret = secrets::read(setting, self.folder);
            secret
                .map(|secret| (name.clone(), secret))
                .map_err(|what| self.fault(spans, &["secrets", name], what))
        };
        raw.iter().map(read).collect()
    }

    fn fault(&self, spans: &keys::Spans, path: &[&str], what: String) -> ConfigFault {
        ConfigFault::at(self.name, self.text, spans.of(path), what)
    }
}

fn kinds() -> Vec<&'static str> {
    SOURCES.iter().map(|known| known.kind).collect()
}
