//! A connection that all messages share, with the tasks that read and write it: a child's standard streams (`stdio.rs`),
//! or HTTP+SSE (`http_sse.rs`).

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use toolmux_core::message::Message;
use toolmux_core::ports::source::Relayed;

use super::broken::Broken;
use super::follow::Following;
use super::message_channel::MessageChannel;
use super::outgoing::Cut;
use super::stderr::StderrTail;
use super::upstream_request::UpstreamRequest;

/// How long the tasks may take to end: a child is given twice two seconds of it to end by itself.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(6);

/// Dropping it aborts its tasks: a child is killed with all its descendants, a stream is closed.
pub(in crate::mcp) struct Duplex {
    pub(in crate::mcp) messages: Arc<MessageChannel>,
    /// Of a child: why it failed, in its own words.
    stderr: Option<StderrTail>,
    /// Tells the tasks to end.
    stop: CancellationToken,
    tasks: Mutex<JoinSet<()>>,
}

impl Duplex {
    /// The tasks end by themselves once `stop` is cancelled.
    pub(super) fn new(
        messages: Arc<MessageChannel>,
        stderr: Option<StderrTail>,
        stop: CancellationToken,
        tasks: JoinSet<()>,
    ) -> Self {
        Duplex { messages, stderr, stop, tasks: Mutex::new(tasks) }
    }

    pub(super) async fn request(
        &self,
        mut request: UpstreamRequest<'_>,
        following: &Following<'_>,
    ) -> Result<Relayed, Broken> {
        let message = request.take_message();
        let answer = self.messages.request(request.id, message, following).await;
        // The end of a child may be seen before its last lines on standard error are, which say why it ended; also before
        // the request was written, if the child ended at once.
        if let (Some(stderr), Err(Cut::Ended | Cut::NotSent)) = (&self.stderr, &answer) {
            stderr.all_read().await;
        }
        answer.map_err(|cut| self.broken(cut))
    }

    /// Ends the connection. A child may end by itself, is then asked to, then made to. Whoever still waits for an answer
    /// is told afterwards that there is none: until then the server may give it.
    pub(super) async fn close(&self) {
        self.stop.cancel();
        let mut tasks = self.tasks.lock().await;
        // A grandchild that holds a pipe open must not hold us.
        timeout(CLOSE_TIMEOUT, async { while tasks.join_next().await.is_some() {} }).await.ok();
        tasks.abort_all();
        self.messages.close();
    }

    /// True when we stopped it, for want of calls or for good.
    pub(in crate::mcp) fn is_stopped(&self) -> bool {
        self.stop.is_cancelled()
    }

    fn broken(&self, cut: Cut) -> Broken {
        let message = |text: &str| match self.stderr.as_ref().and_then(StderrTail::text) {
            Some(lines) => Message::public(text).developer(lines),
            None => Message::public(text),
        };
        match cut {
            Cut::NotSent => Broken::NotReached(message("The server is not running")),
            Cut::Ended => Broken::Lost(message("The server ended")),
            Cut::NotTaken(why) => why,
            Cut::NoMemory => Broken::Lost(message("The server's answer was dropped")),
            Cut::TooLong => Broken::Lost(message("The server's answer is longer than `max_message` allows")),
        }
    }
}
