//! A server made in code: toolkits and sources in, an address out.

use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::Context;
use futures_util::FutureExt;
use tokio::net::TcpListener;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use toolmux_console::{Console, ConsoleSettings, NoProgram, ProgramView};
use toolmux_core::catalog::{Unserved, UnservedCause};
use toolmux_core::gateway::{Admission, ApiKey, Gateway, Settings};
use toolmux_core::limits::Limits;
use toolmux_core::ports::source::Source;
use toolmux_core::ports::store::Retention;
use toolmux_core::secret::Secret;
use toolmux_core::sources::{Mount, Naming};
use toolmux_http::serve::{Web, WebLimits, shared_headers};

use crate::assembly::store;
use crate::config::LISTEN;
use crate::host_rules::HostRules;
use crate::listener::{Front, ListenLimits, ListenTls, Stop, listen, reachable, served};
use crate::machine_memory::default_for_requests;
use crate::signals::EndSignals;
use crate::toolkit::Toolkit;

/// The longest time that is kept for ending sources and the store after calls were cut.
const CLOSING: Duration = Duration::from_secs(1);

/// Serves toolkits over every protocol.
///
/// ```no_run
/// # use toolmux::{Server, Toolkit};
/// # async fn example() -> anyhow::Result<()> {
/// Server::new().toolkit(Toolkit::new("Empty")).run().await
/// # }
/// ```
pub struct Server {
    listen: String,
    mounts: Vec<Mount>,
    /// Which of the mounts are Rust functions of this program.
    own: Vec<String>,
    keys: Vec<ApiKey>,
    limits: Limits,
    store: String,
}

impl Default for Server {
    fn default() -> Self {
        Server {
            listen: LISTEN.to_owned(),
            mounts: Vec::new(),
            own: Vec::new(),
            keys: Vec::new(),
            limits: Limits::default(),
            store: "memory".to_owned(),
        }
    }
}

impl Server {
    /// A server without tools, on the default address.
    pub fn new() -> Self {
        Server::default()
    }

    /// Where to listen; port 0 lets the system choose.
    pub fn listen(mut self, address: impl Into<String>) -> Self {
        self.listen = address.into();
        self
    }

    /// Lets a caller in by an API key. Without any key only loopback is listened on.
    pub fn key(mut self, caller: &str, key: &Secret) -> Self {
        self.keys.push(ApiKey { name: caller.into(), sha256: key.sha256(), toolset: None });
        self
    }

    /// Bounds of every call.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Where records of calls and tasks are kept: `memory`, which is the default, `sqlite:FILE` or
    /// `postgres://…`.
    pub fn store(mut self, url: impl Into<String>) -> Self {
        self.store = url.into();
        self
    }

    /// Adds Rust functions.
    pub fn toolkit(self, toolkit: Toolkit) -> Self {
        let name = toolkit.name().to_owned();
        let mut server = self.source(&name, Arc::new(toolkit));
        server.own.extend(server.mounts.last().map(|mount| mount.name.clone()));
        server
    }

    /// Adds any source under a toolkit name of `[A-Za-z0-9_]+`.
    pub fn source(mut self, toolkit: &str, source: Arc<dyn Source>) -> Self {
        // Two sources may bring versions of one toolkit; each is a source of its own.
        let name = format!("{toolkit} {}", self.mounts.len() + 1);
        self.mounts.push(Mount::new(&name, toolkit, Naming::Prefixed, source));
        self
    }

    /// Serves until the process is told to end.
    pub async fn run(self) -> anyhow::Result<()> {
        let mut signals = EndSignals::new();
        let running = self.start_on(ListenLimits::default().stop_grace).await?;
        tracing::info!("listening on {}", running.url());
        signals.next().await;
        running.stop_or(signals.next()).await;
        Ok(())
    }

    /// Serves in the background. Its own tools are there when this returns; one that cannot be served is an
    /// error, while a tool of another server that cannot be served is logged. Whoever stops it knows that nobody
    /// needs it any more: it goes as soon as no call is in flight.
    pub async fn start(self) -> anyhow::Result<Running> {
        self.start_on(Duration::ZERO).await
    }

    async fn start_on(self, stop_grace: Duration) -> anyhow::Result<Running> {
        let address: SocketAddr =
            self.listen.parse().with_context(|| format!("`{}` is not an address", self.listen))?;
        anyhow::ensure!(
            address.ip().is_loopback() || !self.keys.is_empty(),
            "`{address}` is not a loopback address, and no key is given"
        );
        let admission = Admission { keys: self.keys, jwt: None };
        let limits = Limits { memory: self.limits.memory.or_else(default_for_requests), ..self.limits };
        let settings = Settings { admission, limits, ..Settings::default() };
        let drain = settings.limits.drain;
        let gateway = Gateway::new(settings, store(&Secret::new(self.store), Retention::default()).await?);
        let listen = ListenOn {
            address: self.listen,
            limits: ListenLimits { drain, stop_grace, ..ListenLimits::default() },
            ..ListenOn::default()
        };
        let only_own = self.own.len() == self.mounts.len();
        for mount in self.mounts {
            gateway.sources().mount(mount);
        }
        gateway.sources().settled(self.limits.list_timeout).await;
        // A mistake in this program's own functions is worth an error. What another server lists is not: it
        // must not keep this one from starting.
        let is_mistake = |tool: &&Unserved| {
            self.own.contains(&tool.source) && (only_own || tool.cause != UnservedCause::Collision)
        };
        let started = match gateway.catalog().unserved().iter().find(is_mistake) {
            Some(tool) => Err(anyhow::anyhow!(
                "tool `{}` of `{}` cannot be served: {}",
                tool.tool,
                tool.source,
                tool.reason
            )),
            None => Running::start(Arc::clone(&gateway), listen, None).await,
        };
        if started.is_err() {
            // Sources run already, and nobody gets anything to stop them with.
            gateway.close(closing_share(drain)).await;
        }
        started
    }
}

