//! `[retention]` as people write it. The doc comments are the reference manual.

use std::time::Duration;

use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use toolmux_core::ports::store::Retention;

use super::duration::duration;
use super::size::size;

/// What is kept and for how long; older and more is removed in the background. Durations are written `24h`,
/// `7days`.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawRetention {
    /// How long finished calls are kept; this is also the idempotency window. Default 7 days.
    #[serde(default, deserialize_with = "duration")]
    #[schemars(with = "Option<String>")]
    calls_for: Option<Duration>,
    /// Maximum number of kept calls, the newest of each caller; at most 100,000 in memory. Default 1000000.
    calls: Option<u64>,
    /// Maximum total size of their results, such as `"1GiB"`. Default 256 MiB in memory, 4 GiB in a database.
    /// Beyond it the oldest results are removed: a repeat gets the error that the tool already ran, and nothing runs.
    #[serde(default, deserialize_with = "size")]
    #[schemars(with = "Option<String>")]
    calls_bytes: Option<usize>,
    /// How long a task may wait to be run. Default 24 hours.
    #[serde(default, deserialize_with = "duration")]
    #[schemars(with = "Option<String>")]
    pending_for: Option<Duration>,
    /// How long finished tasks are kept at most, whatever was requested for them. Default 7 days.
    #[serde(default, deserialize_with = "duration")]
    #[schemars(with = "Option<String>")]
    tasks_for: Option<Duration>,
    /// Maximum number of finished tasks, the newest of each caller. Default 100000.
    tasks: Option<u64>,
    /// Maximum total size of their results and updates. Default, and beyond it, as for `calls_bytes`.
    #[serde(default, deserialize_with = "size")]
    #[schemars(with = "Option<String>")]
    tasks_bytes: Option<usize>,
    /// How long audit records are kept. Default 90 days.
    #[serde(default, deserialize_with = "duration")]
    #[schemars(with = "Option<String>")]
    audit_for: Option<Duration>,
    /// Maximum number of audit records other than refused calls, the newest of each caller; at most 10,000 in
    /// memory. Default 100000.
    audit: Option<u64>,
    /// Maximum number of audit records of refused calls, the newest of each caller; at most 10,000 in memory.
    /// Default 20000.
    refusals: Option<u64>,
    /// The largest share of each of these limits that one caller may use, in percent from 1 to 100. If all
    /// callers together exceed a limit, records of the callers that have the most are removed first. Default 50.
    #[serde(default, deserialize_with = "percent")]
    #[schemars(range(min = 1, max = 100))]
    caller_share: Option<u8>,
    /// How long tool definitions are kept that no server has confirmed. Default 30 days.
    #[serde(default, deserialize_with = "duration")]
    #[schemars(with = "Option<String>")]
    definitions_for: Option<Duration>,
}

impl RawRetention {
    pub(super) fn retention(&self) -> Retention {
        let default = Retention::default();
        Retention {
            calls_for: self.calls_for.unwrap_or(default.calls_for),
            calls: self.calls.unwrap_or(default.calls),
            calls_bytes: self.calls_bytes.map(|size| size as u64),
            pending_for: self.pending_for.unwrap_or(default.pending_for),
            tasks_for: self.tasks_for.unwrap_or(default.tasks_for),
            tasks: self.tasks.unwrap_or(default.tasks),
            tasks_bytes: self.tasks_bytes.map(|size| size as u64),
            audit_for: self.audit_for.unwrap_or(default.audit_for),
            audit: self.audit.unwrap_or(default.audit),
            refusals: self.refusals.unwrap_or(default.refusals),
            caller_share: self.caller_share.unwrap_or(default.caller_share),
            definitions_for: self.definitions_for.unwrap_or(default.definitions_for),
        }
    }
}

fn percent<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u8>, D::Error> {
    let percent = u8::deserialize(deserializer)?;
    if (1..=100).contains(&percent) {
        return Ok(Some(percent));
    }
    Err(D::Error::custom("a percentage must be from 1 to 100"))
}
