//! One stream of what changes: totals, sources, tools, tasks and calls, a few times a second at most. It looks at what calls
//! leave behind; no call waits for it.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::response::Response;
use futures_util::stream::unfold;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use toolmux_core::receipt::Receipt;
use toolmux_http::sse::{EVENT_STREAM, KEEP_ALIVE, encode, response};

use crate::calls_query::CallsQuery;
use crate::operator::Operator;
use crate::series::refused;
use crate::view;

/// How often it looks.
const EVERY: Duration = Duration::from_millis(500);
/// How long it is silent at most.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// How many receipts are looked at each time.
const READ: usize = 2_000;
/// How many receipts one event holds: the newest.
const TOGETHER: usize = 100;

/// What somebody who watches was told last.
struct Watcher {
    operator: Operator,
    query: CallsQuery,
    watches: Vec<String>,
    position: u64,
    told: Vec<(&'static str, String)>,
    heard: Instant,
    is_first: bool,
}

/// `?watch=totals,sources,calls,tasks`; all but tasks when nothing is said. The parameters of a list of calls choose calls.
pub(crate) async fn events(operator: Operator) -> Response {
    let query = CallsQuery::of_parameters(operator.query().into_iter().filter(|(name, _)| name != "watch"));
    let watches = operator.parameter("watch").unwrap_or_else(|| "totals,sources,calls".to_owned());
    let watcher = Watcher {
        query: query.unwrap_or_default(),
        watches: watches.split(',').map(str::to_owned).collect(),
        position: operator.web.gateway.receipts().position(),
        told: Vec::new(),
        heard: Instant::now(),
        is_first: true,
        operator,
    };
    let events = unfold(watcher, |mut watcher| async {
        let web = Arc::clone(&watcher.operator.web);
        tokio::select! {
            events = watcher.next() => Some((Ok::<_, Infallible>(events?), watcher)),
            () = web.gateway.background().closing() => None,
        }
    });
    response(Body::from_stream(events), EVENT_STREAM, "no-store")
}

impl Watcher {
    /// None once the caller is not an operator any more.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if !std::mem::take(&mut self.is_first) {
                sleep(EVERY).await;
            }
            let gateway = &self.operator.web.gateway;
            if !gateway.admission().is_operator(&self.operator.caller) {
                return None;
            }
            let mut events = self.changed().await;
            if events.is_empty() && self.heard.elapsed() >= HEARTBEAT {
                events.extend_from_slice(KEEP_ALIVE);
            }
            if !events.is_empty() {
                self.heard = Instant::now();
                return Some(events.into());
            }
        }
    }

    async fn changed(&mut self) -> Vec<u8> {
        let mut events = Vec::new();
        if self.watches("totals") {
            let totals = self.operator.console.series.totals(&self.operator.web.gateway);
            let body = json!({ "returned": totals.returned, "failed": totals.failed, "refused": refused(&totals),
                "running": totals.running, "tools": self.operator.web.gateway.catalog().len() });
            self.tell("totals", body, &mut events);
        }
        if self.watches("sources") {
            let body = json!({ "sources": view::sources(&self.operator) });
            self.tell("sources", body, &mut events);
        }
        if self.watches("tasks") {
            let body = json!({ "tasks": self.operator.task_rows(None).await.unwrap_or_default() });
            self.tell("tasks", body, &mut events);
        }
        if self.watches("calls") {
            self.tell_calls(&mut events);
        }
        events
    }

    fn watches(&self, what: &str) -> bool {
        self.watches.iter().any(|watched| watched == what)
    }

    /// Tells what is not what was told last.
    fn tell(&mut self, event: &'static str, body: Value, events: &mut Vec<u8>) {
        let body = body.to_string();
        let last = self.told.iter_mut().find(|(told, _)| *told == event);
        match last {
            Some((_, last)) if *last == body => return,
            Some((_, last)) => last.clone_from(&body),
            None => self.told.push((event, body.clone())),
        }
        events.extend_from_slice(&encode(Some(event), None, &body));
    }

    /// The newest calls since the last look, and how many more there were: a page has no use for thousands a second.
    fn tell_calls(&mut self, events: &mut Vec<u8>) {
        let log = self.operator.web.gateway.receipts();
        let end = log.position();
        let from = self.position.max(end.saturating_sub(READ as u64));
        let mut more = from - self.position;
        let logged = log.after(from, READ);
        more += logged.missed;
        self.position = logged.next.max(end);
        let fitting: Vec<&Receipt> =
            logged.receipts.iter().filter(|receipt| self.query.filter.fits(receipt)).collect();
        let skipped = fitting.len().saturating_sub(TOGETHER);
        more += skipped as u64;
        if fitting.is_empty() {
            return;
        }
        let body = json!({ "calls": &fitting[skipped..], "more": more });
        events.extend_from_slice(&encode(Some("calls"), None, &body.to_string()));
    }
}
