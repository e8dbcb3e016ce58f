//! What a tool call is and the one path it takes.
//!
//! No network, no SQL and no wire shapes live here: sources bring tools in through [`ports::source::Source`],
//! stores keep records through [`ports::store::Store`], users allow tokens through [`ports::broker::Broker`].
//! [`sources::Sources`] feeds the catalogue, [`gateway::Gateway`] is the path that protocols speak to, and
//! [`tasks::Tasks`] runs calls in the background.

pub mod answer_memory;
pub mod arguments;
pub mod audit;
pub mod background;
pub mod backoff;
pub mod call;
pub mod catalog;
mod coercion;
pub mod delivery;
pub mod duty_cycle;
pub mod example;
#[cfg(any(test, fuzzing))]
pub mod fuzz_targets;
pub mod gateway;
pub mod hex;
pub mod json_text;
pub mod limits;
mod local_tasks;
pub mod memory;
pub mod memory_budget;
pub mod message;
pub mod metrics;
pub mod millis;
pub mod names;
pub mod nearest;
pub mod outcome;
pub mod plural;
pub mod ports;
pub mod progress;
pub mod receipt;
pub mod redact;
pub mod refusal;
pub mod requirements;
pub mod schema;
pub mod schema_repair;
pub mod secret;
pub mod size;
pub mod sources;
pub mod task;
mod task_follow;
mod task_questions;
pub mod tasks;
pub mod time_limit;
pub mod tool;
pub mod toolset;
pub mod trace_context;
pub mod version;

/// A boxed future, the price of `dyn` at the three ports.
pub type BoxFuture<'a, T> = std::pin::Pin<Box<dyn Future<Output = T> + Send + 'a>>;
