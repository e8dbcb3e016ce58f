//! Servers that want a token of the user: which provider's, with which scopes, and how a server says so.
//! Getting the token is the broker's: every tool of such a source requires it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwapOption;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use schemars::JsonSchema;
use serde::Deserialize;
use toolmux_core::ports::source::{Listing, SourceError};
use toolmux_core::requirements::{self, Grants, TokenServer};
use toolmux_core::schema::Schema;
use toolmux_core::tool::Tool;
use url::Url;

use crate::mcp::MCP;

/// The tool that stands for those that cannot be listed yet.
pub(in crate::mcp) const AUTHORIZE: &str = "authorize";

/// Tokens of users for a server that wants them.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::mcp) struct AuthorizationSetting {
    /// A name under `[auth.providers]`, whose `issuer` is the server's authorization server. Without it, toolmux
    /// asks the server for its authorization server and registers itself there.
    #[serde(default)]
    provider: Option<String>,
    /// Scopes that every call needs; without a provider, those that the server names unless given.
    #[serde(default)]
    scopes: Vec<String>,
}

#[derive(Debug)]
pub(in crate::mcp) struct Authorization {
    /// Whose tokens: a provider of the configuration, or the one that the server names.
    id: String,
    server: Arc<TokenServer>,
    scopes: Vec<String>,
    wanted: Mutex<Scopes>,
    /// The token that lists of tools are read with: one that the broker keeps, and that the server took from somebody.
    listing: ArcSwapOption<HeaderValue>,
}

/// Scopes that the server asked for.
#[derive(Debug, Default)]
struct Scopes {
    /// For everything, unless the configuration names some.
    all: Vec<String>,
    /// More of them, by tool or method.
    by_tool: BTreeMap<String, Vec<String>>,
}

impl Authorization {
    pub(in crate::mcp) fn new(source: &str, url: &Url, setting: AuthorizationSetting) -> Self {
        Authorization {
            // No provider of the configuration is named so by chance.
            id: setting.provider.unwrap_or_else(|| format!("{MCP}:{source}")),
            server: Arc::new(TokenServer::new(url.as_str())),
            scopes: setting.scopes,
            wanted: Mutex::default(),
            listing: ArcSwapOption::empty(),
        }
    }

    /// What a tool requires, by what is known now.
    pub(in crate::mcp) fn require(&self, tool: &mut Tool) {
        tool.requires.authorization = vec![self.needed(&tool.name)];
    }

    /// What every request needs.
    pub(in crate::mcp) fn needed_by_all(&self) -> requirements::Authorization {
        self.needed("")
    }

    fn needed(&self, tool: &str) -> requirements::Authorization {
        let wanted = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        let mut scopes = if self.scopes.is_empty() { wanted.all.clone() } else { self.scopes.clone() };
        for scope in wanted.by_tool.get(tool).into_iter().flatten() {
            if !scopes.contains(scope) {
                scopes.push(scope.clone());
            }
        }
        let server = Some(Arc::clone(&self.server));
        requirements::Authorization { id: self.id.clone(), scopes, server }
    }

    /// The server wants a token before it says anything.
    pub(in crate::mcp) fn learn(&self, wanted: &TokenWanted) {
        if let Some(metadata) = &wanted.metadata {
            self.server.describes_itself_at(metadata.clone());
        }
        if !wanted.scopes.is_empty() {
            self.wanted.lock().unwrap_or_else(PoisonError::into_inner).all.clone_from(&wanted.scopes);
        }
    }

    /// What there is before anybody allowed a token: a tool that asks for one.
    pub(in crate::mcp) fn only_authorize(&self) -> Listing {
        let words = "Asks the user for access to this server. Its tools appear once access is granted.";
        let mut tool = Tool::new(AUTHORIZE, words, Schema::no_parameters());
        self.require(&mut tool);
        vec![tool].into()
    }

