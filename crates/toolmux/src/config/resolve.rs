//! Turns what was written into what is believed; every fault knows its line.

use std::collections::HashMap;
use std::path::Path;

use serde_json::Value;
use toolmux_core::names::is_plain;
use toolmux_core::nearest::nearest;
use toolmux_core::redact::know_password_in;
use toolmux_core::secret::Secret;
use toolmux_core::sources::Naming;
use toolmux_core::toolset::{Pattern, Toolset};
use toolmux_protocols::SOURCES;
use toolmux_protocols::registry::{SecretSetting, SourceKind};

use super::allowlist::Known;
use super::fault::ConfigFault;
use super::raw::Raw;
use super::{Config, LISTEN, SourceConfig, import, keys, secrets};

/// A configuration while it is read.
pub(super) struct Reader<'a> {
    pub(super) text: &'a str,
    pub(super) name: &'a str,
    pub(super) folder: &'a Path,
    pub(super) spans: keys::Spans,
}

impl Reader<'_> {
    pub(super) fn resolve(&self, raw: Raw) -> Result<Config, ConfigFault> {
        let listen = raw.listen.as_deref().unwrap_or(LISTEN);
        let listen = listen.parse().map_err(|_| {
            self.fault(&["listen"], "`listen` must be an address of the form 127.0.0.1:9627".to_owned())
        })?;
        let toolsets: Vec<Toolset> = raw
            .toolsets
            .into_iter()
            .map(|(name, set)| Toolset { name, tools: set.tools.into_iter().map(Pattern::new).collect() })
            .collect();
        if toolsets.iter().any(|set| set.name.is_empty()) {
            return Err(self.fault(&["toolsets"], "a toolset needs a name".to_owned()));
        }
        let limits = raw.limits.unwrap_or_default();
        let sources = self.sources(raw.sources)?;
        let vault = self.vault(&raw.secrets)?;
        let public_url = self.public_url(raw.auth.as_ref())?;
        let auth = self.auth(raw.auth, &sources)?;
        self.check_allowlists(&sources, &Known::of(vault.keys(), auth.as_ref()))?;
        let config = Config {
            listen,
            store: self.store(raw.store.as_ref())?,
            tools: self.tools(raw.tools)?,
            keys: self.keys(raw.keys, &toolsets, raw.tls.as_ref())?,
            tls: self.tls(raw.tls.as_ref())?,
            jwt: self.jwt(raw.jwt, &toolsets)?,
            developers: raw.developers,
            toolsets,
            vault,
            public_url,
            auth,
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
    fn store(&self, raw: Option<&SecretSetting>) -> Result<Secret, ConfigFault> {
        let Some(setting) = raw else { return Ok(Secret::new("memory")) };
        // Of an address only the password is secret: `memory` must not be taken out of logs.
        let store = secrets::look_up(setting, self.folder)
            .map_err(|why| self.fault(&["store"], format!("`store` cannot be read: {why}")))?;
        know_password_in(store.expose());
        match store.expose().strip_prefix("sqlite:") {
            Some(file) if !file.starts_with([':', '/']) => {
                Ok(Secret::new(format!("sqlite:{}", self.folder.join(file).display())))
            }
            _ if toolmux_store::is_store(store.expose()) => Ok(store),
            _ => Err(self
                .fault(&["store"], "this is not a store".to_owned())
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
            let read = import::read(&self.folder.join(file));
            sources.extend(read.map_err(|what| fault(format!("`sources.import`: {what}")))?);
        }
        Ok(sources)
    }

    fn source(&self, name: &str, table: toml::Value) -> Result<SourceConfig, ConfigFault> {
        let fault = |what: String| self.fault(&["sources", name], what);
        let json = serde_json::to_value(table)
            .map_err(|_| fault(format!("source `{name}` has a value that cannot be written as JSON")))?;
        let Value::Object(mut members) = json else { return Err(fault("a source is a table".to_owned())) };
        let mut text = |key: &str| match members.shift_remove(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => {
                Err(self.fault(&["sources", name, key], format!("`sources.{name}.{key}` must be a string")))
            }
        };
        let kind = text("kind")?.ok_or_else(|| {
            fault(format!("source `{name}` has no `kind`")).hint(format!("one of: {}", kinds().join(", ")))
        })?;
        let known = self.source_kind(name, &kind)?;
        let toolkit = text("toolkit")?.unwrap_or_else(|| name.to_owned());
        if !is_plain(&toolkit) {
            let what =
                format!("the toolkit of source `{name}` has characters other than letters, digits and _");
            return Err(fault(what).hint("give the source a plain name with `toolkit = \"…\"`"));
        }
        let naming = self.naming(name, text("names")?.as_deref())?;
        let coerce = match members.shift_remove("coerce") {
            None => false,
            Some(Value::Bool(coerce)) => coerce,
            Some(_) => return Err(fault("`coerce` is true or false".to_owned())),
        };
        let allowlist = self.take_allowlist(name, &mut members)?;
        Ok(SourceConfig {
            name: name.to_owned(),
            toolkit,
            naming,
            coerce,
            allowlist,
            kind: known.kind,
            table: Value::Object(members),
            folder: self.folder.to_owned(),
        })
    }

    fn source_kind(&self, name: &str, kind: &str) -> Result<&'static SourceKind, ConfigFault> {
        SOURCES.iter().find(|known| known.kind == kind).ok_or_else(|| {
            let hint = match nearest(kind, kinds()) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("one of: {}", kinds().join(", ")),
            };
            let what = format!("source `{name}` has an unknown kind");
            self.fault(&["sources", name, "kind"], what).hint(hint)
        })
    }

    fn naming(&self, name: &str, names: Option<&str>) -> Result<Naming, ConfigFault> {
        match names {
            None | Some("prefixed") => Ok(Naming::Prefixed),
            Some("bare") => Ok(Naming::Bare),
            Some(_) => {
                let what = format!("`sources.{name}.names` must be \"prefixed\" or \"bare\"");
                Err(self.fault(&["sources", name, "names"], what))
            }
        }
    }

    fn vault(&self, raw: &HashMap<String, SecretSetting>) -> Result<HashMap<String, Secret>, ConfigFault> {
        let read =
            |(name, setting): (&String, &_)| Ok((name.clone(), self.secret(&["secrets", name], setting)?));
        raw.iter().map(read).collect()
    }

    pub(super) fn fault(&self, path: &[&str], what: String) -> ConfigFault {
        ConfigFault::at(self.name, self.text, self.spans.of(path), what)
    }
}

fn kinds() -> Vec<&'static str> {
    SOURCES.iter().map(|known| known.kind).collect()
}
