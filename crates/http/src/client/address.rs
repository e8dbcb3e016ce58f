//! What an address says besides where to go, and headers that carry secrets.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderName, HeaderValue};
use percent_encoding::percent_decode_str;
use toolmux_core::call::Call;
use toolmux_core::message::Message;
use toolmux_core::ports::source::SourceError;
use toolmux_core::refusal::Refusal;
use url::Url;

/// An address that can be asked.
pub fn web_address(text: &str) -> Option<Url> {
    let url: Url = text.parse().ok()?;
    (!url.cannot_be_a_base() && matches!(url.scheme(), "http" | "https")).then_some(url)
}

/// The address of a server, below which its paths are.
pub fn base_of(text: &str) -> Option<Url> {
    let mut url = web_address(text)?;
    if !url.path().ends_with('/') {
        let path = format!("{}/", url.path());
        url.set_path(&path);
    }
    Some(url)
}

/// A header that shows a secret; none when a header cannot carry it.
pub fn sensitive(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// The credentials of a call that go to its source in headers.
pub fn credential_headers(call: &Call) -> Result<HeaderMap, SourceError> {
    let mut headers = HeaderMap::new();
    for (name, secret) in call.headers() {
        let pair = HeaderName::try_from(name).ok().zip(sensitive(secret.expose()));
        let Some((header, value)) = pair else {
            let words = format!("The value for header `{name}` has characters that a header cannot carry");
            return Err(SourceError::Refused(Refusal::Internal(Message::public(words))));
        };
        headers.insert(header, value);
    }
    Ok(headers)
}

/// The user and password that an address may hold, as the header that they are meant for.
pub(super) fn basic_authorization(url: &Url) -> Option<HeaderValue> {
    let password = url.password().unwrap_or_default();
    if url.username().is_empty() && password.is_empty() {
        return None;
    }
    let plain = |text: &str| percent_decode_str(text).collect::<Vec<u8>>();
    let pair = [plain(url.username()), plain(password)].join(&b':');
    sensitive(&format!("Basic {}", STANDARD.encode(pair)))
}

pub(super) fn without_user(url: &Url) -> Url {
    let mut url = url.clone();
    // Neither fails for an address that had them.
    url.set_username("").ok();
    url.set_password(None).ok();
    url
}

/// Host and port, without the user and password that an address may hold.
pub(super) fn host_of(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}
