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
    /// How long ended calls are kept, and by that how long an id means the same call.
    #[serde(default, deserialize_with = "duration")]
    #[schemars(with = "Option<String>")]
    calls_for: Option<Duration>,
    /// How many calls are kept at most, the newest of each caller; at most 100,000 in memory.
    calls: Option<u64>,
    /// How many bytes of their results are kept, such as `"1GiB"`; 256 MiB in memory and 4 GiB in a database when
    /// absent. Of calls beyond that is kept that their tool ran: the same id is answered so, and runs nothing.
    #[serde(default, deserialize_with = "size")]
    #[schemars(with = "Option<String>")]
    calls_bytes: Option<usize>,
    /// How long a task may wait for its turn.
    #[serde(default, deserialize_with = "duration")]
    #[schemars(with = "Option<String>")]
    pending_for: Option<Duration>,
    /// How long ended tasks are kept at most, whatever their submitters asked for.
    #[serde(default, deserialize_with = "duration")]
    #[schemars(with = "Option<String>")]
    tasks_for: Option<Duration>,
    /// How many ended tasks are kept at most, the newest of each caller.
    tasks: Option<u64>,
    /// How many bytes of their results and updates are kept; absent and beyond it as for `calls_bytes`.
    #[serde(default, deserialize_with = "size")]
    #[schemars(with = "Option<String>")]
    tasks_bytes: Option<usize>,
    /// How long audit records are kept.
    #[serde(default, deserialize_with = "duration")]
    #[schemars(with = "Option<String>")]
    audit_for: Option<Duration>,
    /// How many audit records are kept at most beside those of refused calls, the newest of each caller; at most
    /// 10,000 in memory.
    audit: Option<u64>,
    /// How many audit records of refused calls are kept at most, the newest of each caller; at most 10,000 in memory.
    refusals: Option<u64>,
    /// The largest part of each of these numbers that one caller has, in percent from 1 to 100. When all callers
    /// together have too much, those who have the most lose first.
    #[serde(default, deserialize_with = "percent")]
    #[schemars(range(min = 1, max = 100))]
    caller_share: Option<u8>,
    /// How long tool definitions are kept that no server has confirmed.
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
