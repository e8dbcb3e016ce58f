//! The listener: bounded connections, checked hosts, toolsets in addresses, and an orderly end.

mod addresses;
mod connection;
mod descriptors;
mod poll_when_woken;
mod repoll_on_wake;
mod request_body;
mod stopping;
mod stream_tasks;
mod tls;
mod unread_bodies;
mod write_timeout;

use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use futures_util::FutureExt;
use http::{HeaderValue, Request, StatusCode, Uri, Version, header};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use toolmux_console::Console;
use toolmux_core::gateway::Gateway;
use toolmux_core::memory_budget::Reservation;
use toolmux_http::serve::{
    AskedToolset, Served, ServerVersion, ShownCredential, Web, WebLimits, json, router, shared_headers,
};
use tower::Service;

use self::addresses::Addresses;
use self::connection::Shared;
use self::descriptors::{connections_within, raise_limit};
pub(crate) use self::stopping::Stop;
use self::stopping::{OpenConnections, drained};
pub(crate) use self::tls::{HTTP1, HTTP2, ListenTls};
use crate::host_rules::HostRules;

/// How long before its end a stopping server takes no more connections, at most.
const LAST_REQUESTS: Duration = Duration::from_secs(1);

/// Bounds of connections.
#[derive(Clone, Copy, Debug)]
pub struct ListenLimits {
    /// How many are open at a time; more wait to be accepted.
    pub connections: usize,
    /// How many one address has open at a time; more are closed at once. When absent, 1,024 for each address beyond
    /// this machine.
    pub connections_per_address: Option<usize>,
    /// How long a connection may stay without a whole request; it is cut after this, and before twice this.
    pub head_timeout: Duration,
    /// How long a client may leave an answer unread before its connection is cut.
    pub write_timeout: Duration,
    /// How long stopping may take in all.
    pub drain: Duration,
    /// How long a stopping server that is in use goes on answering.
    pub stop_grace: Duration,
}

impl Default for ListenLimits {
    fn default() -> Self {
        ListenLimits {
            connections: 16_384,
            connections_per_address: None,
            head_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(30),
            drain: Duration::from_secs(10),
            stop_grace: Duration::from_secs(2),
        }
    }
}

/// Every protocol that a server answers, the broker's pages, and what operators ask.
pub fn served() -> impl Iterator<Item = &'static Served> + Clone {
    toolmux_protocols::SERVED.iter().chain([&toolmux_broker::SERVED, &toolmux_console::SERVED])
}

/// What stands between the network and the protocols.
pub(crate) struct Front {
    router: Router,
    web: Arc<Web>,
    hosts: HostRules,
    version: Option<ServerVersion>,
    /// Absent for a server without one.
    console: Option<Arc<Console>>,
    /// Every answer ends its connection.
    closes_connections: Arc<AtomicBool>,
}

impl Front {
    pub(crate) fn new(web: Arc<Web>, hosts: HostRules, stop: &Stop) -> Self {
        let closes_connections = Arc::clone(&stop.closes_connections);
        Front {
            router: routes_of(&web, served()),
            web,
            hosts,
            version: None,
            console: None,
            closes_connections,
        }
    }

    /// The version that the server goes by, where that is not the program's own.
    pub(crate) fn version(mut self, version: Option<String>) -> Self {
        self.version = version.map(|version| ServerVersion(version.into()));
        self
    }

    /// The console of the server. Without one its addresses do not exist.
    pub(crate) fn console(mut self, console: Option<Arc<Console>>) -> Self {
        if console.is_none() {
            let others = served().filter(|served| served.name != toolmux_console::SERVED.name);
            self.router = routes_of(&self.web, others);
        }
        self.console = console;
        self
    }

