//! What a running tool tells, as notifications.

use serde::Serialize;
use serde_json::value::RawValue;
use toolmux_core::json_text::{RawJson, to_raw};
use toolmux_core::progress::Update;

use crate::mcp::notifications::{MESSAGE, PROGRESS};
use crate::mcp::serve::request::Exchange;

/// From the least to the most severe.
const LEVELS: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// Writes updates as notifications, as far as the client asked for them.
pub(in crate::mcp) struct UpdateNotifier<'a> {
    exchange: &'a Exchange,
    token: Option<&'a RawValue>,
    least: Option<usize>,
    done: f64,
}

impl<'a> UpdateNotifier<'a> {
    pub(in crate::mcp) fn new(exchange: &'a Exchange) -> Self {
        let meta = exchange.params().ok().map(|params| &params.meta);
        let level = if exchange.peer.revision.is_modern() {
            meta.and_then(|meta| meta.log_level.as_deref()).map(severity)
        } else {
            Some(severity(&exchange.level()))
        };
        UpdateNotifier {
            exchange,
            token: meta.and_then(|meta| meta.progress_token.as_deref()),
            least: level,
            done: f64::NEG_INFINITY,
        }
    }

    pub(in crate::mcp) async fn notify(&mut self, update: Update) {
        match update {
            Update::Progress { done, total, message } => self.progress(done, total, message).await,
            Update::Log { level, data } => self.log(&level, &data).await,
            // MCP has no partial results.
            Update::Data(_) => {}
        }
    }

    async fn progress(&mut self, done: f64, total: Option<f64>, message: Option<String>) {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct NotificationParams<'a> {
            progress_token: &'a RawValue,
            progress: RawJson,
            #[serde(skip_serializing_if = "Option::is_none")]
            total: Option<RawJson>,
            #[serde(skip_serializing_if = "Option::is_none")]
            message: Option<String>,
        }
        let Some(token) = self.token else { return };
        // Progress must grow with every notification.
        if done <= self.done {
            return;
        }
        self.done = done;
        let params = NotificationParams {
            progress_token: token,
            progress: number(done),
            total: total.map(number),
            message,
        };
        let params = to_raw(&params).expect("progress is writable");
        self.exchange.out.notify(PROGRESS, &params).await;
    }

    async fn log(&self, level: &str, data: &RawValue) {
        #[derive(Serialize)]
        struct NotificationParams<'a> {
            level: &'a str,
            data: &'a RawValue,
        }
        if self.least.is_some_and(|least| severity(level) >= least) {
            let params = to_raw(&NotificationParams { level, data }).expect("a log line is writable");
            self.exchange.out.notify(MESSAGE, &params).await;
        }
    }
}

/// Whole numbers are written as such.
fn number(value: f64) -> RawJson {
    let whole = value.fract() == 0.0 && value.abs() < 9e15;
    if whole { to_raw(&(value as i64)) } else { to_raw(&value) }.expect("a number is writable")
}

fn severity(level: &str) -> usize {
    LEVELS.iter().position(|known| *known == level).unwrap_or(1)
}
