//! Receipts: as a list, one alone, or as they come.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::response::Response;
use futures_util::stream::unfold;
use http::StatusCode;
use serde_json::json;
use tokio::time::{Instant, sleep};
use toolmux_core::call::Caller;
use toolmux_core::receipt::ReceiptFilter;
use toolmux_http::serve::{PathPart, Web};
use toolmux_http::sse::{EVENT_STREAM, KEEP_ALIVE, encode, response};

use crate::answer::{message, store_failed, value};
use crate::calls_query::CallsQuery;
use crate::operator::Operator;
use crate::view::{find_receipt, listed_receipts};

/// How often followers are given what has come.
const FOLLOW_EVERY: Duration = Duration::from_millis(200);
/// How long a follower hears nothing at most.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// How many receipts a follower is given at a time.
const TOGETHER: usize = 500;

pub(crate) async fn list(operator: Operator) -> Response {
    match CallsQuery::read(&operator.uri) {
        Err(what) => message(StatusCode::BAD_REQUEST, &what),
        Ok(query) if query.follow => follow(operator.web, operator.caller, query.filter),
        Ok(query) => match listed_receipts(&operator.web, &query).await {
            Ok(listed) => value(StatusCode::OK, &listed),
            Err(error) => store_failed(&operator.uri, error),
        },
    }
}

pub(crate) async fn show(operator: Operator, PathPart(receipt): PathPart) -> Response {
    match find_receipt(&operator.web, &receipt).await {
        Ok(Some(body)) => toolmux_http::serve::json(StatusCode::OK, body),
        Ok(None) => message(StatusCode::NOT_FOUND, "there is no receipt with this id; it may have expired"),
        Err(error) => store_failed(&operator.uri, error),
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
