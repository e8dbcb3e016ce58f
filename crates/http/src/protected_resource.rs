//! What a protected server says of the tokens it takes (RFC 9728): read for sources and for the broker.

use http::{HeaderMap, Method};
use serde::Deserialize;
use url::Url;

use crate::client::HttpClient;

/// Where a protected server describes itself, before the path of what is protected.
pub const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// A protected server's description of itself.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ProtectedResource {
    /// What the server calls itself, to be repeated exactly.
    pub resource: String,
    /// Whose tokens it takes.
    pub authorization_servers: Vec<String>,
    /// The scopes that its tokens may have.
    pub scopes_supported: Vec<String>,
}

/// The first description that is there and is of this server: at the address it names, then at the well-known ones.
pub async fn describe(client: &HttpClient, url: &Url, named: Option<&str>) -> Option<ProtectedResource> {
    let named = named.and_then(|named| url.join(named).ok());
    let path = url.path().trim_end_matches('/');
    let known = [format!("{WELL_KNOWN}{path}"), WELL_KNOWN.to_owned()];
    let known = known.iter().filter_map(|path| url.join(path).ok());
    // A server sends us nowhere else: what it names is asked only when it is its own.
    for place in named.into_iter().chain(known).filter(|place| place.origin() == url.origin()) {
        let Ok(answer) = client.send(Method::GET, &place, HeaderMap::new(), "").await else { continue };
        if !answer.status().is_success() {
            continue;
        }
        let body = answer.body().await.ok()?;
        let Ok(described) = serde_json::from_slice::<ProtectedResource>(&body) else { continue };
        // One that is of another server is a reason to stop, not to look further.
        return described.is_of(url).then_some(described);
    }
    None
}

impl ProtectedResource {
    fn is_of(&self, url: &Url) -> bool {
        Url::parse(&self.resource).is_ok_and(|resource| {
            let whole = resource.path().trim_end_matches('/');
            let below = url.path().strip_prefix(whole);
            resource.origin() == url.origin()
                && below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(resource: &str, expect: bool) {
        let described = ProtectedResource { resource: resource.to_owned(), ..ProtectedResource::default() };
        let url = "https://tools.test/a/mcp".parse().unwrap();
        assert_eq!(described.is_of(&url), expect, "{resource}");
    }

    #[test]
    fn a_description_is_of_the_server_itself() {
        check("https://tools.test/a/mcp", true);
        check("https://tools.test/a", true);
        check("https://tools.test", true);
        check("https://tools.test/a/mc", false);
        check("https://tools.test/b", false);
        check("https://evil.test/a/mcp", false);
        check("http://tools.test/a/mcp", false);
        check("", false);
    }
}
