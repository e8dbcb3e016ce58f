//! The endpoints of an issuer, as it says itself (RFC 8414, OpenID Connect Discovery).

use serde::Deserialize;
use toolmux_http::network_zone::Reach;
use url::Url;

use crate::clients::{Clients, named_from};
use crate::endpoint::{EndpointError, get_json};
use crate::resolved_provider::{ClientAuth, Endpoints, Offers, address};

/// Where an issuer is reached, as it says itself. With a path, RFC 8414 wants it behind the well-known part and
/// OpenID before it. What it names is public, unless the issuer is inside itself.
pub(crate) async fn discover(
    clients: &Clients,
    issuer: &Url,
    allowed: Reach,
) -> Result<Endpoints, EndpointError> {
    let mut last = None;
    let side = clients.side_of(issuer, allowed).await;
    for url in documents(issuer) {
        match get_json::<Metadata>(clients.of(side), url.as_str()).await {
            Ok(metadata) => {
                let endpoints =
                    metadata.endpoints(issuer.as_str().trim_end_matches('/'), named_from(side))?;
                // The only one that this server does not connect to itself.
                clients.of(endpoints.reach).check(&endpoints.authorize).await?;
                return Ok(endpoints);
            }
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(|| EndpointError::Unusable("it publishes no metadata".to_owned())))
}

fn documents(issuer: &Url) -> Vec<Url> {
    let path = issuer.path().trim_end_matches('/');
    let (oauth, openid) = ("/.well-known/oauth-authorization-server", "/.well-known/openid-configuration");
    let mut places = vec![format!("{oauth}{path}"), format!("{openid}{path}")];
    if !path.is_empty() {
        places.extend([format!("{path}{openid}"), format!("{path}{oauth}")]);
    }
    let at = |place: String| {
        let mut url = issuer.clone();
        url.set_path(&place);
        url
    };
    places.into_iter().map(at).collect()
}

#[derive(Deserialize)]
struct Metadata {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    revocation_endpoint: Option<String>,
    registration_endpoint: Option<String>,
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    code_challenge_methods_supported: Vec<String>,
    #[serde(default)]
    scopes_supported: Vec<String>,
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
    #[serde(default)]
    client_id_metadata_document_supported: bool,
}

impl Metadata {
    fn endpoints(self, asked: &str, reach: Reach) -> Result<Endpoints, EndpointError> {
        if self.issuer.trim_end_matches('/') != asked {
            return Err(EndpointError::Unusable(format!(
                "its metadata is that of the issuer `{}`",
                self.issuer
            )));
        }
        let url = |text: &str| address(text).map_err(|error| EndpointError::Unusable(error.to_string()));
        let methods = self.token_endpoint_auth_methods_supported.unwrap_or_default();
        let knows = |method: &str| methods.iter().any(|known| known == method);
        let post = !knows("client_secret_basic") && knows("client_secret_post");
        Ok(Endpoints {
            authorize: url(&self.authorization_endpoint)?,
            token: url(&self.token_endpoint)?,
            revoke: self.revocation_endpoint.as_deref().map(url).transpose()?,
            issuer: Some(self.issuer),
            says_issuer: self.authorization_response_iss_parameter_supported,
            client_auth: if post { ClientAuth::Post } else { ClientAuth::Basic },
            offers: Offers {
                register: self.registration_endpoint.as_deref().map(url).transpose()?,
                documents: self.client_id_metadata_document_supported,
                pkce: self.code_challenge_methods_supported.iter().any(|method| method == "S256"),
                auth_methods: methods,
                scopes: self.scopes_supported,
            },
            reach,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(issuer: &str, expect: &[&str]) {
        let found: Vec<String> = documents(&issuer.parse().unwrap()).iter().map(Url::to_string).collect();
        assert_eq!(found, expect);
    }

    #[test]
    fn a_provider_describes_itself_at_well_known_places() {
        check(
            "https://a.test/",
            &[
                "https://a.test/.well-known/oauth-authorization-server",
                "https://a.test/.well-known/openid-configuration",
            ],
        );
        check(
            "https://a.test/tenant",
            &[
                "https://a.test/.well-known/oauth-authorization-server/tenant",
                "https://a.test/.well-known/openid-configuration/tenant",
                "https://a.test/tenant/.well-known/openid-configuration",
                "https://a.test/tenant/.well-known/oauth-authorization-server",
            ],
        );
    }
}
