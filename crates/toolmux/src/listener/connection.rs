//! One connection: served until it ends, ended when it is idle and the server goes, cut when nothing comes.
//!
//! The watch over idle and dawdling clients is one timer per connection, not one per request.

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use futures_util::StreamExt;
use http::{Method, Request};
use hyper::body::{Body as _, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::{Instant, interval_at, sleep};
use tokio_util::sync::CancellationToken;

use super::repoll_on_wake::RepollOnWake;
use super::stopping::{Activity, Entered};
use super::write_timeout::WriteTimeout;
use super::{Front, ListenLimits};

/// An answer up to this size leaves at once; a larger one, or one without a known size, keeps its connection
/// busy until its end.
const LEAVES_AT_ONCE: u64 = 64 << 10;

/// How long a new connection may take to send its request when the server goes.
const LAST_REQUEST: Duration = Duration::from_millis(200);

/// Serves one connection. What breaks it is its client's affair.
pub(super) async fn serve(
    stream: TcpStream,
    front: Arc<Front>,
    (limits, last): (ListenLimits, &CancellationToken),
    entered: &Entered,
) {
    stream.set_nodelay(true).ok();
    let activity = &entered.activity;
    let talk = Arc::new(ConnectionActivity { front, activity: Arc::clone(activity) });
    let service = service_fn(|request| Arc::clone(&talk).answer(request));
    let stream = TokioIo::new(WriteTimeout::new(stream, limits.write_timeout));
    let mut connection = pin!(http1::Builder::new().serve_connection(stream, service));
    let at_once = RepollOnWake::new();
    let (mut going, mut told) = (pin!(going(last, activity)), false);
    let every = limits.head_timeout;
    let (mut watch, mut seen) = (interval_at(Instant::now() + every, every), 0);
    loop {
        tokio::select! {
            // What has come is read before the connection is ended.
            biased;
            _ended = poll_fn(|context| at_once.poll(connection.as_mut(), context)) => return,
            () = going.as_mut(), if !told => {
                told = true;
                connection.as_mut().graceful_shutdown();
            }
            _ = watch.tick() => {
                let begun = activity.begun.load(Ordering::Relaxed);
                if begun == seen && begun == activity.ended.load(Ordering::Relaxed) {
                    return;
                }
                seen = begun;
            }
        }
    }
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
}

impl ConnectionActivity {
    async fn answer(self: Arc<Self>, request: Request<Incoming>) -> Result<Response, Infallible> {
        self.activity.begun.fetch_add(1, Ordering::Relaxed);
        let open = Open(self);
        let is_get = request.method() == Method::GET;
        let answer = open.0.front.answer(request).await;
        let size = answer.body().size_hint().exact();
        if size.is_some_and(|size| size <= LEAVES_AT_ONCE) {
            return Ok(answer);
        }
        // A client that reads slowly keeps a large answer in memory until it has left. What is asked for with
        // GET are lists, whose bytes all clients share.
        let held = open.0.front.hold(size.filter(|_| !is_get).unwrap_or_default());
        Ok(answer.map(|body| {
            let parts = body.into_data_stream().map(move |part| {
                let _until_it_left = (&open, &held);
                part
            });
            Body::from_stream(parts)
        }))
    }
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
            serve(stream, front, (limits, &CancellationToken::new()), &entered).await;
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
