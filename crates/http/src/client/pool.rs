//! Connections that are kept for the next request.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use bytes::Bytes;
use http::uri::Authority;
use http::{Request, Response, Uri};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use toolmux_core::ports::figures::ConnectionCounters;
use url::Url;

use super::connect::Connector;
use super::error::BoxError;

/// How long a connection waits to be used again; it is closed after this, and before twice this.
const LONGEST_WAIT: Duration = Duration::from_mins(1);
/// How many wait for requests to one origin.
const MOST_WAITING: usize = 256;
/// How many origins are known before those that nobody uses are forgotten.
const MOST_ORIGINS: usize = 64;

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Unanswered {
    /// The request was not sent.
    NotSent(BoxError),
    /// The request may have arrived.
    Lost(hyper::Error),
}

/// Every origin that was asked, with its connections. Cloning shares them.
///
/// The map is locked for a look-up alone. Requests lock their origin only, for a push or a pop, never while they connect
/// or wait for an answer.
#[derive(Clone, Debug, Default)]
pub(super) struct Pool {
    origins: Arc<Mutex<HashMap<String, Arc<Origin>>>>,
    counters: Arc<ConnectionCounters>,
}

impl Pool {
    /// A pool whose connections are counted by these.
    pub(super) fn counted_by(counters: Arc<ConnectionCounters>) -> Self {
        Pool { origins: Arc::default(), counters }
    }

    pub(super) fn counters(&self) -> &Arc<ConnectionCounters> {
        &self.counters
    }

    /// The origin of an address.
    pub(super) fn origin(&self, url: &Url, uri: &Uri, connector: &Connector) -> Arc<Origin> {
        let mut origins = self.origins.lock().unwrap_or_else(PoisonError::into_inner);
        // An origin that somebody else holds is in use; forgetting it would make a second pool for the same address. Nobody
        // begins to hold one meanwhile: that takes this lock. A task that puts a connection back may, for a moment; its
        // connection is then closed together with the origin.
        if origins.len() >= MOST_ORIGINS {
            origins.retain(|_, origin| Arc::strong_count(origin) > 1 || !origin.idle().waiting.is_empty());
        }
        let name = url.origin().ascii_serialization();
        let new = || Origin {
            uri: uri.clone(),
            connector: connector.clone(),
            counters: Arc::clone(&self.counters),
            idle: Mutex::default(),
        };
        Arc::clone(origins.entry(name).or_insert_with(|| Arc::new(new())))
    }
}

/// Scheme, host and port, and the connections there, which end with it. Whoever reads an answer holds it.
#[derive(Debug)]
pub(super) struct Origin {
    uri: Uri,
    connector: Connector,
    counters: Arc<ConnectionCounters>,
    idle: Mutex<IdleConnections>,
}

#[derive(Debug, Default)]
struct IdleConnections {
    /// The newest last.
    waiting: Vec<(Instant, SendRequest<Full<Bytes>>)>,
    /// A task closes those that wait too long. There is at most one: it is started, and says that it has ended, under
    /// the lock.
    swept: bool,
    /// What drives the connections. Dropping the set ends them, so no connection outlives its origin.
    tasks: JoinSet<()>,
}

impl IdleConnections {
    fn spawn(&mut self, task: impl Future<Output = ()> + Send + 'static) {
        // A set keeps the results of ended tasks until they are asked for; here is where they are forgotten.
        while self.tasks.try_join_next().is_some() {}
        self.tasks.spawn(task);
    }
}

impl Origin {
    pub(super) fn host(&self) -> &str {
        self.uri.authority().map_or("", Authority::as_str)
    }

