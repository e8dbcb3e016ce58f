//! The one path of every call:
//! admit → resolve → permit → require → validate → record → dispatch, and a receipt of it.
//!
//! A rule about every call lives in this folder, never in a source or a protocol. What sources offer besides tools takes
//! the same path as far as it goes (`relay.rs`). The gateway knows sources and the catalogue; `tasks/` knows the gateway.

mod admission_view;
mod admit;
mod audit;
mod digest;
mod dispatch;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzz_targets;
mod metrics;
mod nested;
mod offers;
mod permit;
mod readmit;
mod receipt_peers;
mod receipt_writer;
mod receipts;
mod record;
mod relay;
mod relay_tokens;
mod relays;
mod require;
mod resolve;
mod retries;
mod settings;
mod starting;
mod stored_keys;
mod stored_receipts;
mod validate;

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};
use tokio_util::task::task_tracker::TaskTrackerToken;

pub use self::admission_view::{AdmissionInfo, AdmissionView, KnownCaller};
pub use self::admit::{Admission, ApiKey, Credential, JwtRules, TokenToolset};
pub(crate) use self::digest::digest;
pub(crate) use self::dispatch::dispatch;
pub use self::offers::Offer;
pub use self::receipt_writer::{ChainAnchor, ReceiptKeeping, ReceiptSigner};
pub(crate) use self::record::{RecordedCall, record, recorded_as};
pub use self::relays::Relays;
pub use self::settings::Settings;
pub use self::stored_keys::StoredKeys;
pub use self::stored_receipts::{ReceiptBacklog, StoredReceipts};
use crate::background::Background;
use crate::call::{Call, Caller, Request};
use crate::catalog::{Catalog, Entry};
use crate::limits::Limits;
use crate::local_tasks::LocalTasks;
use crate::memory_budget::MemoryBudget;
use crate::metrics::Metrics;
use crate::names::ToolRef;
use crate::outcome::Outcome;
use crate::ports::broker::Broker;
use crate::ports::store::Store;
use crate::progress::Progress;
use crate::receipt::{CallStep, ReceiptDraft, ReceiptKind, ReceiptLog};
use crate::refusal::Refusal;
use crate::sources::Sources;

/// How long a store may at least take to end.
const STORE_PAUSE: Duration = Duration::from_millis(500);

/// The one path of every call, from a caller to a source.
pub struct Gateway {
    sources: Arc<Sources>,
    settings: ArcSwap<Settings>,
    store: Arc<dyn Store>,
    metrics: Metrics,
    memory: Arc<MemoryBudget>,
    large_validations: Arc<Semaphore>,
    admission_changes: readmit::AdmissionChanges,
    auditor: audit::Auditor,
    key_registry: stored_keys::KeyRegistry,
    receipts: ReceiptLog,
    receipt_writer: receipt_writer::WriterSlot,
    background: Background,
    local_tasks: LocalTasks,
}

/// A tool that the caller may call. Its source is not closed before the token is dropped.
struct Located {
    entry: Arc<Entry>,
    in_flight: TaskTrackerToken,
}

impl Gateway {
    /// A gateway without sources.
    pub fn new(settings: Settings, store: Arc<dyn Store>) -> Arc<Self> {
        let background = Background::default();
        let (rules, receipts) = (settings.source_rules(), ReceiptLog::default());
        receipts.configure(settings.receipts);
        receipts.bound_metrics(&settings.limits);
        let key_registry = stored_keys::KeyRegistry::of_file(&settings);
        Arc::new(Gateway {
            sources: Sources::new(rules, Arc::clone(&store), background.clone()),
            memory: MemoryBudget::new(settings.limits.memory),
            local_tasks: LocalTasks::new(&settings.limits),
            settings: ArcSwap::from_pointee(settings),
            store,
            metrics: Metrics::default(),
            large_validations: Arc::new(validate::large_validations()),
            admission_changes: readmit::AdmissionChanges::default(),
            auditor: audit::Auditor::default(),
            key_registry,
            receipts,
            receipt_writer: receipt_writer::WriterSlot::default(),
            background,
        })
    }

    /// Where tools come from.
    pub fn sources(&self) -> &Arc<Sources> {
        &self.sources
    }

