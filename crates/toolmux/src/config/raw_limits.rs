//! `[limits]` as people write it. The doc comments are the reference manual.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use toolmux_core::limits::Limits;
use toolmux_http::serve::WebLimits;

use super::duration::{duration, some_time};
use super::size::size;
use crate::listener::ListenLimits;
use crate::machine_memory::default_for_requests;

/// Bounds. Durations are written `500ms`, `5s`, `2m`.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RawLimits {
    /// Timeout of a call. Default `1m`; override it per tool in `[tools]`.
    #[serde(default, deserialize_with = "duration")]
    #[schemars(with = "Option<String>")]
    call_timeout: Option<Duration>,
    /// Concurrent calls of one tool. Default 256.
    concurrency: Option<usize>,
    /// Calls of one tool that may wait beyond that; more are refused as busy. Default 1024.
    queue: Option<usize>,
    /// Consecutive failures to reach a source before its circuit breaker opens and calls are refused at once.
    /// Calls that fail together count once; timeouts do not count. Each command, Rust function and tool of an
    /// `openapi` or `http` source has its own breaker. Default 5.
    breaker_failures: Option<u32>,
    /// How long the circuit breaker stays open before one call probes the source. Default `5s`.
    #[serde(default, deserialize_with = "duration")]
    #[schemars(with = "Option<String>")]
    breaker_rest: Option<Duration>,
    /// Total size of request bodies and results in flight, such as `"512MiB"`; beyond it requests are refused as
    /// busy. Bytes are counted once, as received; with their copies the process takes up to five times as much.
    /// Default: an eighth of the memory of the machine or its cgroup.
    #[serde(default, deserialize_with = "size")]
    #[schemars(with = "Option<String>")]
    memory: Option<usize>,
    /// How long stopping may take in all; running calls may finish until shortly before. Default `10s`.
    #[serde(default, deserialize_with = "duration")]
    #[schemars(with = "Option<String>")]
    drain: Option<Duration>,
    /// How long a stopping server that is in use keeps answering, so that clients and load balancers notice.
    /// Default `2s`.
    #[serde(default, deserialize_with = "duration")]
    #[schemars(with = "Option<String>")]
    stop_grace: Option<Duration>,
    /// How long lists and calls wait for a source that has not listed its tools yet, counted from its start.
    /// Default `10s`.
    #[serde(default, deserialize_with = "duration")]
    #[schemars(with = "Option<String>")]
    start_wait: Option<Duration>,
    /// How often sources are asked for their tools. Default `1m`.
    #[serde(default, deserialize_with = "duration")]
    #[schemars(with = "Option<String>")]
    refresh: Option<Duration>,
    /// Timeout for a source to list its tools, including its start. Default `30s`.
    #[serde(default, deserialize_with = "some_time")]
    #[schemars(with = "Option<String>")]
    list_timeout: Option<Duration>,
    /// Maximum number of tools of one source; more are not served. Default 20000.
    tools_per_source: Option<usize>,
    /// Maximum size, in bytes, of the tool definitions of one source that are stored for the next start.
    /// Default 32 MiB.
    definitions_bytes: Option<usize>,
    /// Concurrent tasks. Default 256.
    task_concurrency: Option<usize>,
    /// Waiting tasks of one caller. Default 10000.
    task_backlog: Option<u64>,
    /// Total size of the requests of one caller's waiting and running tasks, such as `"64MiB"`; more are
    /// refused as busy. Default `64MiB`.
    #[serde(default, deserialize_with = "size")]
    #[schemars(with = "Option<String>")]
    task_backlog_bytes: Option<usize>,
    /// How long a task waits for an unavailable tool. Default `5m`.
    #[serde(default, deserialize_with = "duration")]
    #[schemars(with = "Option<String>")]
    task_patience: Option<Duration>,
    /// How long a finished task is kept unless its request says otherwise (MCP `ttl`), at most `retention.tasks_for`.
    /// Default `5m`.
    #[serde(default, deserialize_with = "duration")]
    #[schemars(with = "Option<String>")]
    task_ttl: Option<Duration>,
    /// Maximum size, in bytes, of a stored result of a task or call. Default 8 MiB.
    task_result_bytes: Option<usize>,
    /// Maximum number of stored updates of one task. Default 10000.
    task_updates: Option<usize>,
    /// Maximum total size, in bytes, of the stored updates of one task. Default 8 MiB.
    task_updates_bytes: Option<usize>,
    /// Callers that have metrics of their own: the busiest. All others share the label `other`; with 0 no caller is named
    /// in the metrics. Default 50.
    metrics_callers: Option<usize>,
    /// The same for tools. Default 1000.
    metrics_tools: Option<usize>,
    /// Maximum size of a request body, in bytes. Default 4 MiB.
    body_bytes: Option<usize>,
    /// Maximum number of JSON values in a request body, which take many times the memory of their text. Default
    /// 250000.
    body_values: Option<usize>,
    /// Timeout for a request body to arrive. Default `30s`.
    #[serde(default, deserialize_with = "some_time")]
    #[schemars(with = "Option<String>")]
    body_timeout: Option<Duration>,
    /// Open HTTP+SSE sessions of MCP (`/sse`) of one caller. Default 1000.
    sse_sessions: Option<usize>,
    /// Concurrent requests of one such session; more are refused as busy. Default 256.
    session_requests: Option<usize>,
    /// Timeout for the headers of a request to arrive. Default `30s`.
    #[serde(default, deserialize_with = "some_time")]
    #[schemars(with = "Option<String>")]
    head_timeout: Option<Duration>,
    /// How long a client may leave a response unread before it is disconnected. Default `30s`.
    #[serde(default, deserialize_with = "some_time")]
    #[schemars(with = "Option<String>")]
    write_timeout: Option<Duration>,
    /// Open connections; fewer if the open-file limit does not allow them. Default 16384.
    connections: Option<usize>,
    /// Open connections of one address; more are closed at once. Default: 1024 for addresses other than
    /// loopback, no limit for loopback; when set, it applies to loopback too. A reverse proxy is one address.
    connections_per_address: Option<usize>,
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
            memory: self.memory.or_else(default_for_requests),
            drain: self.drain.unwrap_or(default.drain),
            start_wait: self.start_wait.unwrap_or(default.start_wait),
            definitions_bytes: self.definitions_bytes.unwrap_or(default.definitions_bytes),
            refresh: self.refresh.unwrap_or(default.refresh),
            list_timeout: self.list_timeout.unwrap_or(default.list_timeout),
            tools_per_source: self.tools_per_source.unwrap_or(default.tools_per_source),
            task_concurrency: self.task_concurrency.unwrap_or(default.task_concurrency),
            task_backlog: self.task_backlog.unwrap_or(default.task_backlog),
            task_backlog_bytes: self
                .task_backlog_bytes
                .map_or(default.task_backlog_bytes, |size| size as u64),
            task_patience: self.task_patience.unwrap_or(default.task_patience),
            task_ttl: self.task_ttl.unwrap_or(default.task_ttl),
            task_result_bytes: self.task_result_bytes.unwrap_or(default.task_result_bytes),
            task_updates: self.task_updates.unwrap_or(default.task_updates),
            task_updates_bytes: self.task_updates_bytes.unwrap_or(default.task_updates_bytes),
            metrics_callers: self.metrics_callers.unwrap_or(default.metrics_callers),
            metrics_tools: self.metrics_tools.unwrap_or(default.metrics_tools),
        }
    }

    pub(super) fn of_bodies(&self) -> WebLimits {
        let default = WebLimits::default();
        WebLimits {
            body_bytes: self.body_bytes.unwrap_or(default.body_bytes),
            body_values: self.body_values.unwrap_or(default.body_values),
            body_timeout: self.body_timeout.unwrap_or(default.body_timeout),
            sse_sessions: self.sse_sessions.unwrap_or(default.sse_sessions),
            session_requests: self.session_requests.unwrap_or(default.session_requests),
        }
    }

    pub(super) fn of_connections(&self) -> ListenLimits {
        let default = ListenLimits::default();
        ListenLimits {
            connections: self.connections.unwrap_or(default.connections),
            connections_per_address: self.connections_per_address.or(default.connections_per_address),
            write_timeout: self.write_timeout.unwrap_or(default.write_timeout),
            head_timeout: self.head_timeout.unwrap_or(default.head_timeout),
            drain: self.drain.unwrap_or(default.drain),
            stop_grace: self.stop_grace.unwrap_or(default.stop_grace),
        }
    }
}
