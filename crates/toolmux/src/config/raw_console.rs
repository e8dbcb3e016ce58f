//! `[console]` as people write it, and what the program makes of it. The doc comments are the reference manual.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use toolmux_console::ConsoleSettings;

use super::duration::some_time;

/// The console: what operators see and do in a browser. Operators are callers whose key has `operator = true`; without any
/// key, everybody on this machine.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawConsole {
    /// Whether there are pages at `/console` and routes below `/console/api`. Default `true`.
    enabled: Option<bool>,
    /// How long somebody stays signed in. Default `"12h"`.
    #[serde(default, deserialize_with = "some_time")]
    #[schemars(with = "Option<String>")]
    session: Option<Duration>,
    /// How many operators may be signed in at a time; the oldest session ends when there is one too many. Default `1000`.
    sessions: Option<usize>,
    /// How many attempts to sign in may fail within a minute before all are refused for the rest of it. Default `10`.
    attempts: Option<usize>,
}

impl RawConsole {
    pub(super) fn settings(&self) -> ConsoleSettings {
        let usual = ConsoleSettings::default();
        ConsoleSettings {
            enabled: self.enabled.unwrap_or(usual.enabled),
            session: self.session.unwrap_or(usual.session),
            sessions: self.sessions.unwrap_or(usual.sessions),
            attempts: self.attempts.unwrap_or(usual.attempts),
        }
    }
}
