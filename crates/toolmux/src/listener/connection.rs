//! One connection: served until it ends, ended when it is idle and the server goes, cut when nothing comes.
//!
//! The watch over idle and dawdling clients is one timer per connection, not one per request.

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::response::Response;
use futures_util::{Stream, StreamExt};
use http::{HeaderValue, Method, Request, Version, header};
use hyper::body::{Body as _, Incoming};
use hyper::rt::{Read, Write};
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use hyper_util::server::graceful::GracefulConnection;
use tokio::net::TcpStream;
use tokio::time::{Instant, interval_at, sleep};
use tokio_util::sync::CancellationToken;
use toolmux_http::serve::ClientCertificate;

use super::poll_when_woken::PollWhenWoken;
use super::repoll_on_wake::RepollOnWake;
use super::request_body::{RefusedBodies, RequestBody};
use super::stopping::{Activity, Entered};
use super::stream_tasks::StreamTasks;
use super::tls::{ListenTls, Secured};
use super::unread_bodies::UnreadBodies;
use super::write_timeout::WriteTimeout;
use super::{Front, ListenLimits};

/// An answer up to this size leaves at once; a larger one, or one without a known size, keeps its connection
/// busy until its end.
const LEAVES_AT_ONCE: u64 = 64 << 10;

/// How long a new connection may take to send its request when the server goes.
const LAST_REQUEST: Duration = Duration::from_millis(200);

/// How many requests of one HTTP/2 connection are answered at a time.
const MOST_STREAMS: u32 = 128;

/// How much of an answer over HTTP/2 waits for its client to read on.
const SEND_BUFFER: usize = 64 << 10;

/// How many bytes the headers of one request over HTTP/2 may have.
const MOST_HEADER_BYTES: u32 = 64 << 10;

/// What all connections of a listener share.
#[derive(Clone)]
pub(super) struct Shared {
    pub(super) front: Arc<Front>,
    pub(super) limits: ListenLimits,
    pub(super) tls: Option<ListenTls>,
    /// The server is stopping, and answers on.
    pub(super) announced: CancellationToken,
    /// Connections end as soon as they are idle.
    pub(super) last: CancellationToken,
}

/// Serves one connection. What breaks it is its client's affair.
pub(super) async fn serve(stream: TcpStream, shared: &Shared, entered: &Entered) {
    stream.set_nodelay(true).ok();
    let stream = WriteTimeout::new(stream, shared.limits.write_timeout);
    let activity = &entered.activity;
    let talk = ConnectionActivity::new(shared, activity);
    let Some(tls) = &shared.tls else {
        return http1(TokioIo::new(stream), Arc::new(talk), shared).await;
    };
    // Kept out of the future of a plain connection, which it would make several times as large.
    Box::pin(secured(tls, stream, talk, shared)).await;
}

async fn secured(
    tls: &ListenTls,
    stream: WriteTimeout<TcpStream>,
    talk: ConnectionActivity,
    shared: &Shared,
) {
    let accepting = tls.accept(stream, shared.limits.head_timeout);
    let Some(Some(secured)) = shared.last.run_until_cancelled(accepting).await else { return };
    let Secured { stream, certificate, speaks_http2 } = secured;
    let talk = Arc::new(ConnectionActivity { certificate, ..talk });
    if speaks_http2 {
        http2(TokioIo::new(stream), talk, shared).await;
    } else {
        http1(TokioIo::new(stream), talk, shared).await;
    }
}

async fn http1<I: Read + Write + Send + Unpin + 'static>(
    stream: I,
    talk: Arc<ConnectionActivity>,
    shared: &Shared,
) {
    let service = service_fn(|request| Arc::clone(&talk).answer(request));
    let connection = http1::Builder::new().serve_connection(stream, service);
    run(connection, going(&shared.last, &talk.activity), &talk, shared.limits).await;
}

/// A client of HTTP/2 is told of the end as soon as that is known: it then sends its next request by another connection,
/// and knows that this one finishes what was begun.
async fn http2<I: Read + Write + Send + Unpin + 'static>(
    stream: I,
    talk: Arc<ConnectionActivity>,
    shared: &Shared,
) {
    let service = service_fn(|request| Arc::clone(&talk).answer(with_host(request)));
    let mut builder = http2::Builder::new(StreamTasks::default());
    builder
        .max_concurrent_streams(MOST_STREAMS)
        .max_send_buf_size(SEND_BUFFER)
        .max_header_list_size(MOST_HEADER_BYTES);
    let connection = builder.serve_connection(stream, service);
    run(connection, shared.announced.cancelled(), &talk, shared.limits).await;
}

