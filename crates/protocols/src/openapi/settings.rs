//! What may stand in the table of an OpenAPI source.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use http::{HeaderMap, HeaderValue, header};
use schemars::JsonSchema;
use serde::Deserialize;
use toolmux_http::client::ClientTls;
use url::Url;

use super::operation_tool::{ApiHeaders, ReadingRules};
use super::servers::ServerRules;
use crate::http_request::{FileAccess, FileSettings, OutputCheck};
use crate::registry::{OpenError, Opening, SecretSetting};
use crate::tls::TlsSetting;

/// What requests accept: JSON where the server has a choice.
const ACCEPT: HeaderValue = HeaderValue::from_static("application/json, */*;q=0.8");

/// An HTTP API that an OpenAPI document describes: 2.0, 3.0 or 3.1, JSON or YAML.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct OpenApiSettings {
    /// The document: a file, relative to the configuration file, or an address.
    document: String,
    /// The base URL of the API. Default: the first server that the document names.
    #[serde(default)]
    url: Option<String>,
    /// A file with corrections of the document (JSON Patch, RFC 6902, as JSON or YAML), applied before it is read.
    #[serde(default)]
    patch: Option<PathBuf>,
    /// Patterns over ids and tags of operations, with `*` for any text. Default: every operation.
    #[serde(default)]
    include: Option<Vec<String>>,
    /// Checks answers against the document: `warn` (the default) notes in the result and in the log what does not fit,
    /// `strict` fails the call.
    #[serde(default)]
    output: OutputCheck,
    /// Allows a server that only the document names to be at a loopback or private address.
    #[serde(default)]
    allow_private: bool,
    /// Headers for every request to `url`, to the servers that a document in a file names, or to the origin of the document's
    /// own address; also for the document, if it is at the same host as `url` or if there is no `url`. The caller's own credentials are never among them.
    #[serde(default)]
    headers: BTreeMap<String, SecretSetting>,
    /// Lets calls send files of this machine by their path.
    #[serde(default)]
    files: Option<FileSettings>,
    /// Maximum size of an answer, in bytes, after decompression.
    #[serde(default = "most_answer")]
    max_answer: usize,
    /// TLS of requests to `url`, or to the origin of the document's own address: a private authority, a client certificate.
    #[serde(default)]
    tls: Option<TlsSetting>,
}

fn most_answer() -> usize {
    16 << 20
}

/// Where a document is.
#[derive(Clone, Debug)]
pub(super) enum ApiDocumentPlace {
    File(PathBuf),
    Address(Url),
}

impl ApiDocumentPlace {
    /// A word of a configuration or of a command line.
    fn of(text: &str, opening: &Opening<'_>) -> Result<Self, OpenError> {
        if !text.starts_with("http://") && !text.starts_with("https://") {
            return Ok(ApiDocumentPlace::File(opening.folder.join(text)));
        }
        let url =
            text.parse().map_err(|error| OpenError::new(format!("`document` is not an address: {error}")))?;
        Ok(ApiDocumentPlace::Address(url))
    }
}

/// The settings, made ready.
pub(super) struct ReadySettings {
    pub(super) place: ApiDocumentPlace,
    pub(super) patch: Option<PathBuf>,
    pub(super) rules: ReadingRules,
    /// Headers that fetching the document needs too, if it is on the host that `url` names or nothing else is named.
    pub(super) document_headers: HeaderMap,
    pub(super) max_answer: usize,
    /// For `url`, or for the origin of the document's address.
    pub(super) tls: Option<ClientTls>,
    /// The same for fetching the document.
    pub(super) document_tls: Option<ClientTls>,
}

impl OpenApiSettings {
    pub(super) fn ready(self, opening: &Opening<'_>) -> Result<ReadySettings, OpenError> {
        let place = ApiDocumentPlace::of(&self.document, opening)?;
        let url = self.url.as_deref().map(base_url).transpose()?;
        let headers = opening.headers(&self.headers)?;
        let address = match &place {
            ApiDocumentPlace::Address(address) => Some(address.clone()),
            ApiDocumentPlace::File(_) => None,
        };
        let is_near = |at: &Url| url.as_ref().is_none_or(|url| url.origin() == at.origin());
        let is_near = address.as_ref().is_some_and(is_near);
        let document_headers = if is_near { headers.clone() } else { HeaderMap::new() };
        let files = FileAccess::new(self.files.as_ref(), opening.folder)
            .map_err(|_| OpenError::new("`files.folders` has a folder that does not exist"))?;
        let tls = opening.tls(self.tls.as_ref())?;
        if tls.is_some() && url.is_none() && address.is_none() {
            return Err(OpenError::new("`tls` needs `url`, or a `document` at an address")
                .hint("a certificate is shown to no server that only a document names"));
        }
        let servers = ServerRules { url, document: address, allow_private: self.allow_private };
        Ok(ReadySettings {
            place,
            patch: self.patch.map(|patch| opening.folder.join(patch)),
            rules: ReadingRules {
                servers,
                include: self.include,
                headers: api_headers(headers),
                output: self.output,
                files,
            },
            document_headers,
            max_answer: self.max_answer,
            document_tls: tls.clone().filter(|_| is_near),
            tls,
        })
    }
}

fn api_headers(mut configured: HeaderMap) -> ApiHeaders {
    let are_configured = !configured.is_empty();
    configured.entry(header::ACCEPT).or_insert(ACCEPT);
    let plain = HeaderMap::from_iter([(header::ACCEPT, ACCEPT)]);
    ApiHeaders { configured: Arc::new(configured), plain: Arc::new(plain), are_configured }
}

fn base_url(text: &str) -> Result<Url, OpenError> {
    let bad = || OpenError::new("`url` is not an http or https address");
    let url: Url = text.parse().map_err(|_| bad())?;
    if matches!(url.scheme(), "http" | "https") && url.has_host() { Ok(url) } else { Err(bad()) }
}
