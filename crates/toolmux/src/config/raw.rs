//! The configuration file as people write it. The doc comments are the reference manual.

use std::collections::HashMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use toolmux_core::limits::Limits;
use toolmux_core::mount::ToolSettings;
use toolmux_core::requirements::{Authorization, Requirements};
use toolmux_core::store::Retention;
use toolmux_core::tool::Hints;
use toolmux_protocols::registry::SecretSetting;
use toolmux_protocols::web::WebLimits;

use super::auth::RawAuth;
use super::deliver::{RawDelivery, WrittenDelivery};
use super::size::size;
use crate::listener::ListenLimits;
use crate::machine_memory::quarter_of_memory;

/// `toolmux.toml`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Raw {
    /// Where to listen. An address other than loopback needs a key or `[jwt]`.
    pub(super) listen: Option<String>,
    /// Where records are kept: `memory`, which is the default, `sqlite:FILE` or `postgres://…`.
    pub(super) store: Option<String>,
    /// Where tools come from. `import = "claude_desktop_config.json"`, one file or several, takes the MCP servers
    /// out of the configuration of Claude Desktop, Cursor, VS Code or Codex.
    #[serde(default)]
    #[schemars(with = "HashMap<String, RawSource>")]
    pub(super) sources: toml::Table,
    /// Settings by tool: `[tools."Math.pow"]`; `*` stands for any text.
    #[serde(default, deserialize_with = "in_order")]
    #[schemars(with = "HashMap<String, RawTool>")]
    pub(super) tools: Vec<(String, RawTool)>,
    /// Named selections of tools.
    #[serde(default, deserialize_with = "in_order")]
    #[schemars(with = "HashMap<String, RawToolset>")]
    pub(super) toolsets: Vec<(String, RawToolset)>,
    /// Callers by key. As soon as there is one, every route but `/health` asks for it.
    #[serde(default, deserialize_with = "in_order")]
    #[schemars(with = "HashMap<String, RawKey>")]
    pub(super) keys: Vec<(String, RawKey)>,
    /// JSON Web Tokens, accepted beside keys.
    pub(super) jwt: Option<RawJwt>,
    /// The server's own secrets, for tools that require them.
    #[serde(default)]
    pub(super) secrets: HashMap<String, SecretSetting>,
    /// Providers of users' tokens, for tools that act for a user.
    pub(super) auth: Option<RawAuth>,
    /// Bounds.
    pub(super) limits: Option<RawLimits>,
    /// What is kept of calls, tasks and what was done, and for how long.
    #[serde(default)]
    pub(super) retention: RawRetention,
    /// Names this server may be called by, beside those of loopback.
    #[serde(default)]
    pub(super) hosts: Vec<String>,
    /// Origins of web pages that may call this server.
    #[serde(default)]
    pub(super) origins: Vec<String>,
    /// `POST /opentool/stop` ends the server.
    #[serde(default)]
    pub(super) allow_stop: bool,
}

/// What every source has; the rest belongs to its kind.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "the shape is read for its schema; the table is taken apart by hand")]
pub(super) struct RawSource {
    /// Which kind of source.
    kind: String,
    /// The toolkit of its tools; the name of the table when absent.
    toolkit: Option<String>,
    /// `prefixed` (`Toolkit_tool`, the default) or `bare` (`tool`).
    names: Option<String>,
    /// Convert texts that are exactly the JSON of what a schema wants (`"5"` for a number, `"true"` for a boolean, `"[1]"` for
    /// an array or object) before arguments are checked; `false` when absent.
    coerce: Option<bool>,
}

/// Settings of one tool.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawTool {
    /// How long a call may take.
    #[serde(default, deserialize_with = "duration")]
    #[schemars(with = "Option<String>")]
    timeout: Option<Duration>,
    /// How many calls run at a time.
    concurrency: Option<usize>,
    /// What a call must bring.
    requires: Option<RawRequirements>,
    /// How what it needs reaches it: `{ token = "github", header = "Authorization", prefix = "Bearer " }`,
    /// `{ secret = "KEY", env = "KEY" }`, `{ user_id = true, argument = "user" }`.
    #[serde(default)]
    #[schemars(with = "Vec<WrittenDelivery>")]
    deliver: Vec<RawDelivery>,
    /// How the tool behaves, over what its source says.
    #[serde(default)]
    hints: RawHints,
}

