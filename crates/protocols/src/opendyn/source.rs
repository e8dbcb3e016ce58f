//! A C library as a source: arguments become bytes, bytes go to a worker, what comes back becomes JSON.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::value::RawValue;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};
use toolmux_core::BoxFuture;
use toolmux_core::call::Call;
use toolmux_core::message::Message;
use toolmux_core::outcome::{Content, Outcome, Output, Retry, ToolError};
use toolmux_core::ports::figures::SourceFigures;
use toolmux_core::ports::source::{Listing, Source, SourceError};
use toolmux_core::progress::Progress;
use toolmux_core::version::Version;
use toolmux_dylib_host::fault::CallFault;
use toolmux_dylib_host::hello::{Enforced, Hello, Profile, Readiness, Sandbox};
use toolmux_dylib_host::plan::Plan;

use super::engine::Engine;
use super::failure_details::details;
use super::handles::{
    Closers, HandleTable, Opened, Owner, QuotaExceeded, TableSettings, Ticket, UsedHandles, close_released,
    closing,
};
use super::in_process::InProcess;
use super::plan::{Book, Planned, read};
use super::refused_access::refused_access;
use super::settings::OpenDynSettings;
use super::supervise::{ALLOCATOR_KEEPS, Answered, Job, Launch, MARK, Pool, PoolSettings};
use super::worker_faults::{died, faulted, invalid};
use crate::documents::document_setting::{DocumentSetting, DocumentText};
use crate::documents::fault::Weight;
use crate::registry::{OpenError, Opening};

/// How long it takes to tell that a function was ended.
const ANSWERING: Duration = Duration::from_millis(200);
/// How long a function that closes an object may run.
pub(super) const TIME_LIMIT: Duration = Duration::from_secs(10);

struct OpenDyn {
    book: Book,
    by_name: HashMap<String, usize>,
    engine: Arc<Engine>,
    handles: Arc<HandleTable>,
    closers: Arc<Closers>,
    /// What the library may do; nothing in particular for one in this process.
    sandbox: Sandbox,
    /// Closes objects that are released; started with the first call that opens one.
    releasing: OnceLock<AbortOnDropHandle<()>>,
    tasks: TaskTracker,
}

/// Opens a source whose workers are this program.
pub(super) fn open_here(opening: &Opening<'_>) -> Result<Arc<dyn Source>, OpenError> {
    let executable = std::env::current_exe()
        .map_err(|error| OpenError::new(format!("this program cannot find its own file: {error}")))?;
    if std::env::var_os(MARK).is_some() {
        return Err(OpenError::new("this program was started as a worker but does not act as one")
            .hint("call `toolmux::become_worker_if_asked()` first in its `main`"));
    }
    open(opening, executable)
}

/// Opens a source whose workers are another program than this one: its `main` must begin with
/// [`become_worker_if_asked`](super::become_worker_if_asked). Starts nothing yet.
pub fn open(opening: &Opening<'_>, worker: PathBuf) -> Result<Arc<dyn Source>, OpenError> {
    let settings: OpenDynSettings = opening.settings()?;
    let book = load(&settings.document, opening.folder)?;
    Ok(Arc::new(build(&settings, book, opening.folder, worker)?))
}

/// Functions of a document that a library does not have, or that cannot be called, each with the reason. A
/// worker loads the library to see.
pub(super) async fn missing(
    document: &str,
    library: &Path,
    worker: PathBuf,
) -> Result<Vec<(String, String)>, SourceError> {
    let not_reached = |error: OpenError| SourceError::NotReached(Message::public(error.to_string()));
    let settings = OpenDynSettings::of_library(library).map_err(not_reached)?;
    let book =
        read(document).0.ok_or_else(|| not_reached(OpenError::new("it is not an OpenDyn document")))?;
    let source = build(&settings, book, Path::new("."), worker).map_err(not_reached)?;
    let listing = source.listing().await;
    source.close().await;
    listing.map(|listing| listing.unusable)
}

/// How much of a sandbox the kernel grants here. A worker that loads the C library itself tries.
pub async fn enforced_here(worker: PathBuf) -> Result<Enforced, SourceError> {
    let not_reached = |error: OpenError| SourceError::NotReached(Message::public(error.to_string()));
    let settings = OpenDynSettings::of_library(Path::new("libc.so.6")).map_err(not_reached)?;
    let book = Book {
        version: String::new(),
        about: None,
        functions: Vec::new(),
        unusable: Vec::new(),
        codes: HashMap::new(),
    };
    let source = build(&settings, book, Path::new("."), worker).map_err(not_reached)?;
    let Engine::Workers(pool) = &*source.engine else {
        return Err(not_reached(OpenError::new("the library is not in a worker")));
    };
    let enforced = pool.ready().await.map(|ready| ready.enforced);
    source.close().await;
    enforced.map_err(|rejected| rejected.unavailable("The library"))
}