    /// Sends a request by a connection that waits, or by a new one. A connection that turns out to be closed
    /// before the request was sent costs nothing but another.
    ///
    /// Dropping the future drops the sender with it: a connection that is in the middle of an exchange is never put back.
    pub(super) async fn send(
        self: Arc<Self>,
        mut request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, Unanswered> {
        loop {
            let waited = self.take();
            let fresh = waited.is_none();
            let mut sender = match waited {
                Some(sender) => sender,
                None => Box::pin(self.connect()).await.map_err(Unanswered::NotSent)?,
            };
            let mut error = match sender.try_send_request(request).await {
                Ok(response) => {
                    self.keep(sender);
                    return Ok(response);
                }
                Err(error) => error,
            };
            // hyper gives the request back only if not one byte of it was written: then it may be sent again, whatever it
            // does. Otherwise it may have arrived, and only the caller knows whether to repeat it. The loop ends, since
            // each round uses up a waiting connection and a fresh one is tried once.
            request = match error.take_message() {
                None => return Err(Unanswered::Lost(error.into_error())),
                Some(_) if fresh => return Err(Unanswered::NotSent(error.into_error().into())),
                Some(unsent) => unsent,
            };
        }
    }

    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>, BoxError> {
        let stream = self.connector.connect(self.uri.clone()).await;
        let stream = stream.inspect_err(|_| self.counters.failed())?;
        // Nobody else waits for this: two requests that find no connection make two, and both are kept.
        let (sender, connection) = http1::handshake(stream).await?;
        let open = self.counters.made();
        // It ends when nobody can send by it any more. An error of it reaches whoever waits for an answer.
        self.idle().spawn(async move {
            connection.await.unwrap_or_default();
            drop(open);
        });
        Ok(sender)
    }

    /// The connection that was used last: the others can then grow old and be closed. The server may close it at any
    /// moment; `is_ready` finds most of those, `send` the rest.
    fn take(&self) -> Option<SendRequest<Full<Bytes>>> {
        let mut idle = self.idle();
        while let Some((_, sender)) = idle.waiting.pop() {
            if sender.is_ready() {
                return Some(sender);
            }
        }
        None
    }

    /// Keeps a connection as soon as its answer is read whole.
    fn keep(self: &Arc<Self>, mut sender: SendRequest<Full<Bytes>>) {
        if sender.is_ready() {
            return self.put(sender);
        }
        // Weak: a task in the set of its origin would otherwise keep the origin alive, and so itself.
        let origin = Arc::downgrade(self);
        self.idle().spawn(async move {
            if sender.ready().await.is_ok()
                && let Some(origin) = origin.upgrade()
            {
                origin.put(sender);
            }
        });
    }

    fn put(self: &Arc<Self>, sender: SendRequest<Full<Bytes>>) {
        let mut idle = self.idle();
        if idle.waiting.len() < MOST_WAITING {
            idle.waiting.push((Instant::now(), sender));
        }
        // Checked and set under one lock: two connections that are put back at once start one task.
        if !idle.swept {
            idle.swept = true;
            idle.spawn(sweep(Arc::downgrade(self)));
        }
    }

    fn idle(&self) -> MutexGuard<'_, IdleConnections> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Closes connections that wait too long, as long as there are any.
async fn sweep(origin: Weak<Origin>) {
    loop {
        sleep(LONGEST_WAIT).await;
        let Some(origin) = origin.upgrade() else { return };
        let mut idle = origin.idle();
        // The flag falls under the same lock that shows the list empty: a connection that is put back afterwards sees it
        // and starts another task, so none waits unwatched.
        idle.waiting.retain(|(since, sender)| since.elapsed() < LONGEST_WAIT && !sender.is_closed());
        idle.swept = !idle.waiting.is_empty();
        if !idle.swept {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;
    use hyper_util::client::proxy::matcher::Matcher;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::time::timeout;

    use super::*;
    use crate::network_zone::Reach;

    /// Answers so many requests with this and closes then.
    async fn serve(mut stream: TcpStream, requests: usize, answer: &str) {
        for _ in 0..requests {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.unwrap());
            }
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    }

    async fn until(what: impl Fn() -> bool) {
        let waiting = async {
            while !what() {
                sleep(Duration::from_millis(1)).await;
            }
        };
        timeout(Duration::from_secs(10), waiting).await.expect("it comes to that");
    }

    /// Three requests, each sent when it is clear whether the connection of the last can be used again: how many
    /// connections that takes.
    async fn check(requests: usize, answer: &'static str, read: bool, expect: usize) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url: Url = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
        let connector = Connector::new(Duration::from_secs(5), Matcher::builder().build(), Reach::Anywhere);
        let origin = Pool::default().origin(&url, &url.as_str().parse().unwrap(), &connector);
        let served = Arc::new(Mutex::new(0));
        let counted = Arc::clone(&served);
        let server = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                *counted.lock().unwrap() += 1;
                tokio::spawn(serve(stream, requests, answer));
            }
        });
        for _ in 0..3 {
            let request = Request::get("/").header("host", "here").body(Full::default()).unwrap();
            let response = Arc::clone(&origin).send(request).await.unwrap();
            if read {
                assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), "yes");
            }
            let again = expect == 1;
            until(|| origin.idle().waiting.iter().any(|(_, sender)| sender.is_ready()) == again).await;
        }
        assert_eq!(*served.lock().unwrap(), expect);
        server.abort();
    }

    #[tokio::test]
    async fn a_connection_is_used_again() {
        check(9, "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nyes", true, 1).await;
        check(9, "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nyes\r\n0\r\n\r\n", true, 1).await;
    }

    #[tokio::test]
    async fn a_connection_that_was_closed_is_not() {
        check(1, "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nyes", true, 3).await;
        check(9, "HTTP/1.1 200 OK\r\ncontent-length: 3\r\nconnection: close\r\n\r\nyes", true, 3).await;
    }

    #[tokio::test]
    async fn a_connection_that_waits_too_long_is_closed() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url: Url = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
        let connector = Connector::new(Duration::from_secs(5), Matcher::builder().build(), Reach::Anywhere);
        let origin = Pool::default().origin(&url, &url.as_str().parse().unwrap(), &connector);
        let sender = origin.connect().await.unwrap();
        origin.put(sender);
        let (mut stream, _) = listener.accept().await.unwrap();
        tokio::time::pause();
        sleep(LONGEST_WAIT * 2).await;
        assert!(origin.idle().waiting.is_empty());
        assert_eq!(stream.read(&mut [0; 9]).await.unwrap(), 0);
    }

    #[tokio::test]
    async fn an_answer_that_nobody_reads_ends_its_connection() {
        check(9, "HTTP/1.1 200 OK\r\ncontent-length: 300000\r\n\r\n", false, 3).await;
    }
}