/// Runs a connection to its end. It is told to end when `going` does, and cut when nothing comes or nobody reads.
async fn run<C: GracefulConnection>(
    connection: C,
    going: impl Future<Output = ()>,
    talk: &ConnectionActivity,
    limits: ListenLimits,
) {
    let (mut connection, activity) = (pin!(connection), &talk.activity);
    let at_once = RepollOnWake::new();
    let (mut going, mut told) = (pin!(going), false);
    let every = limits.head_timeout;
    let (mut watch, mut seen) = (interval_at(Instant::now() + every, every), 0);
    loop {
        let event = {
            let (quiet, mut event) = (
                PollWhenWoken::new(),
                pin!(async {
                    tokio::select! {
                        biased;
                        () = going.as_mut(), if !told => Event::Going,
                        _ = watch.tick() => Event::Tick,
                    }
                }),
            );
            tokio::select! {
                // What has come is read before the connection is ended.
                biased;
                _ended = poll_fn(|context| at_once.poll(connection.as_mut(), context)) => return,
                event = poll_fn(|context| quiet.poll(event.as_mut(), context)) => event,
            }
        };
        match event {
            Event::Going => {
                told = true;
                connection.as_mut().graceful_shutdown();
            }
            Event::Tick => {
                // Idle: no request began since the last tick, and none is in flight. `in_flight` reads the counters in
                // the order that is safe while requests of HTTP/2, which are tasks of their own, change both.
                let begun = activity.begun.load(Ordering::Relaxed);
                let idle = begun == seen && activity.in_flight() == 0;
                if idle || talk.unread.any_for(limits.write_timeout) {
                    return;
                }
                seen = begun;
            }
        }
    }
}

/// What a connection hears of while it is served.
enum Event {
    /// It has to end.
    Going,
    /// It is time to look whether it is still used.
    Tick,
}

/// Over HTTP/2 the name of the server is part of the address; everything behind this looks for it in `Host`.
fn with_host(mut request: Request<Incoming>) -> Request<Incoming> {
    let authority = request.uri().authority().map(|authority| HeaderValue::from_str(authority.as_str()));
    if let Some(Ok(host)) = authority {
        request.headers_mut().insert(header::HOST, host);
    }
    request
}

/// Ends when the server goes. A connection that has not been used yet gets a moment for its first request, which
/// may be on its way.
async fn going(last: &CancellationToken, activity: &Activity) {
    last.cancelled().await;
    if activity.begun.load(Ordering::Relaxed) == 0 {
        sleep(LAST_REQUEST).await;
    }
}

/// What is asked over a connection.
struct ConnectionActivity {
    front: Arc<Front>,
    activity: Arc<Activity>,
    /// Who the client showed itself to be.
    certificate: Option<ClientCertificate>,
    /// Answers over HTTP/2.
    unread: UnreadBodies,
    /// Bodies that nobody read.
    refused: Arc<RefusedBodies>,
}

impl ConnectionActivity {
    fn new(shared: &Shared, activity: &Arc<Activity>) -> Self {
        ConnectionActivity {
            front: Arc::clone(&shared.front),
            activity: Arc::clone(activity),
            certificate: None,
            unread: UnreadBodies::default(),
            refused: Arc::default(),
        }
    }

    async fn answer(self: Arc<Self>, mut request: Request<Incoming>) -> Result<Response, Infallible> {
        // Before the first await, with `Open` below as its counterpart: whatever happens to this future, a panic and a
        // client that leaves included, the two counters are equal again when the answer has left.
        self.activity.begun.fetch_add(1, Ordering::Relaxed);
        if let Some(certificate) = &self.certificate {
            request.extensions_mut().insert(certificate.clone());
        }
        let open = Open(self);
        let (is_get, version) = (request.method() == Method::GET, request.version());
        let request = RequestBody::of(request, &open.0.refused).map(Body::new);
        let answer = open.0.front.answer(request).await;
        let size = answer.body().size_hint().exact();
        if size.is_some_and(|size| size <= LEAVES_AT_ONCE) {
            return Ok(answer);
        }
        // A client that reads slowly keeps a large answer in memory until it has left. What is asked for with
        // GET are lists, whose bytes all clients share.
        let held = open.0.front.hold(size.filter(|_| !is_get).unwrap_or_default());
        Ok(answer.map(|body| {
            if version != Version::HTTP_2 {
                return Body::from_stream(until_it_left(body, (open, held)));
            }
            let talk = Arc::clone(&open.0);
            Body::from_stream(talk.unread.watch(until_it_left(body, (open, held))))
        }))
    }
}