fn build(
    settings: &OpenDynSettings,
    book: Book,
    folder: &Path,
    worker: PathBuf,
) -> Result<OpenDyn, OpenError> {
    let plan = Plan {
        library: settings.library(folder),
        generation: 1,
        limits: settings.limits(),
        functions: book.functions.iter().map(|planned| planned.function.clone()).collect(),
    };
    let closers = Closers::new(&book.functions);
    let handles = HandleTable::new(TableSettings {
        quota: settings.handles_per_caller(),
        idle: settings.handle_idle()?,
        closable: closers.kinds(),
    });
    let mut sandbox = settings.sandbox(folder);
    if settings.in_process {
        sandbox.profile = Profile::Off;
    }
    let engine = if settings.in_process {
        Engine::InProcess(Box::new(InProcess::new(plan)))
    } else {
        let hello = Hello { plan, sandbox: sandbox.clone() };
        Engine::Workers(pool(settings, worker, hello, Arc::clone(&handles))?)
    };
    let by_name = book.functions.iter().enumerate().map(|(at, planned)| (planned.name.clone(), at)).collect();
    Ok(OpenDyn {
        book,
        by_name,
        engine: Arc::new(engine),
        handles,
        closers: Arc::new(closers),
        sandbox,
        releasing: OnceLock::new(),
        tasks: TaskTracker::new(),
    })
}

fn pool(
    settings: &OpenDynSettings,
    worker: PathBuf,
    hello: Hello,
    handles: Arc<HandleTable>,
) -> Result<Pool, OpenError> {
    let (workers, sharing) = settings.workers();
    let mut env = settings.env();
    for (name, value) in [(MARK, "1"), ALLOCATOR_KEEPS] {
        env.insert(name.to_owned(), value.to_owned());
    }
    let launch = Launch::new(worker, env, hello);
    let pool_settings = PoolSettings {
        workers,
        queue: settings.queue(),
        idle: settings.idle()?,
        sharing,
        most_deaths: settings.crashes(),
        least_share: settings.crash_share(),
        most_own: settings.callers(),
        handles,
    };
    Ok(Pool::new(launch, pool_settings))
}

fn load(document: &DocumentSetting, folder: &Path) -> Result<Book, OpenError> {
    let DocumentText { file, text } = document.read(folder)?;
    let (book, faults) = read(&text);
    book.ok_or_else(|| {
        let Some(file) = file else {
            // The words for a fault may quote what stands there, which is part of the configuration.
            return OpenError::new("`document` is not an OpenDyn document that can be used")
                .hint("`toolmux check` says more of a document in a file of its own");
        };
        let fault = faults.iter().find(|fault| fault.weight == Weight::Fatal);
        let what = fault.map_or_else(|| "it is not an OpenDyn document".to_owned(), ToString::to_string);
        let hint = fault.map_or_else(String::new, |fault| fault.remedy.clone());
        OpenError::new(format!("`{}` cannot be used: {what}", file.display())).hint(hint)
    })
}

impl Source for OpenDyn {
    fn figures(&self) -> SourceFigures {
        SourceFigures { connections: None, processes: self.engine.figures() }
    }

    fn tools(&self) -> BoxFuture<'_, Result<Listing, SourceError>> {
        Box::pin(self.listing())
    }

    fn call<'a>(&'a self, call: &'a Call, _: &'a Progress) -> BoxFuture<'a, Result<Outcome, SourceError>> {
        Box::pin(self.run(call))
    }

    fn callers_left(&self, has_left: &dyn Fn(&str) -> bool) {
        self.handles.callers_left(has_left);
    }

    fn session_ended(&self, caller: &str, session: &str) {
        self.handles.session_ended(caller, session);
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            // What is still open ends with the workers.
            if let Some(releasing) = self.releasing.get() {
                releasing.abort();
            }
            self.tasks.close();
            self.tasks.wait().await;
            self.engine.close().await;
        })
    }
}

impl OpenDyn {
    async fn listing(&self) -> Result<Listing, SourceError> {
        let readiness =
            self.engine.readiness().await.map_err(|rejected| rejected.unavailable("The library"))?;
        let version = Version::nearest(&self.book.version);
        let mut listing = Listing { tools: Vec::new(), unusable: self.book.unusable.clone() };
        for (planned, readiness) in self.book.functions.iter().zip(readiness) {
            match readiness {
                Readiness::Callable => listing.tools.push(planned.tool(version, self.book.about.as_deref())),
                Readiness::SymbolMissing(reason) | Readiness::BadPlan(reason) => {
                    listing.unusable.push((planned.name.clone(), reason));
                }
            }
        }
        Ok(listing)
    }

