//! `[tools."…"]` as people write it. The doc comments are the reference manual.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use toolmux_core::requirements::{Authorization, Requirements};
use toolmux_core::sources::ToolSettings;
use toolmux_core::tool::Hints;

use super::deliver::{RawDelivery, WrittenDelivery};
use super::duration::duration;

/// Settings of one tool.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawTool {
    /// Timeout of a call. Default: `limits.call_timeout`.
    #[serde(default, deserialize_with = "duration")]
    #[schemars(with = "Option<String>")]
    timeout: Option<Duration>,
    /// Concurrent calls. Default: `limits.concurrency`.
    concurrency: Option<usize>,
    /// What a call needs besides its arguments.
    requires: Option<RawRequirements>,
    /// How the tool gets it: `{ token = "github", header = "Authorization", prefix = "Bearer " }`, `{ secret =
    /// "KEY", env = "KEY" }`, `{ user_id = true, argument = "user" }`.
    #[serde(default)]
    #[schemars(with = "Vec<WrittenDelivery>")]
    deliver: Vec<RawDelivery>,
    /// Overrides what the source says about the tool's behaviour.
    #[serde(default)]
    hints: RawHints,
    /// Hides the tool from every caller, and from workflows. `false` for one tool overrides a pattern that hides it.
    /// Default `false`.
    hidden: Option<bool>,
    /// Renames the tool: letters, digits, `_` and `-`. For a single tool, not for a pattern. Default: the name that
    /// its source gives it.
    name: Option<String>,
    /// Replaces the description of the tool. Default: the one that its source gives it.
    description: Option<String>,
    /// Arguments with a fixed value: removed from the schema that callers see, and added to every call. Use
    /// `deliver` for secrets. A pattern fixes them in the tools that have such a parameter.
    #[serde(default)]
    arguments: serde_json::Map<String, serde_json::Value>,
}

impl RawTool {
    pub(super) fn settings(self) -> ToolSettings {
        ToolSettings {
            timeout: self.timeout,
            concurrency: self.concurrency,
            requires: self.requires.map(RawRequirements::requirements),
            deliver: self.deliver.into_iter().map(RawDelivery::delivery).collect(),
            hints: self.hints.hints(),
            hidden: self.hidden,
            name: self.name,
            description: self.description,
            arguments: self.arguments,
        }
    }
}

/// What a call must bring besides its arguments.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RawRequirements {
    /// OAuth tokens of the user, by provider.
    #[serde(default)]
    authorization: Vec<RawAuthorization>,
    /// Names of secrets.
    #[serde(default)]
    secrets: Vec<String>,
    /// The tool needs the id of the user it acts for.
    #[serde(default)]
    user_id: bool,
}

/// A token of one provider.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RawAuthorization {
    /// A name in `[auth.providers]`.
    id: String,
    /// Scopes the token must have.
    #[serde(default)]
    scopes: Vec<String>,
}

impl RawRequirements {
    fn requirements(self) -> Requirements {
        let authorization =
            self.authorization.into_iter().map(|a| Authorization::new(a.id, a.scopes)).collect();
        Requirements {
            authorization,
            secrets: self.secrets,
            user_id: self.user_id,
            ..Requirements::default()
        }
    }
}

/// How a tool behaves.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RawHints {
    /// The tool changes nothing.
    read_only: Option<bool>,
    /// Calling it twice with the same arguments has the same effect as once; failed calls may be retried.
    idempotent: Option<bool>,
    /// The tool may delete or overwrite data.
    destructive: Option<bool>,
    /// The tool interacts with external systems.
    open_world: Option<bool>,
}

impl RawHints {
    fn hints(&self) -> Hints {
        Hints {
            read_only: self.read_only,
            idempotent: self.idempotent,
            destructive: self.destructive,
            open_world: self.open_world,
            tasks: None,
        }
    }
}
