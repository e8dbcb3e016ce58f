//! The one path of every call:
//! admit → resolve → permit → require → validate → record → dispatch.
//!
//! A rule about every call lives in this folder, never in a source or a protocol.

mod admit;
mod breaker;
mod dispatch;
mod gate;
mod permit;
mod record;
mod refresh;
mod relay;
mod require;
mod resolve;
mod settings;
mod validate;

use std::sync::{Arc, Mutex};

use arc_swap::ArcSwap;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use self::admit::{Admission, ApiKey, Credential, JwtRules};
pub use self::breaker::Breaker;
pub use self::gate::Gate;
pub use self::refresh::{SourceReport, SourceStatus};
pub use self::relay::Offer;
pub use self::settings::Settings;
use crate::call::{Caller, Request};
use crate::catalog::Catalog;
use crate::metrics::Metrics;
use crate::outcome::Outcome;
use crate::progress::Progress;
use crate::refusal::Refusal;
use crate::store::Store;

/// The meeting point of sources and protocols.
pub struct Gateway {
    catalog: ArcSwap<Catalog>,
    settings: ArcSwap<Settings>,
    store: Arc<dyn Store>,
    metrics: Metrics,
    shelves: Mutex<Vec<refresh::Shelf>>,
    revision: watch::Sender<u64>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

impl Gateway {
    /// A gateway without sources.
    pub fn new(settings: Settings, store: Arc<dyn Store>) -> Arc<Self> {
        Arc::new(Gateway {
            catalog: ArcSwap::default(),
            settings: ArcSwap::from_pointee(settings),
            store,
            metrics: Metrics::default(),
            shelves: Mutex::default(),
            revision: watch::Sender::new(0),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
        })
    }

    /// Who asks; `toolset` is the one of the address asked.
    pub fn admit(&self, credential: Credential<'_>, toolset: Option<&str>) -> Result<Caller, Refusal> {
        let caller = admit::admit(&self.settings.load().admission, credential, toolset);
        caller.inspect_err(|refusal| self.metrics.refused(refusal.name()))
    }

    /// Takes a request all the way. Dropping the future cancels the tool, unless the call has an id: then
    /// it runs on and is recorded, for whoever asks again.
    pub async fn call(
        self: &Arc<Self>,
        caller: &Caller,
        request: Request,
        progress: &Progress,
    ) -> Result<Outcome, Refusal> {
        let answer = self.path(caller, request, progress).await;
        if let Err(refusal) = &answer {
            self.metrics.refused(refusal.name());
            log(refusal);
        }
        answer
    }

    async fn path(
        self: &Arc<Self>,
        caller: &Caller,
        mut request: Request,
        progress: &Progress,
    ) -> Result<Outcome, Refusal> {
        let entry = {
            let catalog = self.catalog.load();
            let place = resolve::resolve(&catalog, caller, &request.tool)?;
            permit::permit(&catalog, caller, place, &request.tool)?;
            Arc::clone(catalog.entry(place))
        };
        require::require(&self.settings.load(), &entry, caller, &mut request.grants)?;
        let call = validate::validate(entry, caller, request)?;
        record::record(self, call, progress).await
    }

    /// The present snapshot.
    pub fn catalog(&self) -> Arc<Catalog> {
        self.catalog.load_full()
    }

    /// Counters.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Ends when the gateway is being closed, for whoever holds a stream open.
    pub async fn closing(&self) {
        self.stop.cancelled().await;
    }

    /// True once [`Gateway::close`] has begun: no call should be sent here any more.
    pub fn is_closing(&self) -> bool {
        self.stop.is_cancelled()
    }

    /// Changes whenever the catalogue does.
    pub fn revision(&self) -> watch::Receiver<u64> {
        self.revision.subscribe()
    }
}

fn log(refusal: &Refusal) {
    let message = refusal.message();
    match message.developer {
        Some(developer) => tracing::warn!(reason = refusal.name(), developer, "{}", message.public),
        None => tracing::debug!(reason = refusal.name(), "{}", message.public),
    }
}
