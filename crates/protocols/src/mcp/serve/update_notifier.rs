//! What a running tool tells, as notifications.

use serde::Serialize;
use serde_json::value::RawValue;
use toolmux_core::json_text::{RawJson, to_raw};
use toolmux_core::progress::Update;

use super::exchange::Exchange;

/// From the least to the most severe.
const LEVELS: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// Writes updates as notifications, as far as the client asked for them.
pub(super) struct UpdateNotifier<'a> {
    exchange: &'a Exchange,
    token: Option<RawJson>,
    least: Option<usize>,
    done: f64,
}

impl<'a> UpdateNotifier<'a> {
    pub(super) fn new(exchange: &'a Exchange) -> Self {
        let params = exchange.params().unwrap_or_default();
        let meta = params.meta();
        let level = if exchange.peer.revision.is_modern() {
            meta.log_level.as_deref().map(str::to_owned)
        } else {
            Some(exchange.level())
        };
        UpdateNotifier {
            exchange,
            token: meta.progress_token.map(ToOwned::to_owned),
            least: level.map(|level| severity(&level)),
            done: f64::NEG_INFINITY,
        }
    }

    pub(super) async fn tell(&mut self, update: Update) {
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
        let Some(token) = &self.token else { return };
        // Progress must grow with every notification.
        if done <= self.done {
            return;
        }
        self.done = done;
        let told = NotificationParams {
            progress_token: token,
            progress: number(done),
            total: total.map(number),
            message,
        };
        let params = to_raw(&told).expect("progress is writable");
        self.exchange.out.notify("notifications/progress", &params).await;
    }

    async fn log(&self, level: &str, data: &RawValue) {
        #[derive(Serialize)]
        struct NotificationParams<'a> {
            level: &'a str,
            data: &'a RawValue,
        }
        if self.least.is_some_and(|least| severity(level) >= least) {
            let params = to_raw(&NotificationParams { level, data }).expect("a log line is writable");
            self.exchange.out.notify("notifications/message", &params).await;
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
