//! An API as a source: its document is read when it is listed, and never by a call.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use serde_json::Value;
use tokio::sync::Notify;
use toolmux_core::BoxFuture;
use toolmux_core::call::Call;
use toolmux_core::message::Message;
use toolmux_core::outcome::Outcome;
use toolmux_core::ports::figures::SourceFigures;
use toolmux_core::ports::source::{FailureScope, Listing, Source, SourceError};
use toolmux_core::progress::Progress;
use toolmux_core::tool::Passthrough;
use toolmux_http::client::HttpLimits;

use super::corrections::correct;
use super::detect::ADDRESS;
use super::document::ApiDocument;
use super::fetch::{DocumentFetcher, DocumentTag, Fetched, KeptDocument, failed, modified, read_file};
use super::reading::read_api;
use super::settings::{ApiDocumentPlace, OpenApiSettings, ReadySettings};
use crate::documents::fault::Fault;
use crate::documents::read_document;
use crate::http_request::OperationSet;
use crate::registry::{Detection, OpenError, Opening, SourceKind};

/// How often the files of a document and its corrections are looked at for changes.
const CHECK_EVERY: Duration = Duration::from_secs(5);

pub(crate) const SOURCE: SourceKind = SourceKind {
    kind: "openapi",
    settings: || schemars::schema_for!(OpenApiSettings),
    open,
    asks_for_tokens: |_| false,
    detection: Detection { address: Some(ADDRESS), ..Detection::NONE },
};

struct OpenApi {
    settings: Arc<ReadySettings>,
    fetcher: Option<DocumentFetcher>,
    operations: OperationSet,
    listed: Mutex<Listed>,
    /// The document of an earlier run has come.
    recalled: Notify,
}

/// What was listed last, and by what it would be known to have changed.
#[derive(Default)]
struct Listed {
    listing: Option<Listing>,
    /// The document of an address, fetched or of an earlier run.
    kept: Option<Arc<KeptDocument>>,
    /// Its address was asked for it in this run.
    asked: bool,
    /// Of the files.
    modified: [Option<SystemTime>; 2],
}

fn open(opening: &Opening<'_>) -> Result<Arc<dyn Source>, OpenError> {
    let settings = opening.settings::<OpenApiSettings>()?.ready(opening)?;
    let fetcher = match &settings.place {
        ApiDocumentPlace::Address(url) => Some(DocumentFetcher::new(url.clone(), &settings)),
        ApiDocumentPlace::File(file) => {
            // A configuration that names what is not there is told so at once.
            std::fs::metadata(file)
                .map_err(|error| OpenError::new(format!("the file of `document` cannot be read: {error}")))?;
            None
        }
    };
    let limits = HttpLimits { body_bytes: settings.max_answer, ..HttpLimits::default() };
    let operations = OperationSet::new(limits, settings.rules.files.clone(), settings.tls.as_ref());
    let settings = Arc::new(settings);
    Ok(Arc::new(OpenApi { settings, fetcher, operations, listed: Mutex::default(), recalled: Notify::new() }))
}

impl Source for OpenApi {
    fn figures(&self) -> SourceFigures {
        SourceFigures::of_connections(self.operations.connections())
    }

    fn tools(&self) -> BoxFuture<'_, Result<Listing, SourceError>> {
        Box::pin(async move {
            match &self.fetcher {
                Some(fetcher) => self.list_address(fetcher).await,
                None => self.list_file().await,
            }
        })
    }

    fn call<'a>(&'a self, call: &'a Call, _: &'a Progress) -> BoxFuture<'a, Result<Outcome, SourceError>> {
        Box::pin(self.operations.call(call))
    }

    /// The document of an address, so that the next start needs no network for it.
    fn offered(&self) -> Passthrough {
        let kept = self.listed().kept.clone();
        kept.map(|kept| kept.offered.clone()).unwrap_or_default()
    }

    fn recall(&self, offered: &Passthrough) {
        let Some(kept) = KeptDocument::recalled(offered) else { return };
        let mut listed = self.listed();
        if listed.kept.is_none() {
            listed.kept = Some(Arc::new(kept));
            self.recalled.notify_one();
        }
    }

    fn changed(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            loop {
                tokio::time::sleep(CHECK_EVERY).await;
                let now = self.modified();
                let listed = self.listed();
                let unasked = self.fetcher.is_some() && !listed.asked;
                if listed.listing.is_some() && (unasked || listed.modified != now) {
                    return;
                }
            }
        })
    }

    /// Operations of one API may be served by many programs: one that fails says nothing of the others.
    fn failure_scope(&self) -> FailureScope {
        FailureScope::Tool
    }
}

impl OpenApi {
    fn listed(&self) -> MutexGuard<'_, Listed> {
        self.listed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// When the files of the document and of its corrections were changed.
    fn modified(&self) -> [Option<SystemTime>; 2] {
        let document = match &self.settings.place {
            ApiDocumentPlace::File(file) => modified(file),
            ApiDocumentPlace::Address(_) => None,
        };
        [document, self.settings.patch.as_deref().and_then(modified)]
    }