impl RawTool {
    pub(super) fn settings(self) -> ToolSettings {
        ToolSettings {
            timeout: self.timeout,
            concurrency: self.concurrency,
            requires: self.requires.map(RawRequirements::requirements),
            deliver: self.deliver.into_iter().map(RawDelivery::delivery).collect(),
            hints: self.hints.hints(),
        }
    }
}

/// What a call must bring beside its arguments.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RawRequirements {
    /// Tokens of the user, by provider.
    #[serde(default)]
    authorization: Vec<RawAuthorization>,
    /// Names of secrets.
    #[serde(default)]
    secrets: Vec<String>,
    /// The tool must know for whom it acts.
    #[serde(default)]
    user_id: bool,
}

/// A token of one provider.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RawAuthorization {
    /// A name under `[auth.providers]`.
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
    /// Changes nothing.
    read_only: Option<bool>,
    /// Twice is the same as once.
    idempotent: Option<bool>,
    /// May destroy what was there.
    destructive: Option<bool>,
    /// Reaches beyond its own closed world.
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

/// A named selection of tools.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawToolset {
    /// Patterns such as `Math.*` and `Time.get_current_time`.
    pub(super) tools: Vec<String>,
}

/// A caller and its key.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawKey {
    /// The key; or give `sha256`.
    pub(super) key: Option<SecretSetting>,
    /// SHA-256 of the key in hexadecimal.
    pub(super) sha256: Option<String>,
    /// The only tools it opens; absent means every tool.
    pub(super) toolset: Option<String>,
}

/// Which tokens are good.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawJwt {
    /// For HS256.
    pub(super) secret: Option<SecretSetting>,
    /// Where keys for RS256 and ES256 are published.
    pub(super) jwks: Option<String>,
    /// What `aud` may be, checked when a token has it.
    #[serde(default)]
    pub(super) audience: Vec<String>,
    /// Who must have issued a token (`iss`). MCP clients are told of it and get their tokens there.
    pub(super) issuer: Option<String>,
    /// Scopes that a token must have (`scope`). MCP clients are told of them.
    #[serde(default)]
    pub(super) scopes: Vec<String>,
}

/// Bounds. Durations are written `500ms`, `5s`, `2m`.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawLimits {
    /// How long a call may take.
    #[serde(default, deserialize_with = "duration")]
    #[schemars(with = "Option<String>")]
    call_timeout: Option<Duration>,
    /// How many calls of one tool run at a time.
    concurrency: Option<usize>,
    /// How many more wait for their turn.
    queue: Option<usize>,
    /// How many calls in a row may fail because a source was not reached or its connection broke, before its
    /// circuit breaker opens and calls are refused at once. Calls that fail together count once; time limits that
    /// pass do not count. Commands and Rust functions share nothing, so that each has its own.
    breaker_failures: Option<u32>,
    /// How long the circuit breaker stays open; then one call probes.
    #[serde(default, deserialize_with = "duration")]
    #[schemars(with = "Option<String>")]
    breaker_rest: Option<Duration>,
    /// How many bytes request bodies and answers in flight may take together, such as `"512MiB"`; beyond that
    /// requests are refused as busy. A quarter of the memory of the machine, or of its control group, when absent.
    #[serde(default, deserialize_with = "size")]
    #[schemars(with = "Option<String>")]
    memory: Option<usize>,
    /// How long stopping may take in all; calls in flight may go on until shortly before.
    #[serde(default, deserialize_with = "duration")]
    #[schemars(with = "Option<String>")]
    drain: Option<Duration>,
    /// How long a stopping server that is in use goes on answering, so that clients and load balancers notice.
    #[serde(default, deserialize_with = "duration")]
    #[schemars(with = "Option<String>")]
    stop_grace: Option<Duration>,
    /// How long lists and calls wait for a source that has not listed its tools yet, counted from its start.
    #[serde(default, deserialize_with = "duration")]
    #[schemars(with = "Option<String>")]
    start_wait: Option<Duration>,
    /// How often a source is asked for its tools.
    #[serde(default, deserialize_with = "duration")]
    #[schemars(with = "Option<String>")]
    refresh: Option<Duration>,
    /// How long a source may take to list its tools.
    #[serde(default, deserialize_with = "some_time")]
    #[schemars(with = "Option<String>")]
    list_timeout: Option<Duration>,
    /// How many tools one source may have; those beyond are not served.
    tools_per_source: Option<usize>,
    /// The largest tool definitions of one source that are kept in the store for the next start, in bytes.
    definitions_bytes: Option<usize>,
    /// How many tasks run at a time.
    task_concurrency: Option<usize>,
    /// How many tasks of one caller may wait for their turn.
    task_backlog: Option<u64>,
    /// How long a task waits for a tool that is not there.
    #[serde(default, deserialize_with = "duration")]
    #[schemars(with = "Option<String>")]
    task_patience: Option<Duration>,
    /// The largest result of a task or a recorded call that is kept, in bytes.
    task_result_bytes: Option<usize>,
    /// How many updates of one task are kept.
    task_updates: Option<usize>,
    /// How many bytes of them.
    task_updates_bytes: Option<usize>,
    /// The largest request body, in bytes.
    body_bytes: Option<usize>,
    /// How long a request body may take to arrive.
    #[serde(default, deserialize_with = "some_time")]
    #[schemars(with = "Option<String>")]
    body_timeout: Option<Duration>,
    /// How many HTTP+SSE sessions of MCP (`/sse`) one caller may have open.
    sse_sessions: Option<usize>,
    /// How many requests of one such session are answered at a time; more are refused as busy.
    session_requests: Option<usize>,
    /// How long the head of a request may take to arrive.
    #[serde(default, deserialize_with = "some_time")]
    #[schemars(with = "Option<String>")]
    head_timeout: Option<Duration>,
    /// How many connections are open at a time.
    connections: Option<usize>,
}

