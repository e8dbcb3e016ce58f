//! Where the document of a source comes from: a file, an address, or the server itself.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use http::{HeaderMap, Method};
use toolmux_core::message::Message;
use toolmux_core::ports::source::SourceError;
use toolmux_http::client::{HttpClient, HttpLimits};
use url::Url;

use super::client::{RpcCall, RpcServer, failure};
use super::document::{OpenRpcDocument, read};
use super::settings::{DocumentPlace, RpcSettings};

/// The largest document.
const MOST_BYTES: usize = 16 << 20;
/// The method by which servers describe themselves.
const DISCOVER: &str = "rpc.discover";

/// The document, read as far as it can be used.
pub(super) async fn load(settings: &RpcSettings) -> Result<OpenRpcDocument, SourceError> {
    let text = match &settings.document {
        DocumentPlace::File(file) => from_file(file.clone()).await?,
        DocumentPlace::Address(url) => fetched(settings, url).await?,
        DocumentPlace::Discovered(url) => discovered(settings, url).await?,
    };
    let reading = tokio::task::spawn_blocking(move || read(&text));
    let (document, faults) = reading.await.map_err(|error| not_listed(error.to_string()))?;
    document.ok_or_else(|| {
        let first = faults.first().map(|fault| format!(": {fault}")).unwrap_or_default();
        not_listed(format!("The OpenRPC document cannot be used{first}"))
    })
}

/// When a file was written last.
pub(super) fn modified(file: &Path) -> Option<SystemTime> {
    std::fs::metadata(file).and_then(|data| data.modified()).ok()
}

async fn from_file(file: PathBuf) -> Result<String, SourceError> {
    let reading = tokio::task::spawn_blocking(move || read_file(&file));
    reading.await.map_err(|error| not_listed(error.to_string()))?.map_err(not_listed)
}

/// A file within the bound.
pub(super) fn read_file(file: &Path) -> Result<String, String> {
    let cannot = |error: std::io::Error| format!("The file of `document` cannot be read: {error}");
    let length = std::fs::metadata(file).map_err(cannot)?.len();
    if length > MOST_BYTES as u64 {
        return Err(format!("The file of `document` has {length} bytes, more than {MOST_BYTES}"));
    }
    std::fs::read_to_string(file).map_err(cannot)
}

async fn fetched(settings: &RpcSettings, url: &Url) -> Result<String, SourceError> {
    // What is for the server is for no other host.
    let is_near = settings.url.as_ref().is_none_or(|server| server.origin() == url.origin());
    let headers = if is_near { settings.headers.clone() } else { HeaderMap::new() };
    let client = HttpClient::new(limits()).with_tls(settings.tls.clone().filter(|_| is_near));
    let answer = client.send(Method::GET, url, headers, Vec::new()).await?;
    let (status, host) = (answer.status(), answer.host().to_owned());
    if !status.is_success() {
        return Err(not_listed(format!("`{host}` answered {status} when it was asked for the document")));
    }
    let not_text = |_| not_listed(format!("The document of `{host}` is not UTF-8"));
    String::from_utf8(answer.body().await?.into()).map_err(not_text)
}

async fn discovered(settings: &RpcSettings, url: &Url) -> Result<String, SourceError> {
    let client = HttpClient::new(limits()).with_tls(settings.tls.clone());
    let server = RpcServer::new(client, url, settings.headers.clone())?;
    let call =
        RpcCall { method: DISCOVER, params: "[]", id: Some(server.next_id()), headers: HeaderMap::new() };
    let remedy = "`document` can name a file or an address that describes it";
    match server.call(call).await {
        Ok(Ok(document)) => Ok(document.get().to_owned()),
        Ok(Err(error)) => {
            let words = match failure(&error, DISCOVER) {
                Ok(error) => error.message.public,
                Err(error) => error.message().public,
            };
            Err(not_listed(format!("The server does not answer `{DISCOVER}` ({words}); {remedy}")))
        }
        Err(SourceError::NotReached(message)) => Err(SourceError::NotReached(message)),
        Err(other) => {
            let words = other.message().public;
            Err(not_listed(format!("The server does not answer `{DISCOVER}` ({words}); {remedy}")))
        }
    }
}

fn limits() -> HttpLimits {
    HttpLimits { body_bytes: MOST_BYTES, ..HttpLimits::default() }
}

pub(super) fn not_listed(words: String) -> SourceError {
    SourceError::NotReached(Message::public(words))
}