    async fn list_file(&self) -> Result<Listing, SourceError> {
        let ApiDocumentPlace::File(file) = &self.settings.place else { return Ok(Listing::default()) };
        let now = self.modified();
        match self.unchanged(now) {
            Some(listing) => Ok(listing),
            None => self.read(now, Text::File(file.clone())).await,
        }
    }

    async fn list_address(&self, fetcher: &DocumentFetcher) -> Result<Listing, SourceError> {
        let now = self.modified();
        let unchanged = self.unchanged(now);
        let kept = self.listed().kept.clone();
        let text = match (kept, &unchanged) {
            // The document of an earlier run is enough to begin with.
            (Some(kept), None) => Text::Kept(kept),
            (Some(kept), Some(listing)) if !kept.tag.can_be_asked_for() => return Ok(listing.clone()),
            (Some(kept), Some(_)) => self.fetch_again(fetcher, kept).await,
            (None, _) => self.fetch_first(fetcher).await?,
        };
        match (text, unchanged) {
            (Text::Kept(_), Some(listing)) => Ok(listing),
            (text, _) => self.read(now, text).await,
        }
    }

    /// The document, from its address or from an earlier run, whichever comes first.
    async fn fetch_first(&self, fetcher: &DocumentFetcher) -> Result<Text, SourceError> {
        let fetched = tokio::select! {
            fetched = fetcher.fetch(None) => fetched?,
            () = self.recalled.notified() => Fetched::Same,
        };
        match fetched {
            Fetched::Text(text, tag) => {
                self.listed().asked = true;
                Ok(Text::Fetched(text, tag))
            }
            Fetched::Same => {
                self.listed().kept.clone().map(Text::Kept).ok_or_else(|| failed("The document did not come"))
            }
        }
    }

    /// The document as it is now, or as it is known: the API may be there although its document is not.
    async fn fetch_again(&self, fetcher: &DocumentFetcher, kept: Arc<KeptDocument>) -> Text {
        self.listed().asked = true;
        match fetcher.fetch(Some(&kept.tag)).await {
            Ok(Fetched::Text(text, tag)) => Text::Fetched(text, tag),
            Ok(Fetched::Same) => Text::Kept(kept),
            Err(error) => {
                let Message { public, developer } = error.message();
                tracing::debug!(developer, "the document is used as it was: {public}");
                Text::Kept(kept)
            }
        }
    }

    /// The list, when neither file has changed since.
    fn unchanged(&self, now: [Option<SystemTime>; 2]) -> Option<Listing> {
        let listed = self.listed();
        listed.listing.clone().filter(|_| listed.modified == now)
    }

    /// Reads a document off the threads that answer, and takes its operations.
    async fn read(&self, now: [Option<SystemTime>; 2], text: Text) -> Result<Listing, SourceError> {
        let settings = Arc::clone(&self.settings);
        let reading = tokio::task::spawn_blocking(move || {
            let (document, kept) = text.read(&settings)?;
            let reading = read_api(&document, &settings.rules);
            for warning in reading.warnings() {
                tracing::warn!("{warning}");
            }
            Ok::<_, String>((reading.listing(), kept))
        });
        let read = reading.await.map_err(|error| failed(error.to_string()))?;
        let ((mut listing, requests), kept) = read.map_err(failed)?;
        let unusable = self.operations.replace(requests);
        if !unusable.is_empty() {
            listing.tools.retain(|tool| !unusable.iter().any(|(name, _)| *name == tool.name));
            listing.unusable.extend(unusable.into_iter().map(|(name, why)| (name.to_string(), why)));
        }
        let mut listed = self.listed();
        (listed.listing, listed.modified) = (Some(listing.clone()), now);
        listed.kept = kept.or(listed.kept.take());
        Ok(listing)
    }
}

/// Where the text of a document comes from.
enum Text {
    File(PathBuf),
    Fetched(String, DocumentTag),
    Kept(Arc<KeptDocument>),
}

impl Text {
    /// The document with the corrections of the configuration, and what is kept of it.
    fn read(self, settings: &ReadySettings) -> Result<(ApiDocument, Option<Arc<KeptDocument>>), String> {
        let unusable = |fault: Fault| format!("the document cannot be used: {fault}");
        let (text, tag, kept) = match self {
            Text::File(file) => (read_file(&file)?, None, None),
            Text::Fetched(text, tag) => (text, Some(tag), None),
            Text::Kept(kept) => (kept.text(), None, Some(kept)),
        };
        let root = read_document(&text).map_err(unusable)?;
        let fresh = tag.and_then(|tag| KeptDocument::new(tag, &root)).map(Arc::new);
        Ok((with_patch(root, settings)?, kept.or(fresh)))
    }
}

/// A document with the corrections of the configuration.
pub(super) fn with_patch(mut root: Value, settings: &ReadySettings) -> Result<ApiDocument, String> {
    if let Some(file) = &settings.patch {
        correct(&mut root, file)?;
    }
    ApiDocument::new(root).map_err(|fault| format!("the document cannot be used: {fault}"))
}
