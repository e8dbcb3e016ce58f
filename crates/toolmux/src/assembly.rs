//! Puts a gateway together from a configuration, and changes it when the configuration does.

use std::sync::Arc;

use anyhow::Context;
use arc_swap::ArcSwap;
use jsonwebtoken::jwk::JwkSet;
use toolmux_broker::{Base, OAuthBroker};
use toolmux_core::gateway::{Gateway, JwtRules, Settings};
use toolmux_core::message::Message;
use toolmux_core::ports::broker::Broker;
use toolmux_core::ports::store::{Retention, Store};
use toolmux_core::redact::know_password_in;
use toolmux_core::secret::Secret;
use toolmux_core::sources::Mount;
use toolmux_store::StoreSettings;

use crate::authorization::broker;
use crate::config::{Config, SourceConfig};
use crate::jwks;

/// A gateway and the configuration it was put together from.
pub(crate) struct Assembly {
    pub(crate) gateway: Arc<Gateway>,
    store: Arc<dyn Store>,
    /// Where our pages are, for an assembly that is served.
    base: Option<Base>,
    tokens: Option<Arc<OAuthBroker>>,
    sources: Vec<SourceConfig>,
    keys: Arc<ArcSwap<JwkSet>>,
    jwks: Option<jwks::Follower>,
    jwks_address: Option<String>,
}

/// Which sources a new configuration opens anew.
#[derive(PartialEq, Eq)]
pub(crate) enum Reopen {
    /// Those whose settings changed.
    WhatChanged {
        /// These too: the file of a secret of theirs changed.
        rotated: Vec<String>,
    },
    /// All: what they read besides the configuration may have changed.
    Everything,
}

impl Reopen {
    fn takes(&self, source: &SourceConfig) -> bool {
        match self {
            Reopen::WhatChanged { rotated } => rotated.contains(&source.name),
            Reopen::Everything => true,
        }
    }
}

impl Assembly {
    /// Opens every source; connects in the background.
    pub(crate) fn new(config: &Config, store: Arc<dyn Store>) -> anyhow::Result<Self> {
        let keys: Arc<ArcSwap<JwkSet>> = Arc::new(ArcSwap::from_pointee(JwkSet { keys: Vec::new() }));
        let mounts = config.sources.iter().map(mount).collect::<anyhow::Result<Vec<_>>>()?;
        let gateway = Gateway::new(settings(config, &keys, None), Arc::clone(&store));
        for mount in mounts {
            gateway.sources().mount(mount);
        }
        let jwks = jwks::follow(config, &keys);
        let (sources, jwks_address) = (config.sources.clone(), jwks::address(config));
        Ok(Assembly { gateway, store, base: None, tokens: None, sources, keys, jwks, jwks_address })
    }

    /// Lets users allow tokens; for an assembly that is going to be served, since they come by browser.
    pub(crate) fn authorize(&mut self, config: &Config) -> anyhow::Result<()> {
        self.base = Some(Base::default());
        let broker = self.new_broker(config)?;
        self.gateway.configure(settings(config, &self.keys, broker));
        Ok(())
    }

    /// Who keeps tokens of users.
    pub(crate) fn broker(&self) -> Option<Arc<OAuthBroker>> {
        self.tokens.clone()
    }

    /// Says where browsers find us, unless the configuration does.
    pub(crate) fn listens_at(&self, url: &str) {
        if let Some(base) = &self.base {
            base.set(url.to_owned()).ok();
        }
    }

    fn new_broker(&mut self, config: &Config) -> anyhow::Result<Option<Arc<dyn Broker>>> {
        let Some(base) = &self.base else { return Ok(None) };
        if let Some(url) = &config.public_url {
            // Once set it stays: links that were handed out must not break.
            base.set(url.clone()).ok();
        }
        self.tokens = broker(config, &self.store, base)?;
        Ok(self.tokens.clone().map(|broker| broker as Arc<dyn Broker>))
    }

    /// Takes a new configuration: sources that changed are replaced, all others stay as they are. Nothing
    /// changes when any part of it cannot be opened.
    pub(crate) fn change(&mut self, config: &Config, reopen: &Reopen) -> anyhow::Result<()> {
        let changed = |source: &&SourceConfig| reopen.takes(source) || !self.sources.contains(source);
        let mounts = config.sources.iter().filter(changed).map(mount).collect::<anyhow::Result<Vec<_>>>()?;
        let broker = self.new_broker(config)?;
        for gone in &self.sources {
            if !config.sources.iter().any(|source| source.name == gone.name) {
                self.gateway.sources().unmount(&gone.name);
            }
        }
        if jwks::address(config) != self.jwks_address {
            // Keys of an issuer that is no longer named must not open anything.
            self.keys = Arc::new(ArcSwap::from_pointee(JwkSet { keys: Vec::new() }));
            self.jwks = jwks::follow(config, &self.keys);
            self.jwks_address = jwks::address(config);
        }
        self.gateway.configure(settings(config, &self.keys, broker));
        for mount in mounts {
            self.gateway.sources().mount(mount);
        }
        self.sources.clone_from(&config.sources);
        Ok(())
    }
}

fn mount(source: &SourceConfig) -> anyhow::Result<Mount> {
    let opened = source.open().with_context(|| format!("source `{}` cannot be opened", source.name))?;
    let again = source.clone();
    let reopen = move || again.open().map_err(|error| Message::public(error.to_string()));
    let mount = Mount::new(&source.name, &source.toolkit, source.naming, opened);
    let mount = mount.allowing(source.allowlist.clone()).without_tools(source.disabled_tools.clone());
    let mount = mount.reopened_by(Arc::new(reopen)).kept_by(source.digest());
    Ok(if source.coerce { mount.coercing() } else { mount })
}

fn settings(config: &Config, keys: &Arc<ArcSwap<JwkSet>>, broker: Option<Arc<dyn Broker>>) -> Settings {
    let jwt = config.jwt.as_ref().map(|jwt| JwtRules {
        secret: jwt.secret.clone(),
        keys: Arc::clone(keys),
        audience: jwt.audience.clone(),
        issuer: jwt.issuer.clone(),
        scopes: jwt.scopes.clone(),
        toolset: jwt.toolset.clone(),
    });
    Settings {
        admission: config.admission(jwt),
        limits: config.limits,
        toolsets: config.toolsets.clone(),
        tools: config.tools.clone(),
        vault: config.vault.clone(),
        broker,
        developers: config.developers.clone(),
        public_url: config.public_url.clone(),
        receipts: config.receipts.settings(),
        traces: config.telemetry.traces,
        operators: config.operators.clone(),
    }
}

/// Opens the store an address names, which keeps what `retention` says.
pub(crate) async fn store(url: &Secret, retention: Retention) -> anyhow::Result<Arc<dyn Store>> {
    know_password_in(url.expose());
    let settings = StoreSettings { retention, ..StoreSettings::default() };
    toolmux_store::open(url.expose(), settings).await.context("cannot open the store")
}
