//! `[keys]`, `[jwt]` and `developers`: who may call, as the program believes it.

use std::sync::Arc;

use toolmux_core::gateway::{ApiKey, TokenToolset};
use toolmux_core::nearest::nearest;
use toolmux_core::toolset::Toolset;
use toolmux_http::network_zone::is_this_machine_name;
use toolmux_protocols::registry::SecretSetting;

use super::fault::ConfigFault;
use super::raw::{RawJwt, RawKey, RawTls};
use super::resolve::Reader;
use super::{JwtConfig, secrets};

/// RFC 7518: a key of HS256 is at least as long as the hash.
const SHORTEST_SECRET: usize = 32;
/// The `toolset` of `[jwt]` that means every tool.
const EVERY_TOOL: &str = "*";

impl Reader<'_> {
    pub(super) fn keys(
        &self,
        raw: Vec<(String, RawKey)>,
        toolsets: &[Toolset],
        tls: Option<&RawTls>,
    ) -> Vec<ApiKey> {
        let key = |(name, key): (String, RawKey)| {
            let sha256 = self.key_digest(&name, &key, tls)?;
            if let Some(wanted) = &key.toolset {
                self.check_toolset(&["keys", &name, "toolset"], wanted, toolsets)?;
            }
            Ok(ApiKey { name: name.into(), sha256, toolset: key.toolset.map(Arc::from) })
        };
        raw.into_iter().filter_map(|each| self.kept(key(each))).collect()
    }

    /// The digest of what a caller shows.
    fn key_digest(&self, name: &str, key: &RawKey, tls: Option<&RawTls>) -> Result<[u8; 32], ConfigFault> {
        match (&key.key, &key.sha256, &key.certificate) {
            (Some(setting), None, None) => Ok(self.secret(&["keys", name, "key"], setting)?.sha256()),
            (None, Some(hex), None) => {
                secrets::digest(hex).map_err(|what| self.fault(&["keys", name, "sha256"], what))
            }
            (None, None, Some(written)) if tls.is_some_and(|tls| tls.client_ca.is_some()) => {
                self.fingerprint(name, written)
            }
            (None, None, Some(_)) => {
                let what = format!("`keys.{name}.certificate` needs `tls.client_ca`");
                let fault = self.fault(&["keys", name, "certificate"], what);
                Err(fault.hint("without it no client is asked for a certificate"))
            }
            _ => {
                let what = format!("key `{name}` needs one of `key`, `sha256` and `certificate`");
                Err(self.fault(&["keys", name], what))
            }
        }
    }

    /// The names of the keys that are for operators, who see every tool.
    pub(super) fn operators(&self, raw: &[(String, RawKey)]) -> Result<Vec<String>, ConfigFault> {
        let operators: Vec<&(String, RawKey)> = raw.iter().filter(|(_, key)| key.operator).collect();
        if let Some((name, _)) = operators.iter().find(|(_, key)| key.toolset.is_some()) {
            let what = format!("key `{name}` has both `operator` and `toolset`");
            return Err(self
                .fault(&["keys", name, "operator"], what)
                .hint("an operator sees the calls of every tool: give it no toolset"));
        }
        Ok(operators.into_iter().map(|(name, _)| name.clone()).collect())
    }

    /// A toolset that is named must be there.
    fn check_toolset(&self, path: &[&str], wanted: &str, toolsets: &[Toolset]) -> Result<(), ConfigFault> {
        // One that cannot be read has a fault of its own.
        if toolsets.iter().any(|set| set.name == wanted) || self.spans.has(&["toolsets", wanted]) {
            return Ok(());
        }
        let fault = self.fault(path, format!("`{}` names a toolset that does not exist", path.join(".")));
        Err(match nearest(wanted, toolsets.iter().map(|set| set.name.as_str())) {
            Some(meant) => fault.hint(format!("did you mean `{meant}`?")),
            None => fault.hint("add a [toolsets.NAME] table of that name"),
        })
    }

    pub(super) fn jwt(
        &self,
        raw: Option<RawJwt>,
        toolsets: &[Toolset],
    ) -> Result<Option<JwtConfig>, ConfigFault> {
        let Some(raw) = raw else { return Ok(None) };
        let fault = |key: &str, what: &str| self.fault(&["jwt", key], what.to_owned());
        if raw.secret.is_none() && raw.jwks.is_none() {
            return Err(fault("", "[jwt] needs `secret` or `jwks`"));
        }
        let secret =
            raw.secret.as_ref().map(|setting| self.secret(&["jwt", "secret"], setting)).transpose()?;
        if secret.as_ref().is_some_and(|secret| secret.expose().len() < SHORTEST_SECRET) {
            let what = format!("`jwt.secret` must be at least {SHORTEST_SECRET} bytes long");
            return Err(self
                .fault(&["jwt", "secret"], what)
                .hint("generate one with `openssl rand -hex 32`"));
        }
        if raw.issuer.as_ref().is_some_and(|issuer| !issuer.starts_with("http")) {
            return Err(fault(
                "issuer",
                "`jwt.issuer` must be an address of the form https://login.example.com",
            ));
        }
        if raw.jwks.as_ref().is_some_and(|jwks| !is_safe(jwks)) {
            let what = "`jwt.jwks` must be an https address, or one on this machine";
            return Err(fault("jwks", what)
                .hint("over plain http, whoever can change the keys in transit can sign tokens"));
        }
        if raw.audience.is_empty() && (raw.issuer.is_some() || raw.jwks.is_some()) {
            return Err(fault("", "[jwt] with `issuer` or `jwks` needs `audience`").hint(
                "audience = [\"…\"]: what the issuer writes into `aud` of tokens for this server; without it tokens \
                 for other servers would be good here",
            ));
        }
        let toolset = match raw.toolset.as_deref() {
            None => TokenToolset::Nothing,
            Some(EVERY_TOOL) => TokenToolset::Everything,
            Some(name) => {
                self.check_toolset(&["jwt", "toolset"], name, toolsets)?;
                TokenToolset::Named(name.into())
            }
        };
        let RawJwt { jwks, audience, issuer, scopes, .. } = raw;
        Ok(Some(JwtConfig { secret, jwks, audience, issuer, scopes, toolset }))
    }

    /// Reads a secret; a fault names its place.
    pub(super) fn secret(
        &self,
        path: &[&str],
        setting: &SecretSetting,
    ) -> Result<toolmux_core::secret::Secret, ConfigFault> {
        if self.is_unset(setting) {
            return Ok(secrets::placeholder());
        }
        secrets::read(setting, self.folder)
            .map_err(|why| self.fault(path, format!("`{}` cannot be read: {why}", path.join("."))))
    }
}

/// True for an address that nobody on the way can answer for.
fn is_safe(url: &str) -> bool {
    let Ok(uri) = url.parse::<http::Uri>() else { return false };
    match uri.scheme_str() {
        Some("https") => true,
        Some("http") => uri.host().is_some_and(is_this_machine_name),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_tokens_come_over_https_or_from_this_machine() {
        for (url, expect) in [
            ("https://login.example.com/jwks", true),
            ("https://user:password@login.example.com/jwks", true),
            ("http://127.0.0.1:8080/jwks", true),
            ("http://[::1]/jwks", true),
            ("http://localhost/jwks", true),
            ("http://login.example.com/jwks", false),
            ("http://127.0.0.1.example.com/jwks", false),
            ("http://10.0.0.1/jwks", false),
            ("ftp://login.example.com", false),
            ("jwks.json", false),
        ] {
            assert_eq!(is_safe(url), expect, "{url}");
        }
    }
}
