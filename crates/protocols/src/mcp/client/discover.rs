//! Finding out whose tokens a protected server takes: its metadata (RFC 9728), for whoever configures the source.

use http::{HeaderMap, Method};
use serde::Deserialize;
use url::Url;

use super::authorization::TokenWanted;
use crate::http_client::HttpClient;

const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

#[derive(Default, Deserialize)]
#[serde(default)]
struct Metadata {
    resource: String,
    authorization_servers: Vec<String>,
    scopes_supported: Vec<String>,
}

/// What to write into the configuration, in words.
pub(super) async fn remedy(client: &HttpClient, url: &Url, wanted: &TokenWanted) -> String {
    let Some(metadata) = metadata(client, url, wanted).await else {
        return "set `headers` of the source, or `authorization.provider`; the server does not say whose tokens it \
                takes"
            .to_owned();
    };
    let issuers = metadata.authorization_servers.join(", ");
    let scopes = if wanted.scopes.is_empty() { &metadata.scopes_supported } else { &wanted.scopes };
    format!(
        "set `authorization.provider` of the source to an `[auth.providers.NAME]` with issuer {issuers}; scopes: {}",
        scopes.join(" ")
    )
}

/// The first description that is there and is of this server: at the address it names, then at the well-known ones.
async fn metadata(client: &HttpClient, url: &Url, wanted: &TokenWanted) -> Option<Metadata> {
    let named = wanted.metadata.as_ref().and_then(|named| url.join(named).ok());
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
        let Ok(metadata) = serde_json::from_slice::<Metadata>(&body) else { continue };
        let of_this = Url::parse(&metadata.resource).is_ok_and(|resource| {
            resource.origin() == url.origin() && url.path().starts_with(resource.path().trim_end_matches('/'))
        });
        if of_this {
            return Some(metadata);
        }
    }
    None
}