    /// Who asks; `toolset` is the one of the address asked.
    pub fn admit(&self, credential: Credential<'_>, toolset: Option<&str>) -> Result<Caller, Refusal> {
        let caller = admit::admit(&self.settings.load().admission, credential, toolset);
        match &caller {
            Ok(caller) => self.key_registry.note_use(caller.name()),
            Err(refusal) => self.metrics.refused(refusal),
        }
        caller
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
        mut request: Request,
        progress: &Progress,
    ) -> Result<Outcome, Refusal> {
        self.trace(&mut request);
        let mut receipt = self.receipts.begin(ReceiptKind::Call, caller).of_request(&request);
        let checked = self.check(depth, caller, request, &mut receipt).await;
        let answer = match checked {
            Err(refusal) => {
                receipt.answered(Err(&refusal));
                Err(refusal)
            }
            Ok(call) => match recorded_as(&call) {
                None => dispatch(self, &call, progress, &receipt).await,
                Some(id) => {
                    let recorded = RecordedCall { call, receipt: Arc::new(receipt) };
                    record(self, id, recorded, progress).await
                }
            },
        };
        answer.inspect_err(|refusal| self.refused(refusal))
    }

    /// Every check of a call; the tool does not run and nothing is recorded.
    pub async fn dry_run(self: &Arc<Self>, caller: &Caller, request: Request) -> Result<(), Refusal> {
        let mut receipt = self.receipts.begin(ReceiptKind::Call, caller);
        receipt.discard();
        self.check(0, caller, request, &mut receipt).await.map(drop)
    }

    /// Counts a refusal and logs it.
    pub(crate) fn refused(&self, refusal: &Refusal) {
        self.metrics.refused(refusal);
        log(refusal);
    }

    /// Every step of the path up to the call.
    pub(crate) async fn check(
        self: &Arc<Self>,
        depth: u8,
        caller: &Caller,
        mut request: Request,
        receipt: &mut ReceiptDraft,
    ) -> Result<Call, Refusal> {
        let located = match self.locate(caller, &request.tool) {
            Ok(found) if found.entry.mount.is_connected() => found,
            _ => {
                let found = Box::pin(self.locate_when_started(caller, &mut request)).await;
                found.inspect_err(|_| receipt.not_found(&request.tool.to_string()))?
            }
        };
        self.note_tool(receipt, &located.entry, &request.arguments);
        require::check_user(caller, &request.grants)
            .inspect_err(|refusal| self.audit_refusal(caller, &request.tool, refusal))?;
        if !located.entry.requires.is_empty() {
            let settings = self.settings.load_full();
            Box::pin(require::require(&settings, &located.entry, caller, &mut request.grants))
                .await
                .inspect_err(|refusal| self.audit_refusal(caller, &request.tool, refusal))?;
        }
        receipt.mark(CallStep::Resolve);
        let call = validate::validate(self, depth, located, caller, request).await;
        receipt.mark(CallStep::Validate);
        call
    }

    /// Which tool is meant, if the caller may call it.
    fn locate(&self, caller: &Caller, wanted: &ToolRef) -> Result<Located, Refusal> {
        let catalog = self.sources.catalog();
        let place = resolve::resolve(&catalog, caller, wanted)?;
        permit::permit(&catalog, caller, place, wanted)?;
        let entry = catalog.entry(place);
        Ok(Located { entry: Arc::clone(entry), in_flight: entry.mount.calls.token() })
    }

    /// The present snapshot.
    pub fn catalog(&self) -> Arc<Catalog> {
        Arc::clone(&self.sources.catalog())
    }

    /// What is counted where it happens; [`Gateway::metric_families`] has all there is.
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

    /// Where records are kept.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    pub(crate) fn limits(&self) -> Limits {
        self.settings.load().limits
    }

    /// What runs besides calls, and whether it is told to end.
    pub fn background(&self) -> &Background {
        &self.background
    }

    /// Where `tasks/` keeps what only this process knows; the path itself does not look into it.
    pub(crate) fn local_tasks(&self) -> &LocalTasks {
        &self.local_tasks
    }

    /// Ends everything that runs besides calls; calls that are recorded finish first, within `patience`.
    pub async fn close(&self, patience: Duration) {
        let end = Instant::now() + patience;
        self.background.end(end).await;
        // Before the store: everything that ended until now is in the chain, and its head says that this was the end.
        timeout_at(end.max(Instant::now() + STORE_PAUSE), self.finish_receipts()).await.ok();
        // A store that does not answer costs a bounded time; others take over what it held when its lease is over.
        timeout_at(end.max(Instant::now() + STORE_PAUSE), self.store.close()).await.ok();
    }
}

fn log(refusal: &Refusal) {
    if matches!(refusal, Refusal::Challenged { .. }) {
        // Its words hold a link that is for the user alone.
        tracing::debug!(reason = refusal.name(), "the request lacks what the tool requires");
        return;
    }
    let message = refusal.message();
    match message.developer {
        Some(developer) => tracing::warn!(reason = refusal.name(), developer, "{}", message.public),
        None => tracing::debug!(reason = refusal.name(), "{}", message.public),
    }
}
