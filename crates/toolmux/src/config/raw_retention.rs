//! `[retention]` as people write it. The doc comments are the reference manual.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use toolmux_core::store::Retention;

use super::duration::duration;

/// What is kept and for how long; older and more is removed in the background. Durations are written `24h`,
/// `7days`.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawRetention {
    /// How long ended calls are kept, and by that how long an id means the same call.
    #[serde(default, deserialize_with = "duration")]
    #[schemars(with = "Option<String>")]
    calls_for: Option<Duration>,
    /// How many calls are kept at most, the newest.
    calls: Option<u64>,
    /// How long a task may wait for its turn.
    #[serde(default, deserialize_with = "duration")]
    #[schemars(with = "Option<String>")]
    pending_for: Option<Duration>,
    /// How long ended tasks are kept at most, whatever their submitters asked for.
    #[serde(default, deserialize_with = "duration")]
    #[schemars(with = "Option<String>")]
    tasks_for: Option<Duration>,
    /// How many ended tasks are kept at most, the newest.
    tasks: Option<u64>,
    /// How long audit records are kept.
    #[serde(default, deserialize_with = "duration")]
    #[schemars(with = "Option<String>")]
    audit_for: Option<Duration>,
    /// How many audit records are kept at most, the newest.
    audit: Option<u64>,
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
            pending_for: self.pending_for.unwrap_or(default.pending_for),
            tasks_for: self.tasks_for.unwrap_or(default.tasks_for),
            tasks: self.tasks.unwrap_or(default.tasks),
            audit_for: self.audit_for.unwrap_or(default.audit_for),
            audit: self.audit.unwrap_or(default.audit),
            definitions_for: self.definitions_for.unwrap_or(default.definitions_for),
        }
    }
}