    /// A panic of ours costs one request, not its connection. Whoever answers with an error, the headers that clients of
    /// each protocol expect stand on it.
    async fn answer(&self, request: Request<Body>) -> Response {
        let closes_by_header = request.version() < Version::HTTP_2;
        let answer = AssertUnwindSafe(self.checked(request)).catch_unwind().await;
        let answer = answer.unwrap_or_else(|_panic| {
            tracing::error!("a request was not answered because of a bug in this program");
            message(StatusCode::INTERNAL_SERVER_ERROR, "The server failed unexpectedly")
        });
        let mut answer = if answer.status().as_u16() < 400 { answer } else { self.web.shared(answer) };
        // HTTP/2 has no such header; its connections are told in another way.
        if closes_by_header && self.closes_connections.load(Ordering::Relaxed) {
            answer.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        answer
    }

    /// Counts an answer against the memory for all requests.
    fn hold(&self, bytes: u64) -> Reservation {
        self.web.gateway.memory().hold(usize::try_from(bytes).unwrap_or(usize::MAX))
    }

    async fn checked(&self, mut request: Request<Body>) -> Response {
        let public_url = || self.web.gateway.admission().info().public_url;
        if let Err(why) = self.hosts.check(&request, public_url) {
            return message(StatusCode::FORBIDDEN, &why);
        }
        if let Some(version) = &self.version {
            request.extensions_mut().insert(version.clone());
        }
        match self.below_toolset(request) {
            Ok(mut request) => {
                if let Some(console) = &self.console {
                    console.prepare(&mut request);
                }
                let shown = ShownCredential::of(&request, &self.web);
                let Ok(answer) = self.router.clone().call(request).await;
                shown.bound(answer, &self.web)
            }
            Err(answer) => *answer,
        }
    }

    /// `/sets/{toolset}/…` is `/…` for the tools of that toolset.
    fn below_toolset(&self, mut request: Request<Body>) -> Result<Request<Body>, Box<Response>> {
        let Some(rest) = request.uri().path().strip_prefix("/sets/") else { return Ok(request) };
        let (toolset, path) = rest.find('/').map_or((rest, "/"), |at| rest.split_at(at));
        // Which toolsets there are is told to nobody unknown, who gets the same answers whether it exists or not.
        if !self.web.gateway.catalog().has_toolset(toolset) && self.web.known(&request).is_ok() {
            let what = format!("there is no toolset `{toolset}`");
            return Err(Box::new(message(StatusCode::NOT_FOUND, &what)));
        }
        let asked = AskedToolset(toolset.into());
        let query = request.uri().query().map(|query| format!("?{query}")).unwrap_or_default();
        let address: Result<Uri, _> = format!("{path}{query}").parse();
        let Ok(address) = address else {
            return Err(Box::new(self.unreadable(&request)));
        };
        *request.uri_mut() = address;
        request.extensions_mut().insert(asked);
        Ok(request)
    }
}

impl Front {
    fn unreadable(&self, request: &Request<Body>) -> Response {
        match self.web.known(request) {
            Ok(()) => message(StatusCode::BAD_REQUEST, "the address cannot be read"),
            Err(refusal) => message(StatusCode::UNAUTHORIZED, &refusal.message().public),
        }
    }
}

/// Every protocol, for whoever asks from inside this process.
pub(crate) fn routes(gateway: Arc<Gateway>) -> Router {
    let headers = shared_headers(served());
    let web = Web { gateway, limits: WebLimits::default(), stop: None, headers };
    routes_of(&Arc::new(web), served())
}

fn routes_of<'a>(web: &Arc<Web>, served: impl Iterator<Item = &'a Served> + Clone) -> Router {
    let known: Arc<str> = served.clone().map(|served| served.path).collect::<Vec<_>>().join(", ").into();
    let nowhere = move |State(web): State<Arc<Web>>, request: Request<Body>| {
        let answer = nowhere(&web, &request, &known);
        async move { answer }
    };
    router(served).fallback(nowhere).with_state(Arc::clone(web))
}