/// Where and how to listen.
#[derive(Default)]
pub(crate) struct ListenOn {
    pub(crate) address: String,
    pub(crate) hosts: Vec<String>,
    pub(crate) origins: Vec<String>,
    pub(crate) web: WebLimits,
    pub(crate) limits: ListenLimits,
    /// Absent for plain HTTP.
    pub(crate) tls: Option<ListenTls>,
    /// The version it goes by, where that is not the program's own.
    pub(crate) version: Option<String>,
    /// What the configuration says of the console.
    pub(crate) console: ConsoleSettings,
    /// What the program tells the console; absent for a server made in code.
    pub(crate) program: Option<Arc<dyn ProgramView>>,
}

/// A server that runs in the background until it is stopped or dropped. [`Running::stop`] lets calls finish and waits
/// for the end. Dropping it cuts them instead: the address is given up and the sources are ended by the runtime, as far
/// as that goes on, within a second.
#[must_use = "the server stops when this is dropped"]
pub struct Running {
    address: SocketAddr,
    scheme: &'static str,
    gateway: Arc<Gateway>,
    stop: Stop,
    /// The one task that serves and then closes the gateway.
    serving: TaskTracker,
}

impl Running {
    pub(crate) async fn start(
        gateway: Arc<Gateway>,
        on: ListenOn,
        stopped_by_callers: Option<CancellationToken>,
    ) -> anyhow::Result<Running> {
        let tcp = TcpListener::bind(&on.address).await;
        let tcp = tcp.with_context(|| format!("cannot listen on `{}`", on.address))?;
        let address = tcp.local_addr()?;
        gateway.tasks().run();
        let headers = shared_headers(served());
        let web = Web { gateway: Arc::clone(&gateway), limits: on.web, stop: stopped_by_callers, headers };
        let (stop, drain) = (Stop::default(), on.limits.drain);
        let hosts = HostRules::new(address, &on.hosts, &on.origins);
        let (hosts, scheme) = if on.tls.is_some() { (hosts.with_tls(), "https") } else { (hosts, "http") };
        let program = on.program.unwrap_or_else(|| Arc::new(NoProgram));
        let console = on.console.enabled.then(|| Console::new(on.console, program, scheme));
        if let Some(console) = &console {
            console.follow(&gateway);
        }
        let front = Front::new(Arc::new(web), hosts, &stop).version(on.version).console(console);
        let front = Arc::new(front);
        tracing::debug!("listening on {}", reachable(address, scheme));
        let limits = (on.limits, drain.saturating_sub(closing_share(drain)));
        let (listening, serving) = (listen((tcp, on.tls), front, limits, stop.clone()), TaskTracker::new());
        serving.spawn(serve_and_close(listening, Arc::clone(&gateway), stop.clone(), drain));
        Ok(Running { address, scheme, gateway, stop, serving })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The same as a URL.
    pub fn url(&self) -> String {
        reachable(self.address, self.scheme)
    }

    /// The gateway behind it.
    pub fn gateway(&self) -> &Arc<Gateway> {
        &self.gateway
    }

    /// Says that it is not ready, goes on answering until calls in flight are finished, and ends all sources; all
    /// within `limits.drain`.
    pub async fn stop(self) {
        self.stop_or(std::future::pending()).await;
    }

    /// The same, without waiting for calls any longer when `at_once` ends. Dropping the future has the same effect.
    pub(crate) async fn stop_or(self, at_once: impl Future<Output = ()>) {
        self.announce();
        self.serving.close();
        tokio::select! {
            () = self.serving.wait() => return,
            () = at_once => self.stop.cut.cancel(),
        }
        self.serving.wait().await;
    }

    fn announce(&self) {
        self.stop.closes_connections.store(true, Ordering::Relaxed);
        // Probes are told first, so that nobody is sent here who then finds the server going.
        self.gateway.background().announce_closing();
        self.stop.announced.cancel();
    }
}

impl Drop for Running {
    /// Nothing can be awaited here, and sources end child processes and connections asynchronously: the task that
    /// serves is told to cut what is in flight and to close the gateway. After `stop` it has ended already.
    fn drop(&mut self) {
        self.announce();
        self.stop.cut.cancel();
    }
}

/// Serves until told to stop, then ends sources and the store; all within `drain` of the announcement.
async fn serve_and_close(
    listening: impl Future<Output = ()>,
    gateway: Arc<Gateway>,
    stop: Stop,
    drain: Duration,
) {
    let announced = async {
        stop.announced.cancelled().await;
        Instant::now()
    };
    // A listener that panics must not leave child processes of sources behind.
    let listening = async {
        if AssertUnwindSafe(listening).catch_unwind().await.is_err() {
            tracing::error!("the listener failed because of a bug in this program");
            stop.announced.cancel();
        }
    };
    let ((), announced) = tokio::join!(listening, announced);
    let left = if stop.cut.is_cancelled() {
        closing_share(drain)
    } else {
        (announced + drain).saturating_duration_since(Instant::now())
    };
    gateway.close(left).await;
}

/// What of the time to stop is kept for ending sources and the store after calls were cut.
fn closing_share(drain: Duration) -> Duration {
    (drain / 4).min(CLOSING)
}
