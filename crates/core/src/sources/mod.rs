//! What feeds the catalogue: sources in their places, what they list, and the limits and circuit breakers of their tools.
//!
//! Knows the catalogue and the ports, and neither the gateway nor tasks.

mod breaker;
mod definitions;
mod entries;
mod fair_queue;
mod gate;
mod mount;
mod mounting;
mod refresh;
mod rules;
mod shaping;
mod slots;
mod source_metrics;
mod source_names;
mod starting;
mod tool_state;
mod unused_settings;

pub(crate) use self::breaker::{Breaker, Counted, Since};
pub(crate) use self::gate::Gate;
pub use self::mount::{Mount, Naming, Reopen};
pub use self::mounting::Reread;
pub(crate) use self::rules::SourceRules;
pub use self::rules::ToolSettings;
pub(crate) use self::slots::SourceSlot;
pub use self::slots::{SourceReport, SourceStatus, Sources};
#[cfg(any(test, fuzzing))]
pub(crate) use self::source_names::SourceNames;
pub use self::unused_settings::UnusedSetting;