    /// The user's token among these grants, as a header. The gateway lets nobody through without.
    pub(in crate::mcp) fn token(&self, grants: &Grants) -> Option<HeaderValue> {
        let token = grants.token(&self.id)?;
        let mut value = HeaderValue::from_str(&format!("Bearer {}", token.expose())).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    pub(in crate::mcp) fn listing_token(&self) -> Option<Arc<HeaderValue>> {
        self.listing.load_full()
    }

    /// The server took the token among these grants: lists can be read with it.
    pub(in crate::mcp) fn used(&self, grants: &Grants) {
        if self.listing.load().is_none() && self.keeps(grants) {
            self.list_with(self.token(grants));
        }
    }

    /// Whether the token among these grants may be kept for lists. One that a request brought is for that request.
    pub(in crate::mcp) fn keeps(&self, grants: &Grants) -> bool {
        grants.has_supplied_token(&self.id)
    }

    pub(in crate::mcp) fn list_with(&self, token: Option<HeaderValue>) {
        self.listing.store(token.map(Arc::new));
    }

    /// The server did not take the token for what was asked, a tool or a method. Scopes that it names are required
    /// from now on.
    pub(in crate::mcp) fn refused(&self, asked: &str, grants: &Grants, wanted: TokenWanted) -> SourceError {
        if let Some(metadata) = wanted.metadata {
            self.server.describes_itself_at(metadata);
        }
        if let (Why::Token, Some(token)) = (wanted.why, grants.token(&self.id)) {
            self.server.reject(token);
        }
        if !wanted.scopes.is_empty() {
            let mut known = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
            known.by_tool.insert(asked.to_owned(), wanted.scopes);
        }
        SourceError::WantsToken(self.needed(asked))
    }
}

/// What a server says of the token that it wants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::mcp) struct TokenWanted {
    /// Where it describes itself (RFC 9728).
    pub(in crate::mcp) metadata: Option<String>,
    pub(in crate::mcp) scopes: Vec<String>,
    pub(in crate::mcp) why: Why,
}

/// What is wrong with the token that a server was shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::mcp) enum Why {
    /// It is no good, or there was none.
    #[default]
    Token,
    /// It lacks scopes.
    Scopes,
}

impl TokenWanted {
    /// Reads a refusal for want of a token; none when it is another.
    pub(in crate::mcp) fn read(status: StatusCode, headers: &HeaderMap) -> Option<Self> {
        let mut challenges =
            headers.get_all(header::WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
        let bearer = challenges.find_map(bearer_challenge).unwrap_or_default();
        let insufficient = parameter(bearer, "error").as_deref() == Some("insufficient_scope");
        let why = match status {
            StatusCode::UNAUTHORIZED => Why::Token,
            StatusCode::FORBIDDEN if insufficient => Why::Scopes,
            _ => return None,
        };
        let scopes = parameter(bearer, "scope").unwrap_or_default();
        Some(TokenWanted {
            metadata: parameter(bearer, "resource_metadata"),
            scopes: scopes.split_whitespace().map(str::to_owned).collect(),
            why,
        })
    }
}

/// The parameters of the first `Bearer` challenge of a header.
// RFC 9110, 11.6.1: one header may have several challenges, separated by commas as their parameters are, and the name of
// a scheme has no case.
fn bearer_challenge(header: &str) -> Option<&str> {
    let mut start = 0;
    for item in split_unquoted(header) {
        let (scheme, _) = item.trim_start().split_once(' ').unwrap_or((item.trim(), ""));
        if scheme.eq_ignore_ascii_case("Bearer") {
            return Some(header[start..].trim_start()[scheme.len()..].trim_start());
        }
        start += item.len() + 1;
    }
    None
}

/// The items of a header, at the commas that are not in quotes.
fn split_unquoted(header: &str) -> impl Iterator<Item = &str> {
    let (mut quoted, mut escaped) = (false, false);
    header.split(move |c| {
        let ends = c == ',' && !quoted;
        quoted ^= c == '"' && !escaped;
        escaped = c == '\\' && !escaped && quoted;
        ends
    })
}

/// A parameter of a challenge, quoted or not. Ends at the next challenge of the header.
fn parameter(challenge: &str, name: &str) -> Option<String> {
    for item in split_unquoted(challenge).filter(|item| !item.trim().is_empty()) {
        let (key, value) = item.split_once('=')?;
        let key = key.trim();
        // `Basic realm="x"` begins another challenge: a name has no space in it.
        if key.contains(' ') {
            return None;
        }
        if key.eq_ignore_ascii_case(name) {
            let value = value.trim();
            let quoted = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
            // As it stands: neither addresses nor scopes have characters that are escaped in quotes.
            return Some(quoted.unwrap_or(value).to_owned());
        }
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
            why: if status == 403 { Why::Scopes } else { Why::Token },
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
        check(401, r"Bearer", Some((None, &[])));
    }

    #[test]
    fn a_challenge_is_found_in_any_case_and_behind_others() {
        check(401, r#"bearer scope="x""#, Some((None, &["x"])));
        check(401, r"BEARER scope=x", Some((None, &["x"])));
        check(401, r#"Basic realm="a, Bearer b", Bearer scope="x""#, Some((None, &["x"])));
        check(401, r#"Negotiate, Bearer scope="x", error="y""#, Some((None, &["x"])));
        check(401, r#"Bearer error="y", Basic realm="x", scope="z""#, Some((None, &[])));
        check(401, r#"Bearer realm="a\"b", scope="x""#, Some((None, &["x"])));
        check(401, r#"Bearer, Basic realm="x", scope="z""#, Some((None, &[])));
        check(401, r#"Bearerly scope="x""#, Some((None, &[])));
    }
}
