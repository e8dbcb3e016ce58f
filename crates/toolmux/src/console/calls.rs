//! `GET /console/api/calls` and `/console/api/calls/{receipt}`: receipts, as a list, one alone, or as they come.

use std::collections::HashSet;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::response::Response;
use futures_util::stream::unfold;
use http::StatusCode;
use serde_json::json;
use tokio::time::{Instant, sleep};
use toolmux_core::call::Caller;
use toolmux_core::gateway::ReceiptBacklog;
use toolmux_core::ports::store::StoreError;
use toolmux_core::receipt::{Receipt, ReceiptFilter, ReceiptId, list_kept};
use toolmux_http::serve::{PathPart, Web};
use toolmux_http::sse::{EVENT_STREAM, KEEP_ALIVE, encode, response};

use super::answer::{message, operator, store_failed};
use super::query::CallsQuery;

/// How often followers are given what has come.
const FOLLOW_EVERY: Duration = Duration::from_millis(200);
/// How long a follower hears nothing at most.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// How many receipts a follower is given at a time.
const TOGETHER: usize = 500;

pub(super) async fn list(State(web): State<Arc<Web>>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    let caller = match operator(&web, &parts) {
        Ok(caller) => caller,
        Err(refused) => return *refused,
    };
    match CallsQuery::read(&parts.uri) {
        Err(what) => message(StatusCode::BAD_REQUEST, &what),
        Ok(query) if query.follow => follow(web, caller, query.filter),
        Ok(query) => match listed(&web, &query).await {
            Ok(calls) => {
                let kept = if web.gateway.stored_receipts().reader().is_some() { "store" } else { "memory" };
                let ReceiptBacklog { waiting, lost } = web.gateway.stored_receipts().backlog();
                let body = json!({ "calls": calls, "kept": kept, "waiting": waiting, "lost": lost });
                toolmux_http::serve::json(StatusCode::OK, body.to_string())
            }
            Err(error) => store_failed(error),
        },
    }
}

/// What this server remembers, and what the store keeps of all servers.
async fn listed(web: &Web, query: &CallsQuery) -> Result<Vec<Receipt>, StoreError> {
    let own = web.gateway.receipts().list(|receipt| query.filter.fits(receipt), query.limit);
    let Some(store) = web.gateway.stored_receipts().reader() else { return Ok(own) };
    let kept = list_kept(&*store, &query.filter, query.limit).await?;
    let known: HashSet<ReceiptId> = own.iter().map(|receipt| receipt.id).collect();
    let mut all = own;
    all.extend(kept.receipts.into_iter().filter(|receipt| !known.contains(&receipt.id)));
    all.sort_by_key(|receipt| std::cmp::Reverse(receipt.id));
    all.truncate(query.limit);
    Ok(all)
}

pub(super) async fn show(
    State(web): State<Arc<Web>>,
    PathPart(receipt): PathPart,
    request: Request,
) -> Response {
    let (parts, _) = request.into_parts();
    if let Err(refused) = operator(&web, &parts) {
        return *refused;
    }
    let unknown = || message(StatusCode::NOT_FOUND, "there is no receipt with this id; it may have expired");
    let Ok(id) = receipt.parse::<ReceiptId>() else { return unknown() };
    let found = |body: String| toolmux_http::serve::json(StatusCode::OK, body);
    if let Some(receipt) = web.gateway.receipts().find(id) {
        return found(receipt.to_json());
    }
    let Some(store) = web.gateway.stored_receipts().reader() else { return unknown() };
    match store.receipt_find(id).await {
        Ok(Some(body)) => found(body),
        Ok(None) => unknown(),
        Err(error) => store_failed(error),
    }
}

/// What a follower has been given.
struct Followed {
    web: Arc<Web>,
    caller: Caller,
    filter: ReceiptFilter,
    position: u64,
    heard: Instant,
}

/// Calls that end here from now on, one event each. Nobody is told of them by the calls themselves: the log is looked at
/// from time to time, so that a call costs the same whoever follows.
fn follow(web: Arc<Web>, caller: Caller, filter: ReceiptFilter) -> Response {
    let position = web.gateway.receipts().position();
    let followed = Followed { web, caller, filter, position, heard: Instant::now() };
    let events = unfold(followed, |mut followed| async {
        let web = Arc::clone(&followed.web);
        tokio::select! {
            events = followed.next() => Some((Ok::<_, Infallible>(events?), followed)),
            () = web.gateway.background().closing() => None,
        }
    });
    response(Body::from_stream(events), EVENT_STREAM, "no-store")
}

impl Followed {
    /// None once the caller is not an operator any more. A key that is gone ends the stream as it does every other.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if !self.web.gateway.admission().is_operator(&self.caller) {
                return None;
            }
            let logged = self.web.gateway.receipts().after(self.position, TOGETHER);
            self.position = logged.next;
            let mut events = Vec::new();
            if logged.missed > 0 {
                let missed = json!({ "missed": logged.missed }).to_string();
                events.extend_from_slice(&encode(Some("missed"), None, &missed));
            }
            for receipt in logged.receipts.iter().filter(|receipt| self.filter.fits(receipt)) {
                events.extend_from_slice(&encode(None, Some(&receipt.id.to_string()), &receipt.to_json()));
            }
            if events.is_empty() && self.heard.elapsed() >= HEARTBEAT {
                events.extend_from_slice(KEEP_ALIVE);
            }
            if !events.is_empty() {
                self.heard = Instant::now();
                return Some(events.into());
            }
            sleep(FOLLOW_EVERY).await;
        }
    }
}
