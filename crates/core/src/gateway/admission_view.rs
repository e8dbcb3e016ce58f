//! What is known of the rules of admission besides whom they let in.

use std::sync::Arc;

use tokio::sync::watch;

use super::admit::{ApiKey, Credential, TokenToolset, lacks_scope};
use super::{Gateway, Settings};
use crate::call::Caller;

/// The rules of admission, as protocols ask about them. Whom they let in is [`Gateway::admit`] to say.
#[derive(Clone, Copy)]
pub struct AdmissionView<'a>(&'a Gateway);

/// How to be admitted, for clients that are not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdmissionInfo {
    /// Where callers reach this server, when that is configured.
    pub public_url: Option<String>,
    /// Who issues the tokens that are accepted.
    pub issuer: Option<String>,
    /// The scopes that a token must have.
    pub scopes: Vec<String>,
    /// Nobody has to prove anything.
    pub is_open: bool,
}

/// A caller by key, as operators see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownCaller {
    /// The caller's name.
    pub name: Arc<str>,
    /// The only tools its key opens; absent means all.
    pub toolset: Option<Arc<str>>,
    /// It may see and steer the server.
    pub is_operator: bool,
}

impl Gateway {
    /// The rules of admission.
    pub fn admission(&self) -> AdmissionView<'_> {
        AdmissionView(self)
    }
}

impl AdmissionView<'_> {
    /// True for a credential that would be accepted if it had more scopes.
    pub fn lacks_scope(self, credential: Credential<'_>) -> bool {
        lacks_scope(&self.0.settings.load().admission, credential)
    }

    /// Whether a caller is told the developer half of messages.
    pub fn is_developer(self, caller: &Caller) -> bool {
        self.0.settings.load().is_developer(caller)
    }

    /// Whether a caller may see and steer the server.
    pub fn is_operator(self, caller: &Caller) -> bool {
        self.0.settings.load().is_operator(caller)
    }

    /// Every caller that is let in by a key, in the order of configuration.
    pub fn callers(self) -> Vec<KnownCaller> {
        let settings = self.0.settings.load();
        let known = |key: &ApiKey| KnownCaller {
            name: Arc::clone(&key.name),
            toolset: key.toolset.clone(),
            is_operator: key.toolset.is_none() && settings.operators.iter().any(|name| **name == *key.name),
        };
        settings.admission.keys.iter().filter(|key| !key.name.is_empty()).map(known).collect()
    }

    /// What tokens open that do not say it; absent where none are accepted.
    pub fn token_toolset(self) -> Option<TokenToolset> {
        self.0.settings.load().admission.jwt.as_ref().map(|rules| rules.toolset.clone())
    }

    /// What may be told to clients that are not admitted.
    pub fn info(self) -> AdmissionInfo {
        let settings: &Settings = &self.0.settings.load();
        let jwt = settings.admission.jwt.as_ref();
        AdmissionInfo {
            public_url: settings.public_url.clone(),
            issuer: jwt.and_then(|rules| rules.issuer.clone()),
            scopes: jwt.map(|rules| rules.scopes.clone()).unwrap_or_default(),
            is_open: settings.admission.is_open(),
        }
    }

    /// How often the rules were replaced. As long as this stays the same, whoever was admitted still is.
    pub fn generation(self) -> u64 {
        self.0.admission_changes.count()
    }

    /// Changes whenever [`AdmissionView::generation`] does, for streams that have to end then.
    pub fn changes(self) -> watch::Receiver<u64> {
        self.0.admission_changes.subscribe()
    }
}
