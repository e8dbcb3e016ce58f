//! The one path of every call:
//! admit → resolve → permit → require → validate → record → dispatch.
//!
//! A rule about every call lives in this folder, never in a source or a protocol.

mod admit;
mod audit;
mod breaker;
mod definitions;
mod dispatch;
mod fair_queue;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzz_targets;
mod gate;
mod nested;
mod permit;
mod questions;
mod readmit;
mod record;
mod refresh;
mod relay;
mod require;
mod resolve;
mod retries;
mod runner;
mod settings;
mod starting;
mod task_updates;
mod tasks;
mod validate;

use std::sync::{Arc, Mutex, OnceLock};

use arc_swap::ArcSwap;
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

pub use self::admit::{Admission, AdmissionInfo, ApiKey, Credential, JwtRules, TokenToolset};
pub use self::breaker::Breaker;
use self::dispatch::dispatch;
pub use self::gate::Gate;
pub(crate) use self::nested::NestedCalls;
pub use self::questions::TaskQuestion;
use self::record::{record, recorded_as};
pub use self::refresh::{Reread, SourceReport, SourceStatus};
pub use self::relay::Offer;
pub use self::settings::Settings;
pub use self::tasks::Follow;
use crate::call::{Call, Caller, Request};
use crate::catalog::{Catalog, Entry};
use crate::memory_budget::MemoryBudget;
use crate::metrics::Metrics;
use crate::names::ToolRef;
use crate::outcome::Outcome;
use crate::ports::broker::Broker;
use crate::ports::store::Store;
use crate::progress::Progress;
use crate::refusal::Refusal;

/// The meeting point of sources and protocols.
pub struct Gateway {
    catalog: ArcSwap<Catalog>,
    /// The last one made when no source was starting: who holds a name there keeps it.
    settled: ArcSwap<Catalog>,
    settings: ArcSwap<Settings>,
    store: Arc<dyn Store>,
    metrics: Metrics,
    memory: Arc<MemoryBudget>,
    large_validations: Arc<Semaphore>,
    slots: Mutex<Vec<refresh::SourceSlot>>,
    progress: starting::StartProgress,
    revision: watch::Sender<u64>,
    admission_changes: readmit::AdmissionChanges,
    runner: runner::Runner,
    reread: OnceLock<Reread>,
    auditor: audit::Auditor,
    reconnects: Semaphore,
    tasks: TaskTracker,
    stop: CancellationToken,
    closing: CancellationToken,
}

impl Gateway {
    /// A gateway without sources.
    pub fn new(settings: Settings, store: Arc<dyn Store>) -> Arc<Self> {
        let memory = MemoryBudget::new(settings.limits.memory);
        Arc::new(Gateway {
            catalog: ArcSwap::default(),
            settled: ArcSwap::default(),
            runner: runner::Runner::new(&settings.limits),
            reread: OnceLock::new(),
            auditor: audit::Auditor::default(),
            settings: ArcSwap::from_pointee(settings),
            store,
            reconnects: Semaphore::new(1),
            metrics: Metrics::default(),
            memory,
            large_validations: Arc::new(validate::large_validations()),
            slots: Mutex::default(),
            progress: starting::StartProgress::default(),
            revision: watch::Sender::new(0),
            admission_changes: readmit::AdmissionChanges::default(),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
            closing: CancellationToken::new(),
        })
    }

    /// Who asks; `toolset` is the one of the address asked.
    pub fn admit(&self, credential: Credential<'_>, toolset: Option<&str>) -> Result<Caller, Refusal> {
        let caller = admit::admit(&self.settings.load().admission, credential, toolset);
        caller.inspect_err(|refusal| self.metrics.refused(refusal.name()))
    }

    /// True for a credential that is good but for the scopes it lacks.
    pub fn lacks_scope(&self, credential: Credential<'_>) -> bool {
        admit::lacks_scope(&self.settings.load().admission, credential)
    }

    /// Whether a caller is told the developer half of messages.
    pub fn is_developer(&self, caller: &Caller) -> bool {
        self.settings.load().is_developer(caller)
    }

    /// What strangers may know of how to come in.
    pub fn admission_info(&self) -> AdmissionInfo {
        let settings = self.settings.load();
        let jwt = settings.admission.jwt.as_ref();
        AdmissionInfo {
            public_url: settings.public_url.clone(),
            issuer: jwt.and_then(|rules| rules.issuer.clone()),
            scopes: jwt.map(|rules| rules.scopes.clone()).unwrap_or_default(),
        }
    }

