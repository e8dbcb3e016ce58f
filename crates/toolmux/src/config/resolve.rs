//! Turns what was written into what is believed; every fault knows its line.

use std::cell::RefCell;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;

use toolmux_core::redact::know_password_in;
use toolmux_core::secret::Secret;
use toolmux_core::toolset::{Pattern, Toolset};
use toolmux_protocols::registry::SecretSetting;

use super::allowlist::Known;
use super::fault::ConfigFault;
use super::raw::Raw;
use super::{Config, LISTEN, keys, secrets};

/// Where records are kept when nothing is said.
const MEMORY: &str = "memory";
/// Stands for an address that could not be read.
const LOOPBACK: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// What an environment variable that is not set means.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Variables {
    /// A fault: whoever serves needs every secret.
    Required,
    /// A warning: the file is judged where its secrets are not.
    MayBeUnset,
}

/// A configuration while it is read.
pub(super) struct Reader<'a> {
    pub(super) text: &'a str,
    pub(super) name: &'a str,
    pub(super) folder: &'a Path,
    pub(super) spans: keys::Spans,
    pub(super) variables: Variables,
    /// What was found so far.
    pub(super) faults: RefCell<Vec<ConfigFault>>,
    /// Variables of imported files that are not set, where that is no fault.
    pub(super) warnings: RefCell<Vec<ConfigFault>>,
}

impl Reader<'_> {
    /// What the program believes. Parts with a fault are left out of it, and the fault is noted.
    pub(super) fn resolve(&self, raw: Raw) -> Config {
        let toolsets: Vec<Toolset> = raw
            .toolsets
            .into_iter()
            .map(|(name, set)| Toolset { name, tools: set.tools.into_iter().map(Pattern::new).collect() })
            .collect();
        if toolsets.iter().any(|set| set.name.is_empty()) {
            self.note(self.fault(&["toolsets"], "a toolset needs a name".to_owned()));
        }
        let limits = raw.limits.unwrap_or_default();
        let sources = self.sources(raw.sources);
        let vault = self.vault(&raw.secrets);
        let public_url = self.kept(self.public_url(raw.auth.as_ref())).flatten();
        let auth = self.kept(self.auth(raw.auth, &sources)).flatten();
        self.check_allowlists(&sources, &Known::of(raw.secrets.keys(), auth.as_ref()));
        let store = self.kept(self.store(raw.store.as_ref())).unwrap_or_else(|| Secret::new(MEMORY));
        Config {
            listen: self.kept(self.listen(raw.listen.as_deref().unwrap_or(LISTEN))).unwrap_or(LOOPBACK),
            tools: self.tools(raw.tools),
            operators: self.kept(self.operators(&raw.keys)).unwrap_or_default(),
            keys: self.keys(raw.keys, &toolsets, raw.tls.as_ref()),
            tls: self.kept(self.tls(raw.tls.as_ref())).flatten(),
            jwt: self.kept(self.jwt(raw.jwt, &toolsets)).flatten(),
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
            receipts: raw.receipts.resolve(self, &store),
            telemetry: raw.telemetry.map(|telemetry| telemetry.resolve(self)).unwrap_or_default(),
            store,
            hosts: raw.hosts,
            origins: raw.origins,
            console: raw.console.settings(),
            allow_stop: raw.allow_stop,
        }
    }

    /// What was read; a fault is noted.
    pub(super) fn kept<T>(&self, read: Result<T, ConfigFault>) -> Option<T> {
        read.map_err(|fault| self.note(fault)).ok()
    }

    pub(super) fn note(&self, fault: ConfigFault) {
        self.faults.borrow_mut().push(fault);
    }

    fn listen(&self, written: &str) -> Result<SocketAddr, ConfigFault> {
        let what = "`listen` must be an address of the form 127.0.0.1:9627";
        written.parse().map_err(|_| self.fault(&["listen"], what.to_owned()))
    }

    /// A file of records is relative to the configuration, like every other.
    fn store(&self, raw: Option<&SecretSetting>) -> Result<Secret, ConfigFault> {
        let Some(setting) = raw else { return Ok(Secret::new(MEMORY)) };
        if self.is_unset(setting) {
            return Ok(Secret::new(MEMORY));
        }
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

    /// Whether the variable of a setting is not set where that is no fault.
    pub(super) fn is_unset(&self, setting: &SecretSetting) -> bool {
        self.variables == Variables::MayBeUnset && secrets::is_unset(setting)
    }

    fn vault(&self, raw: &HashMap<String, SecretSetting>) -> HashMap<String, Secret> {
        let read = |(name, setting): (&String, &_)| {
            Some((name.clone(), self.kept(self.secret(&["secrets", name], setting))?))
        };
        raw.iter().filter_map(read).collect()
    }

    pub(super) fn fault(&self, path: &[&str], what: String) -> ConfigFault {
        ConfigFault::at(self.name, self.text, self.spans.of(path), what)
    }
}