impl RawLimits {
    pub(super) fn of_calls(&self) -> Limits {
        let default = Limits::default();
        Limits {
            call_timeout: self.call_timeout.unwrap_or(default.call_timeout),
            concurrency: self.concurrency.unwrap_or(default.concurrency),
            queue: self.queue.unwrap_or(default.queue),
            breaker_failures: self.breaker_failures.unwrap_or(default.breaker_failures),
            breaker_rest: self.breaker_rest.unwrap_or(default.breaker_rest),
            memory: self.memory.or_else(quarter_of_memory),
            drain: self.drain.unwrap_or(default.drain),
            start_wait: self.start_wait.unwrap_or(default.start_wait),
            definitions_bytes: self.definitions_bytes.unwrap_or(default.definitions_bytes),
            refresh: self.refresh.unwrap_or(default.refresh),
            list_timeout: self.list_timeout.unwrap_or(default.list_timeout),
            tools_per_source: self.tools_per_source.unwrap_or(default.tools_per_source),
            task_concurrency: self.task_concurrency.unwrap_or(default.task_concurrency),
            task_backlog: self.task_backlog.unwrap_or(default.task_backlog),
            task_patience: self.task_patience.unwrap_or(default.task_patience),
            task_result_bytes: self.task_result_bytes.unwrap_or(default.task_result_bytes),
            task_updates: self.task_updates.unwrap_or(default.task_updates),
            task_updates_bytes: self.task_updates_bytes.unwrap_or(default.task_updates_bytes),
        }
    }

    pub(super) fn of_bodies(&self) -> WebLimits {
        let default = WebLimits::default();
        WebLimits {
            body_bytes: self.body_bytes.unwrap_or(default.body_bytes),
            body_timeout: self.body_timeout.unwrap_or(default.body_timeout),
            sse_sessions: self.sse_sessions.unwrap_or(default.sse_sessions),
            session_requests: self.session_requests.unwrap_or(default.session_requests),
        }
    }

    pub(super) fn of_connections(&self) -> ListenLimits {
        let default = ListenLimits::default();
        ListenLimits {
            connections: self.connections.unwrap_or(default.connections),
            head_timeout: self.head_timeout.unwrap_or(default.head_timeout),
            drain: self.drain.unwrap_or(default.drain),
            stop_grace: self.stop_grace.unwrap_or(default.stop_grace),
        }
    }
}

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

fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let text = String::deserialize(deserializer)?;
    humantime::parse_duration(&text).map(Some).map_err(serde::de::Error::custom)
}

/// A duration within which something has to happen.
fn some_time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    match duration(deserializer)? {
        Some(Duration::ZERO) => Err(serde::de::Error::custom("nothing can happen within no time at all")),
        time => Ok(time),
    }
}

/// A table whose order matters.
fn in_order<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Vec<(String, T)>, D::Error> {
    struct InOrder<T>(std::marker::PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for InOrder<T> {
        type Value = Vec<(String, T)>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a table")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut members = Vec::new();
            while let Some(member) = map.next_entry()? {
                members.push(member);
            }
            Ok(members)
        }
    }

    deserializer.deserialize_map(InOrder(std::marker::PhantomData))
}
