//! An OpenTool server as a source: its description by its own word or by a document, its values, errors and
//! streams passed on as they come.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use http::HeaderValue;
use schemars::JsonSchema;
use serde::Deserialize;
use toolmux_core::BoxFuture;
use toolmux_core::call::Call;
use toolmux_core::message::Message;
use toolmux_core::outcome::{Outcome, Output};
use toolmux_core::ports::figures::SourceFigures;
use toolmux_core::ports::source::{Listing, Source, SourceError};
use toolmux_core::progress::Progress;
use toolmux_core::refusal::Refusal;
use toolmux_http::client::credential_headers;

use super::client::{Client, Loaded};
use super::client_wire::RawCall;
use super::document::{OpenTool, read_leniently};
use super::exception::ClientError;
use super::relay;
use crate::registry::{AddressHook, AddressTables, Detection, OpenError, Opening, SecretSetting, SourceKind};
use crate::tls::TlsSetting;

/// How often a document or a server that has a tag is looked at for changes.
const CHECK_EVERY: Duration = Duration::from_secs(5);

pub(crate) const SOURCE: SourceKind = SourceKind {
    kind: "opentool",
    settings: || schemars::schema_for!(OpenToolSettings),
    open,
    asks_for_tokens: |_| false,
    detection: Detection {
        address: Some(AddressHook {
            what: "an OpenTool server",
            tables: |url| AddressTables::of_base(url, "/opentool"),
        }),
        ..Detection::NONE
    },
};

/// An OpenTool server.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OpenToolSettings {
    /// The base URL of the server; `/opentool` is appended. Not needed if the document has a `server.url`.
    #[serde(default)]
    url: Option<String>,
    /// The key for the server.
    #[serde(default)]
    key: Option<SecretSetting>,
    /// An OpenTool document that overrides the server's own description.
    #[serde(default)]
    document: Option<PathBuf>,
    /// TLS for an https `url`: `{ ca = "ca.pem" }` for a private authority, `{ cert = "client.pem", key = {
    /// file = "client.key" } }` for a client certificate. Read again when a file changes.
    #[serde(default)]
    tls: Option<TlsSetting>,
}

struct OpenToolServer {
    client: Client,
    document: Option<PathBuf>,
    listed: Mutex<Option<Listed>>,
    calls: AtomicU64,
    /// The server turned out to have no `/streamCall`.
    never_streams: AtomicBool,
}

/// What was listed last, and by what it would be known to have changed.
struct Listed {
    listing: Listing,
    tag: Option<HeaderValue>,
    modified: Option<SystemTime>,
}

fn open(opening: &Opening<'_>) -> Result<Arc<dyn Source>, OpenError> {
    let settings: OpenToolSettings = opening.settings()?;
    let document = settings.document.map(|document| opening.folder.join(document));
    let described = document.as_deref().map(read_document).transpose()?;
    let server = described.and_then(|(document, _)| document.server).map(|server| server.url);
    let url = settings.url.or(server).ok_or_else(|| {
        OpenError::new("there is no address of the server")
            .hint("give `url = \"http://host:port\"`, or a document that has a `server.url`")
    })?;
    // What the client says of an address quotes it.
    let unusable = |_: ClientError| OpenError::new("its address or its key cannot be used");
    let mut client = Client::new(&url).map_err(unusable)?;
    client = client.tls(opening.tls(settings.tls.as_ref())?);
    if let Some(key) = opening.secret(settings.key.as_ref())? {
        client = client.key(&key).map_err(unusable)?;
    }
    Ok(Arc::new(OpenToolServer {
        client,
        document,
        listed: Mutex::default(),
        calls: AtomicU64::new(1),
        never_streams: AtomicBool::new(false),
    }))
}

type Described = (OpenTool, Vec<(String, String)>);

fn read_document(file: &std::path::Path) -> Result<Described, OpenError> {
    let name = file.display();
    let text = std::fs::read_to_string(file)
        .map_err(|error| OpenError::new(format!("the file of `document` cannot be read: {error}")))?;
    read_leniently(&text)
        .map_err(|error| OpenError::new(format!("`{name}`: {error}")).hint(format!("toolmux check {name}")))
}

fn listing((document, unusable): Described) -> Listing {
    Listing { tools: document.tools(), unusable }
}

impl Source for OpenToolServer {
    fn figures(&self) -> SourceFigures {
        SourceFigures::of_connections(self.client.connections())
    }