    /// Dropping the future gives up the answer; the function runs until it returns or its time is up.
    async fn run(&self, call: &Call) -> Result<Outcome, SourceError> {
        let name = call.tool_name();
        let Some((index, planned)) = self.by_name.get(name).map(|at| (*at, &self.book.functions[*at])) else {
            let message = Message::public(format!("There is no function `{name}`"));
            return Err(SourceError::NotReached(message));
        };
        let (mut scratch, mut values) = (Vec::new(), Vec::new());
        let owner = Owner { caller: call.caller().name(), user: call.user(), session: call.session() };
        let mut used = UsedHandles::new(&self.handles, owner);
        planned
            .encode(call.arguments().text().get(), &mut used, &mut scratch, &mut values)
            .map_err(invalid)?;
        let generation = used.generation();
        let ticket = match self.ticket(planned, used) {
            Ok(ticket) => ticket,
            Err(exceeded) => return Ok(Outcome::Failed(self.over_quota(planned, &exceeded))),
        };
        let limit = time_limit(planned, call);
        let job = Job { function: index as u16, values, limit, ticket };
        match self
            .engine
            .run(job, generation, Some(&owner))
            .await
            .map_err(|rejected| rejected.into_error(planned))?
        {
            Answered::Values(values, opened) => Ok(self.outcome(planned, call, &values, opened)),
            Answered::Fault(CallFault::TooManyHandles, _) => Ok(Outcome::Failed(self.worker_full(planned))),
            Answered::Fault(fault, text) => faulted(planned, fault, text),
            Answered::Died(death) => Ok(Outcome::Failed(died(planned, &death))),
            Answered::NotRun(reason) => Err(SourceError::NotReached(Message::public(&*reason))),
        }
    }

    /// What a call does to the table of handles; nothing for most calls, which touch no object.
    fn ticket(&self, planned: &Planned, used: UsedHandles<'_>) -> Result<Option<Box<Ticket>>, QuotaExceeded> {
        if !planned.changes_handles() {
            return Ok(None);
        }
        let ticket = self.handles.reserve(used, planned.opens, &planned.slots)?;
        self.releasing.get_or_init(|| {
            let (table, engine) = (Arc::clone(&self.handles), Arc::clone(&self.engine));
            let releasing = close_released(table, engine, Arc::clone(&self.closers));
            AbortOnDropHandle::new(self.tasks.spawn(releasing))
        });
        Ok(Some(Box::new(ticket)))
    }

    fn outcome(&self, planned: &Planned, call: &Call, values: &[u8], opened: Option<Opened>) -> Outcome {
        let decoded = match planned.decode(values, opened.as_ref(), &self.book.codes) {
            Ok(decoded) => decoded,
            Err(error) => {
                let words = format!("`{}` gave a result that cannot be read", planned.name);
                return Outcome::Failed(Message::public(words).caused_by(&error).into());
            }
        };
        if let Some(opened) = opened {
            opened.claim();
        }
        let json = RawValue::from_string(decoded.json).expect("only JSON text was written");
        match decoded.failure {
            None => Outcome::Returned(Output::value(json)),
            Some(failure) => {
                let words = format!("{failure}{}", details(planned, json.get()));
                let content = vec![Content::text(&words), Content::text(json.get())];
                let mut message = Message::public(words);
                message.developer = refused_access(
                    &self.sandbox,
                    (decoded.errno, &decoded.denials),
                    call.given().text().get(),
                );
                Outcome::Failed(ToolError { content, ..ToolError::from(message) })
            }
        }
    }

    fn over_quota(&self, planned: &Planned, exceeded: &QuotaExceeded) -> ToolError {
        let held = format!("you have {} objects of this library open, which is your limit", exceeded.quota);
        self.too_many_open(planned, &held, "limits.handles_per_caller")
    }

    fn worker_full(&self, planned: &Planned) -> ToolError {
        self.too_many_open(planned, "the limit of open objects of this library is reached", "limits.handles")
    }

    /// Waiting would not help, so this is not a refusal that says when to come back.
    fn too_many_open(&self, planned: &Planned, held: &str, setting: &str) -> ToolError {
        let closing = closing(&self.book.functions, planned);
        let remedy = match closing.as_slice() {
            [] => "no function of its document is marked with `closes`".to_owned(),
            names => format!("close some with `{}`", names.join("` or `")),
        };
        let words = format!("`{}` did not run: {held} (`{setting}`); {remedy}", planned.name);
        let error = ToolError::new(words);
        if closing.is_empty() { error } else { error.retry(Retry::Now).prompt(remedy) }
    }
}

/// The timeout of the tool rules, unless the document gives the function less. A little earlier, so that the worker can
/// say what became of the function before the gateway stops waiting.
fn time_limit(planned: &Planned, call: &Call) -> Duration {
    let whole = call.time_limit();
    let limit = whole.saturating_sub(ANSWERING.min(whole / 10));
    planned.timeout.map_or(limit, |timeout| timeout.min(limit))
}
