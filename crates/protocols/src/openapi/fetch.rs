//! The text of a document: from a file, or from an address, which is asked again only whether it has changed.

use std::path::Path;
use std::time::{Duration, SystemTime};

use http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolmux_core::json_text::{RawJson, raw_of, to_raw};
use toolmux_core::message::Message;
use toolmux_core::ports::source::SourceError;
use toolmux_core::tool::Passthrough;
use toolmux_http::client::{HttpClient, HttpLimits};
use url::Url;

use super::PROTOCOL;
use super::settings::ReadySettings;
use crate::documents::MOST_BYTES;

/// How long fetching a document may take.
const FETCH_TIMEOUT: Duration = Duration::from_secs(25);

/// By what a server knows whether a document has changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct DocumentTag {
    etag: Option<String>,
    modified: Option<String>,
}

impl DocumentTag {
    /// True when the server can be asked whether it has changed without sending it again.
    pub(super) fn can_be_asked_for(&self) -> bool {
        self.etag.is_some() || self.modified.is_some()
    }
}

/// What came of asking for a document.
pub(super) enum Fetched {
    Same,
    Text(String, DocumentTag),
}

/// The document of an address, as it is kept for the next start.
#[derive(Clone, Debug)]
pub(super) struct KeptDocument {
    pub(super) tag: DocumentTag,
    /// Document and tag.
    pub(super) offered: Passthrough,
}

#[derive(Serialize, Deserialize)]
struct KeptParts {
    tag: DocumentTag,
    document: RawJson,
}

impl KeptDocument {
    pub(super) fn new(tag: DocumentTag, document: &Value) -> Option<Self> {
        let parts = KeptParts { tag: tag.clone(), document: raw_of(document) };
        Some(KeptDocument { tag, offered: Passthrough::of(PROTOCOL, to_raw(&parts).ok()?) })
    }

    /// What a source offered in an earlier run.
    pub(super) fn recalled(offered: &Passthrough) -> Option<Self> {
        let parts: KeptParts = serde_json::from_str(offered.of_protocol(PROTOCOL)?.get()).ok()?;
        Some(KeptDocument { tag: parts.tag, offered: offered.clone() })
    }

    /// The document as text.
    pub(super) fn text(&self) -> String {
        let parts = self
            .offered
            .of_protocol(PROTOCOL)
            .and_then(|text| serde_json::from_str::<KeptParts>(text.get()).ok());
        parts.map(|parts| String::from(Box::<str>::from(parts.document))).unwrap_or_default()
    }
}

pub(super) struct DocumentFetcher {
    client: HttpClient,
    url: Url,
    headers: HeaderMap,
}

impl DocumentFetcher {
    /// The configuration names the address, so that it may be anywhere.
    pub(super) fn new(url: Url, settings: &ReadySettings) -> Self {
        let limits = HttpLimits { timeout: FETCH_TIMEOUT, body_bytes: MOST_BYTES, ..HttpLimits::default() };
        let client = HttpClient::new(limits).with_tls(settings.document_tls.clone());
        DocumentFetcher { client, url, headers: settings.document_headers.clone() }
    }

    /// The document, unless it is still the one that is known.
    pub(super) async fn fetch(&self, known: Option<&DocumentTag>) -> Result<Fetched, SourceError> {
        let mut headers = self.headers.clone();
        let asked = [
            (header::IF_NONE_MATCH, known.and_then(|known| known.etag.as_deref())),
            (header::IF_MODIFIED_SINCE, known.and_then(|known| known.modified.as_deref())),
        ];
        for (name, said) in asked {
            if let Some(value) = said.and_then(|said| HeaderValue::from_str(said).ok()) {
                headers.insert(name, value);
            }
        }
        let answer = self.client.send(Method::GET, &self.url, headers, "").await?;
        match answer.status() {
            StatusCode::NOT_MODIFIED if known.is_some() => return Ok(Fetched::Same),
            status if status.is_success() => {}
            status => return Err(not_fetched(status, answer.headers())),
        }
        let said = |name| answer.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let tag = DocumentTag { etag: said(header::ETAG), modified: said(header::LAST_MODIFIED) };
        let body = answer.body().await?;
        let text = String::from_utf8(body.into()).map_err(|_| failed("The document is not UTF-8 text"))?;
        Ok(Fetched::Text(text, tag))
    }
}

fn not_fetched(status: StatusCode, headers: &HeaderMap) -> SourceError {
    let remedy = match (status.as_u16(), headers.get(header::LOCATION).and_then(|value| value.to_str().ok()))
    {
        (300..=399, Some(location)) => {
            let location: String = location.chars().filter(|c| !c.is_control()).take(200).collect();
            format!("; it is at `{location}` now: give that address")
        }
        (401 | 403, _) => {
            "; `headers` are sent for it when `url` is on the same host or not given".to_owned()
        }
        _ => String::new(),
    };
    failed(format!("The document cannot be fetched: its server answers {status}{remedy}"))
}

pub(super) fn failed(words: impl Into<String>) -> SourceError {
    SourceError::NotReached(Message::public(words))
}

/// The text of a file.
pub(super) fn read_file(file: &Path) -> Result<String, String> {
    let name = file.display();
    let length = std::fs::metadata(file).map(|about| about.len()).unwrap_or_default();
    if length > MOST_BYTES as u64 {
        return Err(format!("the document `{name}` is larger than {MOST_BYTES} bytes"));
    }
    std::fs::read_to_string(file).map_err(|error| format!("the document `{name}` cannot be read: {error}"))
}

pub(super) fn modified(file: &Path) -> Option<SystemTime> {
    std::fs::metadata(file).and_then(|data| data.modified()).ok()
}
