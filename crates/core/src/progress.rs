//! What a running tool tells before it ends.

use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use crate::json_text::RawJson;

/// How many updates wait for a slow follower before the tool waits too.
const QUEUE: usize = 64;

/// One thing a tool tells while it runs.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Update {
    /// How far it is.
    Progress {
        /// Done so far; grows.
        done: f64,
        /// Of how much, if known.
        total: Option<f64>,
        /// In words.
        message: Option<String>,
    },
    /// A part of its result.
    Data(RawJson),
    /// A line for the log of whoever follows.
    Log {
        /// As in syslog: `debug`, `info`, `warning`, `error` …
        level: String,
        /// Any JSON value.
        data: RawJson,
    },
}

/// Where a source sends updates. Sending to nobody costs nothing.
#[derive(Clone, Debug, Default)]
pub struct Progress(Option<mpsc::Sender<Update>>);

impl Progress {
    /// Nobody follows.
    pub fn unheard() -> Self {
        Progress(None)
    }

    /// A pair of ends. The receiver ends when every clone of the sender is gone.
    pub fn channel() -> (Self, mpsc::Receiver<Update>) {
        let (sender, receiver) = mpsc::channel(QUEUE);
        (Progress(Some(sender)), receiver)
    }

    /// True when somebody follows, for tools whose updates are costly to make.
    pub fn is_heard(&self) -> bool {
        self.0.is_some()
    }

    /// Sends an update; waits when the follower is slow, returns at once when there is none.
    pub async fn send(&self, update: Update) {
        if let Some(sender) = &self.0 {
            // A follower that left does not concern the tool.
            sender.send(update).await.ok();
        }
    }
}
