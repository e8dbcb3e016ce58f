//! `[limits]` as people write it. The doc comments are the reference manual.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use toolmux_core::limits::Limits;
use toolmux_http::serve::WebLimits;

use super::duration::{duration, some_time};
use super::size::size;
use crate::listener::ListenLimits;
use crate::machine_memory::quarter_of_memory;

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
    /// How many bytes the requests of a caller's waiting and running tasks may have, such as `"64MiB"`; beyond that
    /// more are refused as busy.
    #[serde(default, deserialize_with = "size")]
    #[schemars(with = "Option<String>")]
    task_backlog_bytes: Option<usize>,
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
    /// How many JSON values a request body may hold, which take many times the memory of their text.
    body_values: Option<usize>,
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
    /// How long a client may leave an answer unread before its connection is cut.
    #[serde(default, deserialize_with = "some_time")]
    #[schemars(with = "Option<String>")]
    write_timeout: Option<Duration>,
    /// How many connections are open at a time; fewer where the limit on open files leaves no room for them.
    connections: Option<usize>,
    /// How many connections one address has open at a time; more are closed at once. When absent, 1,024 for each
    /// address beyond this machine; when set, it holds for this machine too. A proxy is one address.
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
            memory: self.memory.or_else(quarter_of_memory),
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
            task_result_bytes: self.task_result_bytes.unwrap_or(default.task_result_bytes),
            task_updates: self.task_updates.unwrap_or(default.task_updates),
            task_updates_bytes: self.task_updates_bytes.unwrap_or(default.task_updates_bytes),
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
