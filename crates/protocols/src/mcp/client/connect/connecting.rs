//! The one connection of a source: made when it is first needed, and again when it has ended. Everybody who needs it
//! meanwhile waits for the same attempt, which goes on when some of them leave.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwapOption;
use futures_util::FutureExt;
use futures_util::future::Shared;
use http::HeaderValue;
use tokio::sync::Notify;
use toolmux_core::BoxFuture;
use toolmux_core::message::Message;

use super::connection::Connection;
use super::reconnect_delay::{ConnectionUse, ReconnectDelay};
use crate::mcp::client::settings::{EraSetting, ServerAddress};
use crate::mcp::client::transport::Broken;

/// An attempt to connect. It goes on while anybody waits for it, and rests, without being given up, while nobody does:
/// a child that starts slowly is not killed because a caller lost patience.
type Attempt = Shared<BoxFuture<'static, Result<Arc<Connection>, Broken>>>;

/// An attempt, and whether it is made with the token of whoever waits for it.
struct Begun {
    opening: Attempt,
    is_ours: bool,
}

pub(in crate::mcp) struct Connecting {
    opener: Arc<Opener>,
    current: ArcSwapOption<Connection>,
    attempt: Mutex<Option<Attempt>>,
    /// Set under the lock of `attempt`, under which attempts begin: none begins after it, so that a call which comes
    /// late starts no child that nobody would end.
    closed: AtomicBool,
    /// Wakes when a connection was made.
    pub(in crate::mcp) opened: Notify,
}

impl Connecting {
    pub(in crate::mcp) fn new(name: &str, place: Arc<ServerAddress>) -> Self {
        let opener = Opener {
            name: name.to_owned(),
            delay: ReconnectDelay::new(place.longest_pause),
            legacy: AtomicBool::new(false),
            place,
        };
        Connecting {
            opener: Arc::new(opener),
            current: ArcSwapOption::empty(),
            attempt: Mutex::default(),
            closed: AtomicBool::new(false),
            opened: Notify::new(),
        }
    }

    /// The connection that was made last, which may have ended.
    pub(in crate::mcp) fn current(&self) -> Option<Arc<Connection>> {
        self.current.load_full()
    }

    /// The connection there is, or a new one, which is opened with the token of the request that needs it. Dropping
    /// the future leaves the attempt to others.
    pub(in crate::mcp) async fn connected(
        &self,
        token: Option<&HeaderValue>,
    ) -> Result<Arc<Connection>, Broken> {
        match self.usable() {
            Some(connection) => Ok(connection),
            None => Box::pin(self.opened_for(token)).await,
        }
    }

    async fn opened_for(&self, token: Option<&HeaderValue>) -> Result<Arc<Connection>, Broken> {
        let attempt = self.attempt(token);
        match self.wait(attempt.opening).await {
            // It was somebody else's token that the server did not take.
            Err(Broken::Unauthorized(_)) if !attempt.is_ours => {
                let attempt = self.attempt(token);
                self.wait(attempt.opening).await
            }
            opened => opened,
        }
    }

    /// The same for reading the lists. Dropping the future gives the attempt up: the time limit of a list is the limit
    /// for a greeting too, and a server that says nothing for so long is started again.
    pub(in crate::mcp) async fn connected_for_lists(&self) -> Result<Arc<Connection>, Broken> {
        if let Some(connection) = self.usable() {
            return Ok(connection);
        }
        let attempt = self.attempt(None).opening;
        let mut given_up = GivenUp { connecting: self, attempt: Some(attempt.clone()) };
        let opened = self.wait(attempt).await;
        given_up.attempt = None;
        opened
    }

    /// The next request connects anew, unless somebody has done so already.
    pub(in crate::mcp) fn forget(&self, connection: &Arc<Connection>) {
        let _attempt = self.lock();
        if self.current.load().as_ref().is_some_and(|current| Arc::ptr_eq(current, connection)) {
            self.current.store(None);
        }
    }

