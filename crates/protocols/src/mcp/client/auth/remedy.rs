//! A protected server whose tokens nobody asks users for: what to write into the configuration.

use toolmux_http::client::HttpClient;
use toolmux_http::protected_resource::describe;
use url::Url;

use super::authorization::TokenWanted;

/// What to write into the configuration, in words.
pub(in crate::mcp) async fn remedy(client: &HttpClient, url: &Url, wanted: &TokenWanted) -> String {
    let Some(described) = describe(client, url, wanted.metadata.as_deref()).await else {
        return "set `headers` of the source, or `authorization.provider`; the server does not say whose tokens it \
                takes"
            .to_owned();
    };
    let issuers = described.authorization_servers.join(", ");
    let scopes = if wanted.scopes.is_empty() { &described.scopes_supported } else { &wanted.scopes };
    format!(
        "set `authorization = {{}}` of the source, or its `provider` to an `[auth.providers.NAME]` with issuer {issuers}; \
         scopes: {}",
        scopes.join(" ")
    )
}
