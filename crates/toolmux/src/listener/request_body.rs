//! The body of a request. When it is refused before it was read, the rest is read and discarded, up to a limit: most
//! clients read the answer only after they have sent everything, and to some a connection or stream that is closed while
//! they still send is an error, so that they would never see why they were refused.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Bytes;
use http::{Request, header};
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::task::JoinSet;
use tokio::time::timeout;

/// How many bytes of a refused body are discarded before its connection or stream is closed.
const MOST_DISCARDED: usize = 4 << 20;

/// How long that may take.
const DISCARDED_WITHIN: Duration = Duration::from_secs(2);

/// The refused bodies of one connection that are being discarded. Dropping it ends that.
#[derive(Debug, Default)]
pub(super) struct RefusedBodies(Mutex<Option<JoinSet<()>>>);

impl RefusedBodies {
    fn discard(&self, body: Incoming) {
        let mut tasks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let tasks = tasks.get_or_insert_default();
        while tasks.try_join_next().is_some() {}
        tasks.spawn(async move {
            timeout(DISCARDED_WITHIN, discard(body)).await.ok();
        });
    }
}

async fn discard(mut body: Incoming) {
    let mut left = MOST_DISCARDED;
    while let Some(Ok(frame)) = body.frame().await {
        let read = frame.data_ref().map_or(0, Bytes::len);
        let Some(rest) = left.checked_sub(read) else { return };
        left = rest;
    }
}

/// The body of a request, of which nothing is left unread.
pub(super) struct RequestBody {
    body: Option<Incoming>,
    /// The client waits with its body until it is asked for it, and it was not.
    is_held_back: bool,
    refused: Arc<RefusedBodies>,
}

impl RequestBody {
    /// A request whose body is discarded when nobody reads it.
    pub(super) fn of(request: Request<Incoming>, refused: &Arc<RefusedBodies>) -> Request<Self> {
        let is_held_back = request.headers().contains_key(header::EXPECT);
        request.map(|body| RequestBody { body: Some(body), is_held_back, refused: Arc::clone(refused) })
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        self.is_held_back = false;
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        let polled = Pin::new(body).poll_frame(context);
        if matches!(polled, Poll::Ready(None | Some(Err(_)))) {
            self.body = None;
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map(Body::size_hint).unwrap_or_default()
    }
}

impl Drop for RequestBody {
    fn drop(&mut self) {
        if self.is_end_stream() || self.is_held_back {
            return;
        }
        if let Some(body) = self.body.take() {
            self.refused.discard(body);
        }
    }
}
