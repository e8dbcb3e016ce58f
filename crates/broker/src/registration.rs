//! Who we are to a provider that nobody registered us at: the address of a document about us where the provider
//! reads such, otherwise what it gave us when we registered ourselves (RFC 7591), kept sealed.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolmux_core::ports::store::SealedKey;
use toolmux_core::secret::Secret;
use toolmux_http::network_zone::is_this_machine;
use url::Url;

use crate::callback;
use crate::clients::Clients;
use crate::endpoint::{EndpointError, post_json};
use crate::resolved_provider::{Client, ClientAuth, Endpoints};
use crate::sealed_records::SealedRecords;

/// Where the document about us is, below our own address.
pub(crate) const DOCUMENT: &str = "/auth/client.json";

/// What a provider gave us.
#[derive(Serialize, Deserialize)]
struct Registered {
    client_id: String,
    client_secret: Option<String>,
    /// Seconds since 1970; 0 for never.
    #[serde(default)]
    client_secret_expires_at: u64,
    token_endpoint_auth_method: Option<String>,
}

/// Who we are to a provider, and how we prove it.
pub(crate) struct Known {
    pub(crate) client: Client,
    pub(crate) client_auth: ClientAuth,
    /// The last part of the redirect URI that the provider knows.
    pub(crate) callback: String,
}

/// Where what an issuer gave us is kept. Each issuer knows us by a name of its own.
pub(crate) fn place(issuer: &str, redirect_uri: &str) -> SealedKey {
    SealedKey { kind: "client".to_owned(), name: json!([issuer, redirect_uri]).to_string() }
}

/// Who we are there. A document is the same for every provider that reads it, so that nothing but the name in its
/// answers tells them apart: it is shown only to those that always name themselves.
pub(crate) async fn client(
    kept: &SealedRecords,
    clients: &Clients,
    endpoints: &Endpoints,
    base: &str,
) -> Result<Known, EndpointError> {
    if endpoints.offers.documents && endpoints.says_issuer && base.starts_with("https://") {
        let client = Client { id: format!("{base}{DOCUMENT}"), secret: None };
        let callback = callback::OF_DOCUMENT.to_owned();
        return Ok(Known { client, client_auth: ClientAuth::Basic, callback });
    }
    let issuer = endpoints.issuer.as_deref().unwrap_or_default();
    let callback = callback::of_issuer(issuer);
    let redirect_uri = callback::address(base, &callback);
    let place = place(issuer, &redirect_uri);
    let unkept =
        |error: toolmux_core::ports::store::StoreError| EndpointError::Unusable(error.message.public);
    let known: Option<Registered> = kept.find(&place).await.map_err(unkept)?;
    if let Some(known) = known.filter(Registered::is_good) {
        return Ok(known.client(callback));
    }
    let Some(register) = &endpoints.offers.register else {
        let what = "it supports neither dynamic client registration nor, for client metadata documents, its issuer \
                    in responses (RFC 9207): register toolmux by hand, write the client id and secret into \
                    `[auth.providers.NAME]`, and name that as `authorization.provider` of the source";
        return Err(EndpointError::Unusable(what.to_owned()));
    };
    let method = method(&endpoints.offers.auth_methods);
    let http = clients.of(endpoints.reach);
    let mut given: Registered = post_json(http, register, &document(base, &callback, method)).await?;
    given.token_endpoint_auth_method.get_or_insert_with(|| method.to_owned());
    kept.put(&place, &given, None).await.map_err(unkept)?;
    Ok(given.client(callback))
}

impl Registered {
    fn is_good(&self) -> bool {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        self.client_secret_expires_at == 0 || now < self.client_secret_expires_at
    }

    fn client(self, callback: String) -> Known {
        let (client_auth, secret) = match self.token_endpoint_auth_method.as_deref() {
            Some("none") => (ClientAuth::Basic, None),
            Some("client_secret_post") => (ClientAuth::Post, self.client_secret),
            _ => (ClientAuth::Basic, self.client_secret),
        };
        let client = Client { id: self.client_id, secret: secret.map(Secret::new) };
        Known { client, client_auth, callback }
    }
}

/// The best way to prove who we are that the provider knows.
fn method(known: &[String]) -> &'static str {
    let ways = ["client_secret_basic", "client_secret_post", "none"];
    ways.into_iter().find(|way| known.iter().any(|known| known == way)).unwrap_or("client_secret_basic")
}

/// What a provider is told of us.
fn document(base: &str, callback: &str, method: &str) -> Value {
    let local = base.parse().is_ok_and(|base: Url| is_this_machine(&base));
    json!({
        "client_name": "toolmux",
        "redirect_uris": [callback::address(base, callback)],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": method,
        "application_type": if local { "native" } else { "web" },
    })
}

/// The document about us at our own address.
pub(crate) fn about_us(base: &str) -> Value {
    let mut document = document(base, callback::OF_DOCUMENT, "none");
    document["client_id"] = json!(format!("{base}{DOCUMENT}"));
    document
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(known: &[&str], expect: &str) {
        let known: Vec<String> = known.iter().map(ToString::to_string).collect();
        assert_eq!(method(&known), expect);
    }

    #[test]
    fn the_best_known_way_is_taken() {
        check(&[], "client_secret_basic");
        check(&["none", "client_secret_post"], "client_secret_post");
        check(&["none"], "none");
        check(&["private_key_jwt"], "client_secret_basic");
    }

    #[test]
    fn a_secret_that_is_not_to_be_shown_is_not() {
        let given = |way: &str| Registered {
            client_id: "c".into(),
            client_secret: Some("s".into()),
            client_secret_expires_at: 0,
            token_endpoint_auth_method: Some(way.into()),
        };
        assert!(given("none").client(String::new()).client.secret.is_none());
        assert_eq!(given("client_secret_post").client(String::new()).client_auth, ClientAuth::Post);
        assert!(given("client_secret_basic").is_good());
        assert!(!Registered { client_secret_expires_at: 1, ..given("none") }.is_good());
    }
}
