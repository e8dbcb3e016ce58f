//! `[auth]`: providers of users' tokens, as people write them and as the program believes them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;
use toolmux_broker::{ClientAuth, Provider, ProviderError};
use toolmux_core::secret::Secret;
use toolmux_protocols::registry::SecretSetting;

use super::SourceConfig;
use super::fault::ConfigFault;
use super::resolve::Reader;

/// The file of the sealing key when nothing else is said.
const KEY_FILE: &str = "toolmux.key";
/// The shortest text that a sealing key may be made of.
const SHORTEST_KEY: usize = 32;

/// Tokens of users, for tools that act for them.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct RawAuth {
    /// The URL at which browsers and callers reach this server. Default: the address it listens on. Register
    /// `/auth/callback/NAME` below it as redirect URI at the provider NAME; `/mcp` below it is the resource
    /// that MCP clients get tokens for.
    public_url: Option<String>,
    /// The key that encrypts stored tokens, at least 32 characters. Default: generated at the first start in
    /// the file `toolmux.key` next to the configuration. All replicas need the same one.
    key: Option<SecretSetting>,
    /// OAuth providers by name, which is the last part of their redirect URI: letters, digits, `_` and `-`.
    providers: BTreeMap<String, RawProvider>,
}

/// An OAuth 2.0 provider.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RawProvider {
    /// The issuer, whose endpoints are discovered below `/.well-known/`; or set `authorize_url` and
    /// `token_url`.
    issuer: Option<String>,
    /// The authorization endpoint, where users consent.
    authorize_url: Option<String>,
    /// The token endpoint.
    token_url: Option<String>,
    /// The revocation endpoint.
    revoke_url: Option<String>,
    /// The id of this client at the provider.
    client_id: String,
    /// The secret of a confidential client.
    client_secret: Option<SecretSetting>,
    /// How the client authenticates: `basic` or `post`. Default: what the provider prefers.
    client_auth: Option<RawClientAuth>,
    /// Scopes to request in addition to those of a tool, such as `offline_access`.
    #[serde(default)]
    scopes: Vec<String>,
    /// Additional parameters of the authorization request. `{ prompt = "consent" }` makes the provider ask the
    /// user every time.
    #[serde(default)]
    parameters: BTreeMap<String, String>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum RawClientAuth {
    /// Id and secret as HTTP Basic.
    Basic,
    /// Id and secret in the body.
    Post,
}

/// Providers of users' tokens.
#[derive(Clone, Debug)]
pub struct AuthConfig {
    /// What tokens are sealed with at rest.
    pub key: SealingKeyAt,
    /// Providers by name.
    pub providers: Vec<ProviderConfig>,
}

/// Where the sealing key is.
#[derive(Clone, Debug)]
pub enum SealingKeyAt {
    /// Made of this text.
    Text(Secret),
    /// In this file, which is made when it is not there.
    File(PathBuf),
}

/// One provider of tokens.
#[derive(Clone, Debug)]
pub struct ProviderConfig {
    pub name: String,
    issuer: Option<String>,
    urls: Option<(String, String)>,
    revoke_url: Option<String>,
    client_id: String,
    client_secret: Option<Secret>,
    client_auth: Option<ClientAuth>,
    scopes: Vec<String>,
    parameters: Vec<(String, String)>,
}

impl ProviderConfig {
    /// The provider itself.
    pub fn provider(&self) -> Result<Provider, ProviderError> {
        let provider = match (&self.issuer, &self.urls) {
            (_, Some((authorize, token))) => Provider::at(authorize, token, &self.client_id)?,
            (Some(issuer), None) => Provider::discovered(issuer, &self.client_id)?,
            (None, None) => return Err(ProviderError::NoEndpoints),
        };
        provider
            .secret(self.client_secret.clone())
            .client_auth(self.client_auth)
            .scopes(self.scopes.clone())
            .parameters(self.parameters.clone())
            .revoke_url(self.revoke_url.as_deref())
    }
}

impl Reader<'_> {
    /// None when nobody needs tokens of users: a source may ask its server for a provider itself.
    pub(super) fn auth(
        &self,
        raw: Option<RawAuth>,
        sources: &[SourceConfig],
    ) -> Result<Option<AuthConfig>, ConfigFault> {
        let raw = raw.unwrap_or_default();
        if raw.providers.is_empty() && !sources.iter().any(SourceConfig::asks_for_tokens) {
            return Ok(None);
        }
        let key = match &raw.key {
            None => SealingKeyAt::File(self.folder.join(KEY_FILE)),
            Some(setting) => SealingKeyAt::Text(self.sealing_text(setting)?),
        };
        let providers = raw.providers.into_iter();
        let providers = providers.filter_map(|(name, provider)| self.kept(self.provider(name, provider)));
        Ok(Some(AuthConfig { key, providers: providers.collect() }))
    }

    /// It is good without a provider too.
    pub(super) fn public_url(&self, raw: Option<&RawAuth>) -> Result<Option<String>, ConfigFault> {
        let public_url = raw.and_then(|raw| raw.public_url.as_deref()).map(|url| url.trim_end_matches('/'));
        if public_url.is_some_and(|url| !url.starts_with("http")) {
            let what = "`auth.public_url` must be an address of the form https://tools.example.com";
            return Err(self.fault(&["auth", "public_url"], what.to_owned()));
        }
        Ok(public_url.map(str::to_owned))
    }

    fn sealing_text(&self, setting: &SecretSetting) -> Result<Secret, ConfigFault> {
        let fault = |what: String| self.fault(&["auth", "key"], what);
        let text = self.secret(&["auth", "key"], setting)?;
        if text.expose().len() < SHORTEST_KEY {
            return Err(fault(format!("the key is shorter than {SHORTEST_KEY} characters"))
                .hint("generate one with `openssl rand -hex 32`"));
        }
        Ok(text)
    }

    fn provider(&self, name: String, raw: RawProvider) -> Result<ProviderConfig, ConfigFault> {
        let path = ["auth", "providers", &name];
        if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')) {
            let what = "the name of a provider may have letters, digits, `_` and `-`: it is part of its redirect URI";
            return Err(self.fault(&path, what.to_owned()));
        }
        let place = ["auth", "providers", &name, "client_secret"];
        let secret = raw.client_secret.map(|setting| self.secret(&place, &setting)).transpose()?;
        let config = ProviderConfig {
            issuer: raw.issuer,
            urls: raw.authorize_url.zip(raw.token_url),
            revoke_url: raw.revoke_url,
            client_id: raw.client_id,
            client_secret: secret,
            client_auth: raw.client_auth.map(|way| match way {
                RawClientAuth::Basic => ClientAuth::Basic,
                RawClientAuth::Post => ClientAuth::Post,
            }),
            scopes: raw.scopes,
            parameters: raw.parameters.into_iter().collect(),
            name: name.clone(),
        };
        config.provider().map_err(|error| {
            let what = match error {
                ProviderError::Address(_) => "one of its addresses is not a URL",
                ProviderError::NotSafe(_) => "its addresses must be https, or on this machine",
                ProviderError::NoEndpoints => "it needs `issuer`, or `authorize_url` and `token_url`",
            };
            self.fault(&path, format!("provider `{name}`: {what}"))
        })?;
        Ok(config)
    }
}