    /// Ends the connection for good.
    pub(in crate::mcp) async fn close(&self) {
        let (attempt, current) = {
            let mut attempt = self.lock();
            self.closed.store(true, Ordering::Release);
            (attempt.take(), self.current.swap(None))
        };
        // A child that was being started ends with this, which takes a while: after the lock.
        drop(attempt);
        if let Some(connection) = current {
            connection.channel.close().await;
        }
    }

    fn usable(&self) -> Option<Arc<Connection>> {
        self.current().filter(|connection| !connection.is_closed())
    }

    /// The attempt there is, or a new one. Under its lock one caller alone meets the connection that ended: an end
    /// counts once, however many callers it had.
    fn attempt(&self, token: Option<&HeaderValue>) -> Begun {
        let mut attempt = self.lock();
        if self.closed.load(Ordering::Acquire) {
            let closed = Message::public(format!("Source `{}` is closed", self.opener.name));
            let opening = std::future::ready(Err(Broken::NotReached(closed))).boxed().shared();
            return Begun { opening, is_ours: false };
        }
        if let Some(attempt) = &*attempt {
            return Begun { opening: attempt.clone(), is_ours: false };
        }
        if let Some(connection) = self.usable() {
            let opening = std::future::ready(Ok(connection)).boxed().shared();
            return Begun { opening, is_ours: false };
        }
        if let Some(ended) = self.current.swap(None).filter(|ended| !ended.is_resting()) {
            self.opener.delay.ended(ended.usefulness());
        }
        let opening = Arc::clone(&self.opener).open(token.cloned()).boxed().shared();
        *attempt = Some(opening.clone());
        Begun { opening, is_ours: true }
    }

    async fn wait(&self, attempt: Attempt) -> Result<Arc<Connection>, Broken> {
        // A clone is awaited, so that the attempt can be compared below, after whoever polled it last has finished it.
        let opened = attempt.clone().await;
        let mut running = self.lock();
        // The first of those who waited puts the connection in its place.
        if running.as_ref().is_some_and(|running| running.ptr_eq(&attempt)) {
            *running = None;
            if let Ok(connection) = &opened {
                self.current.store(Some(Arc::clone(connection)));
                self.opened.notify_one();
            }
        }
        opened
    }

    fn lock(&self) -> MutexGuard<'_, Option<Attempt>> {
        self.attempt.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes an attempt away when it is dropped before it was told that the attempt is over.
struct GivenUp<'a> {
    connecting: &'a Connecting,
    attempt: Option<Attempt>,
}

impl Drop for GivenUp<'_> {
    fn drop(&mut self) {
        let Some(attempt) = self.attempt.take() else { return };
        let mut running = self.connecting.lock();
        // The child ends when the last clone is dropped, which takes a while: that is `attempt`, after the lock.
        if running.as_ref().is_some_and(|running| running.ptr_eq(&attempt)) {
            running.take();
        }
    }
}

struct Opener {
    name: String,
    place: Arc<ServerAddress>,
    delay: ReconnectDelay,
    /// The server turned out to speak the old era: asking again would only cost time.
    legacy: AtomicBool,
}

impl Opener {
    async fn open(self: Arc<Self>, token: Option<HeaderValue>) -> Result<Arc<Connection>, Broken> {
        if let Some(left) = self.delay.left() {
            let text = format!("The server ended several times and is started again in {left:?}");
            return Err(Broken::NotReached(Message::public(text)));
        }
        let era = match self.place.era {
            EraSetting::Auto if self.legacy.load(Ordering::Relaxed) => EraSetting::Legacy,
            era => era,
        };
        let opened = Connection::open(&self.name, &self.place, era, token).await;
        match &opened {
            Ok(connection) => {
                self.legacy.store(!connection.greeting.revision.is_modern(), Ordering::Relaxed);
            }
            Err(Broken::Unauthorized(_)) => {}
            Err(_) => {
                self.legacy.store(false, Ordering::Relaxed);
                self.delay.ended(ConnectionUse::Useless);
            }
        }
        opened.map(Arc::new)
    }
}