    fn tools(&self) -> BoxFuture<'_, Result<Listing, SourceError>> {
        Box::pin(async move {
            match &self.document {
                Some(file) => self.list_document(file.clone()).await,
                None => self.list_server().await,
            }
        })
    }

    fn call<'a>(
        &'a self,
        call: &'a Call,
        progress: &'a Progress,
    ) -> BoxFuture<'a, Result<Outcome, SourceError>> {
        Box::pin(self.run(call, progress))
    }

    /// OpenTool servers do not tell of changes. Files and tags can be looked at cheaply; for the rest the
    /// gateway lists anew from time to time.
    fn changed(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            loop {
                tokio::time::sleep(CHECK_EVERY).await;
                if self.differs().await {
                    return;
                }
            }
        })
    }
}

impl OpenToolServer {
    async fn list_document(&self, file: PathBuf) -> Result<Listing, SourceError> {
        let read = tokio::task::spawn_blocking(move || {
            let modified = modified(&file);
            read_document(&file).map(|described| (described, modified))
        });
        let not_read = |public: String| SourceError::NotReached(Message::public(public));
        let read = read.await.map_err(|error| not_read(error.to_string()))?;
        let (described, modified) = read.map_err(|error| not_read(error.to_string()))?;
        Ok(self.keep(listing(described), None, modified))
    }

    async fn list_server(&self) -> Result<Listing, SourceError> {
        let loaded = self.client.load_since(self.tag()).await.map_err(relay::not_listed)?;
        match loaded {
            Loaded::Same => Ok(self.known().unwrap_or_default()),
            Loaded::Text(text, tag) => {
                let described = read_leniently(&text)
                    .map_err(|error| SourceError::NotReached(Message::public(error.to_string())))?;
                Ok(self.keep(listing(described), tag, None))
            }
            Loaded::Nothing => Err(SourceError::NotReached(Message::public(
                "The server describes no tools; `document` can point at an OpenTool document that does",
            ))),
        }
    }

    fn keep(&self, listing: Listing, tag: Option<HeaderValue>, modified: Option<SystemTime>) -> Listing {
        let kept = Listed { listing: listing.clone(), tag, modified };
        *self.listed.lock().unwrap_or_else(PoisonError::into_inner) = Some(kept);
        listing
    }

    fn known(&self) -> Option<Listing> {
        let listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
        listed.as_ref().map(|listed| listed.listing.clone())
    }

    fn tag(&self) -> Option<HeaderValue> {
        self.listed.lock().unwrap_or_else(PoisonError::into_inner).as_ref()?.tag.clone()
    }

    async fn differs(&self) -> bool {
        if let Some(file) = &self.document {
            let now = modified(file);
            let listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
            return listed.as_ref().is_some_and(|listed| listed.modified != now);
        }
        match self.tag() {
            Some(tag) => matches!(self.client.load_since(Some(tag)).await, Ok(Loaded::Text(..))),
            None => false,
        }
    }

    /// Dropping the future closes the connection.
    async fn run(&self, call: &Call, progress: &Progress) -> Result<Outcome, SourceError> {
        let streams = relay::streams(call);
        if (streams || progress.is_heard()) && !self.never_streams.load(Ordering::Relaxed) {
            match self.client.stream_raw(raw_call(call, &self.next_id())?).await {
                Ok(events) => return relay::follow(events, call, progress).await,
                // Most public servers have no such address, which means that nothing ran.
                Err(ClientError::NoAccess { cause: None }) => {
                    self.never_streams.store(true, Ordering::Relaxed);
                }
                Err(error) => return relay::failed(error, call),
            }
        }
        match self.client.call_raw(raw_call(call, &self.next_id())?).await {
            Ok(value) => Ok(Outcome::Returned(Output::value(value))),
            Err(error) => relay::failed(error, call),
        }
    }

    fn next_id(&self) -> String {
        self.calls.fetch_add(1, Ordering::Relaxed).to_string()
    }
}

/// The call as it goes to the server, with the credentials that are delivered in headers.
fn raw_call<'a>(call: &'a Call, id: &'a str) -> Result<RawCall<'a>, SourceError> {
    let headers = credential_headers(call)?;
    Ok(RawCall { id, method: call.tool_name(), params: call.arguments().text(), headers })
}

fn modified(file: &std::path::Path) -> Option<SystemTime> {
    std::fs::metadata(file).and_then(|data| data.modified()).ok()
}

/// What a server that cannot be used as one costs its callers.
pub(super) fn unavailable(public: impl Into<String>) -> SourceError {
    SourceError::Refused(Refusal::Unavailable { message: Message::public(public), retry_after: None })
}
