//! Turns what was written into what is believed; every fault knows its line.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use toolmux_core::gateway::ApiKey;
use toolmux_core::mount::Naming;
use toolmux_core::names::is_plain;
use toolmux_core::nearest::nearest;
use toolmux_core::secret::Secret;
use toolmux_core::toolset::{Pattern, Toolset};
use toolmux_protocols::SOURCES;
use toolmux_protocols::registry::SecretSetting;

use super::fault::ConfigFault;
use super::raw::{Raw, RawJwt, RawKey};
use super::{Config, JwtConfig, LISTEN, SourceConfig, import, keys, secrets};

/// A configuration while it is read.
pub(super) struct Reader<'a> {
    pub(super) text: &'a str,
    pub(super) name: &'a str,
    pub(super) folder: &'a Path,
    pub(super) spans: keys::Spans,
}

impl Reader<'_> {
    pub(super) fn believe(&self, raw: Raw) -> Result<Config, ConfigFault> {
        let listen = raw.listen.as_deref().unwrap_or(LISTEN);
        let listen = listen.parse().map_err(|_| {
            self.fault(&["listen"], format!("`{listen}` is not an address of the form 127.0.0.1:9627"))
        })?;
        let toolsets: Vec<Toolset> = raw
            .toolsets
            .into_iter()
            .map(|(name, set)| Toolset { name, tools: set.tools.into_iter().map(Pattern::new).collect() })
            .collect();
        let limits = raw.limits.unwrap_or_default();
        let sources = self.sources(raw.sources)?;
        let config = Config {
            listen,
            store: self.store(raw.store)?,
            tools: raw.tools.into_iter().map(|(name, tool)| (Pattern::new(name), tool.settings())).collect(),
            keys: self.keys(raw.keys, &toolsets)?,
            toolsets,
            jwt: self.jwt(raw.jwt)?,
            vault: self.vault(&raw.secrets)?,
            public_url: self.public_url(raw.auth.as_ref())?,
            auth: self.auth(raw.auth, &sources)?,
            sources,
            limits: limits.of_calls(),
            web: limits.of_bodies(),
            connections: limits.of_connections(),
            retention: raw.retention.retention(),
            hosts: raw.hosts,
            origins: raw.origins,
            allow_stop: raw.allow_stop,
        };
        Ok(config)
    }

    /// A file of records is relative to the configuration, like every other.
    fn store(&self, raw: Option<String>) -> Result<String, ConfigFault> {
        let store = raw.unwrap_or_else(|| "memory".to_owned());
        match store.strip_prefix("sqlite:") {
            Some(file) if !file.starts_with([':', '/']) => {
                Ok(format!("sqlite:{}", self.folder.join(file).display()))
            }
            _ if toolmux_store::is_store(&store) => Ok(store),
            _ => Err(self
                .fault(&["store"], "this is no store".to_owned())
                .hint("write `memory`, `sqlite:FILE` or `postgres://USER@HOST/DATABASE`")),
        }
    }

    fn sources(&self, mut raw: toml::Table) -> Result<Vec<SourceConfig>, ConfigFault> {
        let imported = match raw.get("import") {
            None | Some(toml::Value::Table(_)) => Vec::new(),
            Some(files) => self.imported(files)?,
        };
        if raw.get("import").is_some_and(|import| !import.is_table()) {
            raw.remove("import");
        }
        let own = raw.into_iter().map(|(name, table)| self.source(&name, table));
        let mut sources = own.collect::<Result<Vec<SourceConfig>, ConfigFault>>()?;
        // What this file says of a source wins over what another program's file says.
        let names: Vec<String> = sources.iter().map(|source| source.name.clone()).collect();
        sources.extend(imported.into_iter().filter(|source| !names.contains(&source.name)));
        Ok(sources)
    }

    /// The sources of other programs' files: one file, or several.
    fn imported(&self, files: &toml::Value) -> Result<Vec<SourceConfig>, ConfigFault> {
        let fault = |what: String| self.fault(&["sources", "import"], what);
        let files: Vec<&toml::Value> = match files {
            toml::Value::Array(files) => files.iter().collect(),
            file => vec![file],
        };
        let mut sources = Vec::new();
        for file in files {
            let file = file
                .as_str()
                .ok_or_else(|| fault("`import` is the path of a file, or several".to_owned()))?;
            sources.extend(import::read(&self.folder.join(file)).map_err(fault)?);
        }
        Ok(sources)
    }

    fn source(&self, name: &str, table: toml::Value) -> Result<SourceConfig, ConfigFault> {
        let fault = |what: String| self.fault(&["sources", name], what);
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
            self.fault(&["sources", name, "kind"], format!("there is no kind `{kind}`")).hint(hint)
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
        let coerce = match members.shift_remove("coerce") {
            None => false,
            Some(Value::Bool(coerce)) => coerce,
            Some(_) => return Err(fault("`coerce` is true or false".to_owned())),
        };
        Ok(SourceConfig {
            name: name.to_owned(),
            toolkit,
            naming,
            coerce,
            kind: known.kind,
            table: Value::Object(members),
            folder: self.folder.to_owned(),
        })
    }

    fn keys(&self, raw: Vec<(String, RawKey)>, toolsets: &[Toolset]) -> Result<Vec<ApiKey>, ConfigFault> {
        let key = |(name, key): (String, RawKey)| {
            let fault = |what: String| self.fault(&["keys", &name], what);
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

    fn jwt(&self, raw: Option<RawJwt>) -> Result<Option<JwtConfig>, ConfigFault> {
        let Some(raw) = raw else { return Ok(None) };
        let fault = |what: String| self.fault(&["jwt"], what);
        if raw.secret.is_none() && raw.jwks.is_none() {
            return Err(fault("[jwt] needs `secret` or `jwks`".to_owned()));
        }
        let secret = raw
            .secret
            .as_ref()
            .map(|setting| secrets::read(setting, self.folder))
            .transpose()
            .map_err(fault)?;
        let RawJwt { jwks, audience, issuer, scopes, .. } = raw;
        if let Some(issuer) = issuer.as_ref().filter(|issuer| !issuer.starts_with("http")) {
            let what = format!("`{issuer}` is not an address of the form https://login.example.com");
            return Err(self.fault(&["jwt", "issuer"], what));
        }
        Ok(Some(JwtConfig { secret, jwks, audience, issuer, scopes }))
    }

    fn vault(&self, raw: &HashMap<String, SecretSetting>) -> Result<HashMap<String, Secret>, ConfigFault> {
        let read = |(name, setting): (&String, &_)| {
            let secret = secrets::read(setting, self.folder);
            secret.map(|secret| (name.clone(), secret)).map_err(|what| self.fault(&["secrets", name], what))
        };
        raw.iter().map(read).collect()
    }

    pub(super) fn fault(&self, path: &[&str], what: String) -> ConfigFault {
        ConfigFault::at(self.name, self.text, self.spans.of(path), what)
    }
}

fn kinds() -> Vec<&'static str> {
    SOURCES.iter().map(|known| known.kind).collect()
}
