//! What may stand in the table of an OpenRPC source.

use std::collections::BTreeMap;
use std::path::PathBuf;

use http::HeaderMap;
use schemars::JsonSchema;
use serde::Deserialize;
use toolmux_http::client::{ClientTls, web_address};
use toolmux_http::network_zone::Reach;
use url::Url;

use crate::http_request::OutputCheck;
use crate::registry::{OpenError, Opening, SecretSetting};
use crate::tls::TlsSetting;

/// A JSON-RPC 2.0 server with an OpenRPC document.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct OpenRpcSettings {
    /// The URL of the server. Not needed if the document has `servers`; without a `document` the server is asked for one
    /// by `rpc.discover`.
    #[serde(default)]
    url: Option<String>,
    /// An OpenRPC document: a file, relative to the configuration file, or an address.
    #[serde(default)]
    document: Option<String>,
    /// Headers for every request, also for the document if it is at the same host or if there is no `url`. The caller's own
    /// credentials are never among them.
    #[serde(default)]
    headers: BTreeMap<String, SecretSetting>,
    /// Checks results against the document: `warn` (the default) notes in the result and in the log what does not fit,
    /// `strict` fails the call.
    #[serde(default)]
    output: OutputCheck,
    /// Allows a server that only the document names to be at a loopback or private address.
    #[serde(default)]
    allow_private: bool,
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

/// The same, read.
#[derive(Debug)]
pub(super) struct RpcSettings {
    pub(super) url: Option<Url>,
    pub(super) document: DocumentPlace,
    pub(super) headers: HeaderMap,
    pub(super) output: OutputCheck,
    /// Where a server may be that only the document names.
    pub(super) reach: Reach,
    pub(super) max_answer: usize,
    /// For `url`, or for the origin of the document's address.
    pub(super) tls: Option<ClientTls>,
}

/// Where a document is.
#[derive(Clone, Debug)]
pub(super) enum DocumentPlace {
    File(PathBuf),
    Address(Url),
    /// The server at this address gives it.
    Discovered(Url),
}

impl OpenRpcSettings {
    pub(super) fn read(self, opening: &Opening<'_>) -> Result<RpcSettings, OpenError> {
        let address = |key: &str, text: &str| {
            web_address(text)
                .ok_or_else(|| OpenError::new(format!("`{key}` is not the address of an HTTP server")))
        };
        let url = self.url.as_deref().map(|url| address("url", url)).transpose()?;
        let document = match (&self.document, &url) {
            (Some(text), _) if text.starts_with("http://") || text.starts_with("https://") => {
                DocumentPlace::Address(address("document", text)?)
            }
            (Some(file), _) => DocumentPlace::File(opening.folder.join(file)),
            (None, Some(url)) => DocumentPlace::Discovered(url.clone()),
            (None, None) => {
                return Err(OpenError::new("an OpenRPC source needs a `url` or a `document`")
                    .hint("url = \"http://127.0.0.1:8545\", or document = \"openrpc.json\""));
            }
        };
        let tls = opening.tls(self.tls.as_ref())?;
        if tls.is_some() && matches!((&url, &document), (None, DocumentPlace::File(_))) {
            return Err(OpenError::new("`tls` needs `url`, or a `document` at an address")
                .hint("a certificate is shown to no server that only a document names"));
        }
        Ok(RpcSettings {
            url,
            document,
            headers: opening.headers(&self.headers)?,
            output: self.output,
            reach: if self.allow_private { Reach::Anywhere } else { Reach::Public },
            max_answer: self.max_answer,
            tls,
        })
    }
}
