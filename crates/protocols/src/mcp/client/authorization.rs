//! Servers that want a token of the user: which provider's, with which scopes, and how a server says so.
//! Getting the token is the broker's: every tool of such a source requires it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwapOption;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use schemars::JsonSchema;
use serde::Deserialize;
use toolmux_core::call::Call;
use toolmux_core::message::Message;
use toolmux_core::refusal::{Challenge, Refusal};
use toolmux_core::requirements;
use toolmux_core::schema::Schema;
use toolmux_core::source::{Listing, SourceError};
use toolmux_core::tool::Tool;

/// The tool that stands for those that cannot be listed yet.
pub(super) const AUTHORIZE: &str = "authorize";

/// Tokens of users for a server that wants them.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AuthorizationSetting {
    /// A name under `[auth.providers]`, whose `issuer` is the server's authorization server.
    provider: String,
    /// Scopes that every call needs.
    #[serde(default)]
    scopes: Vec<String>,
}

#[derive(Debug)]
pub(super) struct Authorization {
    setting: AuthorizationSetting,
    /// More scopes that the server asked for, by tool.
    wanted: Mutex<BTreeMap<String, Vec<String>>>,
    /// The token that lists are read with: that of whoever used the server last.
    listing: ArcSwapOption<HeaderValue>,
}

impl Authorization {
    pub(super) fn new(setting: AuthorizationSetting) -> Self {
        Authorization { setting, wanted: Mutex::default(), listing: ArcSwapOption::empty() }
    }

    /// What a tool requires, by what is known now.
    pub(super) fn require(&self, tool: &mut Tool) {
        let wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        let mut scopes = self.setting.scopes.clone();
        for scope in wanted.get(&*tool.name).into_iter().flatten() {
            if !scopes.contains(scope) {
                scopes.push(scope.clone());
            }
        }
        tool.requires.authorization =
            vec![requirements::Authorization { id: self.setting.provider.clone(), scopes }];
    }

    /// What there is before anybody allowed a token: a tool that asks for one.
    pub(super) fn only_authorize(&self) -> Listing {
        let words = "Asks the user for access to this server. Its tools appear once access was given.";
        let mut tool = Tool::new(AUTHORIZE, words, Schema::no_parameters());
        self.require(&mut tool);
        vec![tool].into()
    }

    /// The user's token for this call, as a header. The gateway let nobody through without.
    pub(super) fn token(&self, call: &Call) -> Option<HeaderValue> {
        let token = call.grants().token(&self.setting.provider)?;
        let mut value = HeaderValue::from_str(&format!("Bearer {}", token.expose())).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    pub(super) fn listing_token(&self) -> Option<Arc<HeaderValue>> {
        self.listing.load_full()
    }

    pub(super) fn list_with(&self, token: Option<HeaderValue>) {
        self.listing.store(token.map(Arc::new));
    }

    /// The server did not take the token of a call. Scopes that it names are required from now on: the next
    /// call asks the user for them.
    pub(super) fn refused(&self, tool: &str, wanted: TokenWanted) -> SourceError {
        if wanted.scopes.is_empty() {
            return SourceError::Refused(Refusal::Unavailable {
                message: Message::public("The server does not accept the user's token"),
                retry_after: None,
            });
        }
        let mut known = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(tool.to_owned(), wanted.scopes);
        let challenge = Challenge { id: self.setting.provider.clone(), url: None, check_url: None };
        SourceError::Refused(Refusal::Challenged {
            authorization: vec![challenge],
            secrets: Vec::new(),
            user_id: false,
        })
    }
}

/// What a server says of the token that it wants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TokenWanted {
    /// Where it describes itself (RFC 9728).
    pub(super) metadata: Option<String>,
    pub(super) scopes: Vec<String>,
}

impl TokenWanted {
    /// Reads a refusal for want of a token; none when it is another.
    pub(super) fn read(status: StatusCode, headers: &HeaderMap) -> Option<Self> {
        let mut said =
            headers.get_all(header::WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
        let bearer = said.find_map(|said| said.trim().strip_prefix("Bearer")).unwrap_or_default();
        let insufficient = parameter(bearer, "error").as_deref() == Some("insufficient_scope");
        let refused = match status {
            StatusCode::UNAUTHORIZED => true,
            StatusCode::FORBIDDEN => insufficient,
            _ => false,
        };
        let scopes = parameter(bearer, "scope").unwrap_or_default();
        refused.then(|| TokenWanted {
            metadata: parameter(bearer, "resource_metadata"),
            scopes: scopes.split_whitespace().map(str::to_owned).collect(),
        })
    }
}

/// A parameter of a challenge, quoted or not.
fn parameter(challenge: &str, name: &str) -> Option<String> {
    let mut rest = challenge.trim_start();
    while let Some((key, after)) = rest.split_once('=') {
        let (value, left) = match after.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"')?,
            None => after.split_once(',').unwrap_or((after, "")),
        };
        if key.trim_matches([' ', ',']).eq_ignore_ascii_case(name) {
            return Some(value.trim().to_owned());
        }
        rest = left;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(status: u16, challenge: &str, expect: Option<(Option<&str>, &[&str])>) {
        let mut headers = HeaderMap::new();
        headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_str(challenge).unwrap());
        let wanted = TokenWanted::read(StatusCode::from_u16(status).unwrap(), &headers);
        let expect = expect.map(|(metadata, scopes)| TokenWanted {
            metadata: metadata.map(str::to_owned),
            scopes: scopes.iter().map(ToString::to_string).collect(),
        });
        assert_eq!(wanted, expect, "{status} {challenge}");
    }

    #[test]
    fn challenges_are_read() {
        check(401, "Basic realm=\"x\"", Some((None, &[])));
        check(
            401,
            r#"Bearer resource_metadata="https://a/b?c=d", scope="x y""#,
            Some((Some("https://a/b?c=d"), &["x", "y"])),
        );
        check(403, r#"Bearer error=insufficient_scope, scope="admin""#, Some((None, &["admin"])));
        check(403, r#"Bearer error="invalid_token""#, None);
        check(404, r#"Bearer scope="x""#, None);
    }
}