/// The pieces of a body, with which something is kept.
fn until_it_left<K: Send + 'static>(
    body: Body,
    kept: K,
) -> impl Stream<Item = Result<Bytes, axum::Error>> + Send + Unpin {
    body.into_data_stream().map(move |part| {
        let _until_it_left = &kept;
        part
    })
}

/// A request whose answer has not left yet.
struct Open(Arc<ConnectionActivity>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.activity.ended.fetch_add(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use axum::Router;
    use axum::routing::get;
    use futures_util::stream;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;
    use tokio::time::timeout;
    use toolmux_core::gateway::{Gateway, Settings};
    use toolmux_core::memory::MemoryStore;
    use toolmux_http::serve::{SharedHeaders, Web, WebLimits};

    use super::*;
    use crate::host_rules::HostRules;
    use crate::listener::stopping::{OpenConnections, Stop};

    const HEAD_TIMEOUT: Duration = Duration::from_millis(100);

    /// What a client gets that sends this and then waits for the end of its connection.
    async fn check(sent: &str, expect: &str) {
        let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = tcp.local_addr().unwrap();
        let gateway = Gateway::new(Settings::default(), Arc::new(MemoryStore::default()));
        let web = Arc::new(Web {
            gateway,
            limits: WebLimits::default(),
            stop: None,
            headers: SharedHeaders::default(),
        });
        let router = Router::new().route("/slow", get(slow)).route("/broken", get(broken));
        let hosts = HostRules::new(address, &[], &[]);
        let front = Arc::new(Front { router, ..Front::new(web, hosts, &Stop::default()) });
        let served = async {
            let (stream, _) = tcp.accept().await.unwrap();
            let entered = Arc::<OpenConnections>::default().enter();
            let limits = ListenLimits { head_timeout: HEAD_TIMEOUT, ..ListenLimits::default() };
            let (last, announced) = (CancellationToken::new(), CancellationToken::new());
            serve(stream, &Shared { front, limits, tls: None, announced, last }, &entered).await;
        };
        let asked = async {
            let mut client = TcpStream::connect(address).await.unwrap();
            client.write_all(sent.as_bytes()).await.unwrap();
            let mut got = String::new();
            client.read_to_string(&mut got).await.unwrap();
            got
        };
        let both = async { tokio::join!(served, asked).1 };
        let got = timeout(Duration::from_secs(30), both).await.expect("the connection is cut");
        assert!(if expect.is_empty() { got.is_empty() } else { got.contains(expect) }, "{got}");
    }

    /// An answer that takes much longer than a head may.
    async fn slow() -> Body {
        let late = async {
            timeout(HEAD_TIMEOUT * 5, pending::<()>()).await.ok();
            Ok::<_, Infallible>("the end")
        };
        Body::from_stream(stream::once(late))
    }

    async fn broken() -> String {
        panic!("a fault of ours")
    }

    #[tokio::test]
    async fn a_client_that_dawdles_is_cut() {
        check("", "").await;
        check("GET /slow HTTP/1.1\r\nhost: localhost\r\n", "").await;
    }

    #[tokio::test]
    async fn an_answer_may_take_its_time() {
        check("GET /slow HTTP/1.1\r\nhost: localhost\r\n\r\n", "the end").await;
    }

    #[tokio::test]
    async fn a_panic_costs_one_request() {
        let twice =
            "GET /broken HTTP/1.1\r\nhost: localhost\r\n\r\nGET /slow HTTP/1.1\r\nhost: localhost\r\n\r\n";
        check(twice, "500 Internal Server Error").await;
        check(twice, "the end").await;
    }
}