/// Serves connections until told to stop. A stopping server goes on answering, new connections too, until nothing
/// is in flight and whoever uses it could notice; `calls_by` after the announcement what is left is cut.
pub(crate) async fn listen(
    (tcp, tls): (TcpListener, Option<ListenTls>),
    front: Arc<Front>,
    (limits, calls_by): (ListenLimits, Duration),
    stop: Stop,
) {
    let places = connections_within(raise_limit(), limits.connections);
    let mut accepting = Accepting {
        tcp,
        shared: Shared {
            front: Arc::clone(&front),
            limits,
            tls,
            announced: stop.announced.clone(),
            last: CancellationToken::new(),
        },
        addresses: Addresses::new(limits.connections_per_address),
        places: Arc::new(Semaphore::new(places.min(Semaphore::MAX_PERMITS))),
        open: Arc::default(),
        connections: JoinSet::new(),
    };
    stop.announced.run_until_cancelled(accepting.run()).await;
    let (gateway, open) = (&front.web.gateway, Arc::clone(&accepting.open));
    let (now, last) = (Instant::now(), (calls_by / 4).min(LAST_REQUESTS));
    // Where requests never stop coming, the last of them get some time too.
    let (accept_by, deadline) = (now + calls_by.saturating_sub(last), now + calls_by);
    let (calls, used) = (gateway.sources().calls_in_flight(), open.used());
    if calls > 0 || used > 0 {
        tracing::info!(
            "stopping within {:?}: calls in flight: {calls}, connections in use: {used}; a second signal stops \
             at once",
            limits.drain
        );
    }
    tokio::select! {
        () = accepting.run() => {}
        () = drained(&open, gateway, limits.stop_grace) => {}
        () = sleep_until(accept_by) => {}
        () = stop.cut.cancelled() => {}
    }
    tokio::select! {
        // What is not in flight any more is not said to be cut.
        biased;
        () = accepting.finish() => {}
        () = sleep_until(deadline) => cut(gateway),
        () = stop.cut.cancelled() => cut(gateway),
    }
}

fn cut(gateway: &Gateway) {
    tracing::warn!("stopping: aborting calls that still run: {}", gateway.sources().calls_in_flight());
}

/// The listening socket and what came in by it. Dropping it cuts every connection.
struct Accepting {
    tcp: TcpListener,
    shared: Shared,
    addresses: Arc<Addresses>,
    places: Arc<Semaphore>,
    open: Arc<OpenConnections>,
    connections: JoinSet<()>,
}

impl Accepting {
    /// Accepts connections and serves them, without end. Dropping the future leaves those that are open.
    async fn run(&mut self) {
        loop {
            let accepted = accept(&self.tcp, &self.places).await;
            self.begin(accepted);
            while self.connections.try_join_next().is_some() {}
        }
    }

    fn begin(&mut self, (stream, address, place): Accepted) {
        let Some(counted) = self.addresses.enter(address.ip()) else { return };
        let (shared, entered) = (self.shared.clone(), self.open.enter());
        self.connections.spawn(async move {
            connection::serve(stream, &shared, &entered).await;
            // After the socket is closed, which `serve` owns: a place that is free early would let one more in than
            // there are descriptors.
            drop((place, counted, entered));
        });
    }

    /// Closes the socket and waits for what is still being answered.
    async fn finish(mut self) {
        // The system has accepted these already; closing the socket would reset them.
        while let Some(accepted) = accept(&self.tcp, &self.places).now_or_never() {
            self.begin(accepted);
        }
        // Closed before the connections are told: a client that is sent away comes back at once, and must not end up in
        // a queue that nobody accepts from.
        drop(self.tcp);
        self.shared.last.cancel();
        while self.connections.join_next().await.is_some() {}
    }
}

/// A new connection, where it comes from, and its place among all.
type Accepted = (TcpStream, SocketAddr, OwnedSemaphorePermit);

async fn accept(tcp: &TcpListener, places: &Arc<Semaphore>) -> Accepted {
    let mut told = false;
    loop {
        // The place comes first: without one, connections wait in the system's queue instead of in our memory.
        let place = Arc::clone(places).acquire_owned().await.expect("the semaphore is never closed");
        match tcp.accept().await {
            Ok((stream, address)) => return (stream, address, place),
            // Out of descriptors, or a client that left at once: others may still come.
            Err(error) => {
                if !told {
                    tracing::warn!(%error, "cannot accept a connection");
                    told = true;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

fn nowhere(web: &Web, request: &Request<Body>, known: &str) -> Response {
    if let Err(refusal) = web.known(request) {
        return message(StatusCode::UNAUTHORIZED, &refusal.message().public);
    }
    let path = request.uri().path();
    let what = format!("there is nothing at `{path}`; try {known}, each also below /sets/{{toolset}}");
    message(StatusCode::NOT_FOUND, &what)
}

fn message(status: StatusCode, what: &str) -> Response {
    json(status, serde_json::json!({ "message": what }).to_string())
}

/// The address for people: what listens everywhere is reached here.
pub(crate) fn reachable(address: SocketAddr, scheme: &str) -> String {
    if address.ip().is_unspecified() {
        format!("{scheme}://127.0.0.1:{}", address.port())
    } else {
        format!("{scheme}://{address}")
    }
}
