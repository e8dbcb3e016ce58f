//! What is said to a provider: codes and refresh tokens for tokens, tokens to be revoked.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderValue, Method, header};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use toolmux_core::message::Message;
use toolmux_http::client::{Answer, HttpClient, HttpError};
use url::Url;

use crate::clients::Clients;
use crate::resolved_provider::{ClientAuth, ResolvedProvider};

/// Why a provider gave no token.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EndpointError {
    #[error("the provider cannot be reached")]
    Http(#[from] HttpError),
    #[error("the provider says `{error}`{}", .description.as_ref().map(|text| format!(": {text}")).unwrap_or_default())]
    Refused { error: String, description: Option<String> },
    #[error("the provider cannot be used: {0}")]
    Unusable(String),
}

impl EndpointError {
    /// The provider does not know us, or not any more.
    pub(crate) fn is_stranger(&self) -> bool {
        matches!(self, EndpointError::Refused { error, .. } if error == "invalid_client")
    }

    /// What a caller or a user is told about it.
    pub(crate) fn message(&self, provider: &str) -> Message {
        Message::public(format!("The provider `{provider}` gave no token")).caused_by(self)
    }

    /// The grant is gone for good: only the user can give a new one.
    pub(crate) fn is_final(&self) -> bool {
        matches!(self, EndpointError::Refused { error, .. } if error == "invalid_grant")
    }
}

/// What a token endpoint gives.
#[derive(Deserialize)]
pub(crate) struct TokenResponse {
    pub(crate) access_token: String,
    pub(crate) refresh_token: Option<String>,
    pub(crate) expires_in: Option<u64>,
    pub(crate) scope: Option<String>,
    /// Whose account it is, where the provider says so.
    pub(crate) id_token: Option<String>,
}

#[derive(Deserialize)]
struct ErrorResponse {
    error: String,
    error_description: Option<String>,
}

/// Asks the token endpoint.
pub(crate) async fn token(
    clients: &Clients,
    resolved: &ResolvedProvider,
    form: &[(&str, &str)],
) -> Result<TokenResponse, EndpointError> {
    let resource = resolved.issued.as_ref().map(|issued| ("resource", issued.resource.as_str()));
    let form: Vec<_> = form.iter().copied().chain(resource).collect();
    let body = post(clients, resolved, &resolved.endpoints.token, &form).await?;
    read(&body)
}

/// Asks a provider to forget a token.
pub(crate) async fn revoke(
    clients: &Clients,
    resolved: &ResolvedProvider,
    token: &str,
) -> Result<(), EndpointError> {
    let url = resolved.endpoints.revoke.as_ref().ok_or_else(|| {
        let what = "it has no revocation endpoint, so the token stays valid until it expires";
        EndpointError::Unusable(what.to_owned())
    })?;
    post(clients, resolved, url, &[("token", token)]).await.map(drop)
}

/// Sends a document and reads another.
pub(crate) async fn post_json<T: DeserializeOwned>(
    http: &HttpClient,
    url: &Url,
    document: &serde_json::Value,
) -> Result<T, EndpointError> {
    let mut headers = accepting_json();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let body = answered(http.send(Method::POST, url, headers, document.to_string()).await?).await?;
    // The reason is not quoted: it could hold a secret.
    serde_json::from_slice(&body)
        .map_err(|_| EndpointError::Unusable(format!("the answer of `{url}` cannot be read")))
}

/// Fetches a document.
pub(crate) async fn get_json<T: DeserializeOwned>(http: &HttpClient, url: &str) -> Result<T, EndpointError> {
    let url: Url = url.parse().map_err(|_| EndpointError::Unusable(format!("`{url}` is not an address")))?;
    let answer = http.send(Method::GET, &url, accepting_json(), Vec::new()).await?;
    let status = answer.status();
    let body = answer.body().await?;
    serde_json::from_slice(&body)
        .map_err(|error| EndpointError::Unusable(format!("`{url}` answered {status}: {error}")))
}

async fn post(
    clients: &Clients,
    resolved: &ResolvedProvider,
    url: &Url,
    form: &[(&str, &str)],
) -> Result<Vec<u8>, EndpointError> {
    let mut form = form.to_vec();
    let mut headers = accepting_json();
    let id = resolved.client.id.as_str();
    match (&resolved.client.secret, resolved.endpoints.client_auth) {
        (Some(secret), ClientAuth::Basic) => {
            // RFC 6749: both halves are form-encoded before they are joined.
            let pair = format!("{}:{}", encoded(id), encoded(secret.expose()));
            let value = HeaderValue::from_str(&format!("Basic {}", STANDARD.encode(pair)));
            let mut value = value.map_err(|error| EndpointError::Unusable(error.to_string()))?;
            value.set_sensitive(true);
            headers.insert(header::AUTHORIZATION, value);
        }
        (Some(secret), ClientAuth::Post) => {
            form.extend([("client_id", id), ("client_secret", secret.expose())]);
        }
        (None, _) => form.push(("client_id", id)),
    }
    let kind = HeaderValue::from_static("application/x-www-form-urlencoded");
    headers.insert(header::CONTENT_TYPE, kind);
    let http = clients.of(resolved.endpoints.reach);
    answered(http.send(Method::POST, url, headers, written(&form)).await?).await
}

async fn answered(answer: Answer) -> Result<Vec<u8>, EndpointError> {
    let status = answer.status();
    let body = answer.body().await?;
    if status.is_success() {
        return Ok(body.to_vec());
    }
    Err(refused(&body).unwrap_or_else(|| EndpointError::Unusable(format!("it answered {status}"))))
}

/// A token, or an error: one large provider sends errors with status 200.
fn read(body: &[u8]) -> Result<TokenResponse, EndpointError> {
    serde_json::from_slice(body).map_err(|_| {
        // The reason is not quoted: it could hold a token.
        let unreadable = || EndpointError::Unusable("its answer contains no token".to_owned());
        refused(body).unwrap_or_else(unreadable)
    })
}

fn refused(body: &[u8]) -> Option<EndpointError> {
    let ErrorResponse { error, error_description } = serde_json::from_slice(body).ok()?;
    Some(EndpointError::Refused { error, description: error_description })
}

fn accepting_json() -> HeaderMap {
    HeaderMap::from_iter([(header::ACCEPT, HeaderValue::from_static("application/json"))])
}

fn written(form: &[(&str, &str)]) -> String {
    let url = Url::parse_with_params("form:", form).expect("a constant address is valid");
    url.query().unwrap_or_default().to_owned()
}

fn encoded(text: &str) -> String {
    written(&[("", text)]).trim_start_matches('=').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &str, expect: &str) {
        let read = read(body.as_bytes());
        assert_eq!(read.map_or_else(|error| error.to_string(), |token| token.access_token), expect);
    }

    #[test]
    fn answers_are_tokens_or_errors() {
        check(r#"{"access_token":"t","token_type":"bearer"}"#, "t");
        check(
            r#"{"error":"bad_code","error_description":"too late"}"#,
            "the provider says `bad_code`: too late",
        );
        check("<html>", "the provider cannot be used: its answer contains no token");
    }

    #[test]
    fn forms_are_encoded() {
        assert_eq!(written(&[("a b", "c&d=é"), ("e", "")]), "a+b=c%26d%3D%C3%A9&e=");
        assert_eq!(encoded("a:b c"), "a%3Ab+c");
    }
}
