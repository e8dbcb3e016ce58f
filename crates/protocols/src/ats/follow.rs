//! How a task is shown to who follows it: a stream of events, or one document.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream::unfold;
use http::StatusCode;
use http::request::Parts;
use tokio::time::{sleep, timeout};
use toolmux_core::call::Caller;
use toolmux_core::task::TaskId;
use toolmux_core::tasks::Follow;
use toolmux_http::serve::{Web, json};
use toolmux_http::sse::{KEEP_ALIVE, encode, encode_json, response};

use super::wire;

/// How long nothing is said before a comment shows that the line is alive.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// How long a store that cannot answer is left alone before it is asked again.
const STORE_PAUSE: Duration = Duration::from_secs(1);

/// Every event at once as it happens; the stream ends with the task. Of an unknown task, one event of the
/// name `error`.
pub(super) fn stream(follow: Option<Follow>) -> Response {
    let body = match follow {
        Some(follow) => Body::from_stream(unfold(Some(follow), next)),
        None => Body::from(encode(Some("error"), None, wire::NO_SUCH_TASK)),
    };
    response(body, "text/event-stream; charset=utf-8", "no-store")
}

type Piece = (Result<Bytes, Infallible>, Option<Follow>);

async fn next(follow: Option<Follow>) -> Option<Piece> {
    let mut follow = follow?;
    let piece = match timeout(HEARTBEAT, follow.next()).await {
        Err(_) => Bytes::from_static(KEEP_ALIVE),
        Ok(Ok(Some(event))) => {
            encode_json(None, Some(&event.seq.to_string()), &wire::written(&wire::event(&event.change)))
        }
        Ok(Ok(None)) => return None,
        // An `error` event says that there is no such task. There is: its follower waits until the store can
        // say more.
        Ok(Err(refusal)) => {
            tracing::debug!(developer = refusal.message().developer, "a task cannot be looked at now");
            sleep(STORE_PAUSE).await;
            Bytes::from_static(KEEP_ALIVE)
        }
    };
    Some((Ok(piece), Some(follow)))
}

/// One document, when the task has ended. Dropping the future costs the task nothing.
pub(super) async fn document(web: &Web, caller: &Caller, id: &TaskId, parts: &Parts) -> Response {
    let admissions = web.gateway.admission().generation();
    let ended = async {
        if let Some(mut follow) = web.gateway.tasks().follow(caller, id, 0).await? {
            while follow.next().await?.is_some() {}
        }
        // It may have taken long, and the caller's key may have been removed since.
        if web.gateway.admission().generation() != admissions && web.admit(parts)?.name() != caller.name() {
            return Ok(None);
        }
        web.gateway.tasks().find(caller, id).await
    };
    match ended.await {
        Ok(Some(task)) => json(StatusCode::OK, wire::written(&wire::task(&task))),
        Ok(None) => wire::no_such_task(),
        Err(refusal) => wire::refuse(&refusal),
    }
}