    /// Takes a request all the way. Dropping the future cancels the tool, unless the call has an id: then
    /// it runs on and is recorded, for whoever asks again.
    pub fn call(
        self: &Arc<Self>,
        caller: &Caller,
        request: Request,
        progress: &Progress,
    ) -> impl Future<Output = Result<Outcome, Refusal>> + Send {
        self.call_at(0, caller, request, progress)
    }

    async fn call_at(
        self: &Arc<Self>,
        depth: u8,
        caller: &Caller,
        request: Request,
        progress: &Progress,
    ) -> Result<Outcome, Refusal> {
        let checked = self.check(depth, caller, request).await;
        let call = checked.inspect_err(|refusal| self.refused(refusal))?;
        let answer = match recorded_as(&call) {
            None => dispatch(self, &call, progress).await,
            Some(id) => record(self, id, call, progress).await,
        };
        answer.inspect_err(|refusal| self.refused(refusal))
    }

    /// Counts a refusal and logs it.
    fn refused(&self, refusal: &Refusal) {
        self.metrics.refused(refusal.name());
        log(refusal);
    }

    /// Every step of the path up to the call.
    async fn check(
        self: &Arc<Self>,
        depth: u8,
        caller: &Caller,
        mut request: Request,
    ) -> Result<Call, Refusal> {
        let (entry, in_flight) = match self.locate(caller, &request.tool) {
            Ok(found) if found.0.mount.is_connected() => found,
            _ => Box::pin(self.locate_when_started(caller, &mut request)).await?,
        };
        require::check_user(caller, &request.grants)
            .inspect_err(|refusal| self.audit_refusal(caller, &request.tool, refusal))?;
        if !entry.requires.is_empty() {
            let settings = self.settings.load_full();
            Box::pin(require::require(&settings, &entry, caller, &mut request.grants))
                .await
                .inspect_err(|refusal| self.audit_refusal(caller, &request.tool, refusal))?;
        }
        let nested = NestedCalls { gateway: Arc::clone(self), depth };
        validate::validate(entry, caller, request, nested, in_flight).await
    }

    /// Which tool is meant, if the caller may call it. Its source is not closed before the token is dropped.
    fn locate(&self, caller: &Caller, wanted: &ToolRef) -> Result<(Arc<Entry>, TaskTrackerToken), Refusal> {
        let catalog = self.catalog.load();
        let place = resolve::resolve(&catalog, caller, wanted)?;
        permit::permit(&catalog, caller, place, wanted)?;
        let entry = catalog.entry(place);
        Ok((Arc::clone(entry), entry.mount.calls.token()))
    }

    /// Has every source release what it keeps for a session that has ended. For protocols that have sessions.
    pub fn session_ended(&self, caller: &str, session: &str) {
        self.slots(|slots| {
            for slot in slots.iter() {
                slot.mount.source.session_ended(caller, session);
            }
        });
    }

    /// The present snapshot.
    pub fn catalog(&self) -> Arc<Catalog> {
        self.catalog.load_full()
    }

    /// Counters.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// What bodies and answers in flight may take.
    pub fn memory(&self) -> &Arc<MemoryBudget> {
        &self.memory
    }

    /// Who keeps tokens of users.
    pub fn broker(&self) -> Option<Arc<dyn Broker>> {
        self.settings.load().broker.clone()
    }

    /// Ends when the gateway is being closed, for whoever holds a stream open.
    pub async fn closing(&self) {
        self.closing.cancelled().await;
    }

    /// Says that the end is near, while calls may still finish: streams that only wait should end.
    pub fn announce_closing(&self) {
        self.closing.cancel();
    }

    /// True once the end was announced: no call should be sent here any more.
    pub fn is_closing(&self) -> bool {
        self.closing.is_cancelled()
    }

    /// Changes whenever the catalogue does.
    pub fn revision(&self) -> watch::Receiver<u64> {
        self.revision.subscribe()
    }
}

fn log(refusal: &Refusal) {
    if matches!(refusal, Refusal::Challenged { .. }) {
        // Its words hold a link that is for the user alone.
        tracing::debug!(reason = refusal.name(), "the request does not bring what the tool needs");
        return;
    }
    let message = refusal.message();
    match message.developer {
        Some(developer) => tracing::warn!(reason = refusal.name(), developer, "{}", message.public),
        None => tracing::debug!(reason = refusal.name(), "{}", message.public),
    }
}
