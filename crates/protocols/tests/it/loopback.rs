//! The contract of sources, and every kind of source under it: `toolmux` runs it for C libraries, whose workers are its
//! own binary.

mod apis;
mod children;
pub(crate) mod contract;
mod described;
mod remote;
mod workflows;

use std::sync::Arc;

use serde_json::Value;
use toolmux_core::ports::source::Source;
use toolmux_protocols::SOURCES;
use toolmux_protocols::registry::Opening;

/// A source of a kind by its table.
pub(crate) fn open(kind: &str, table: Value) -> Arc<dyn Source> {
    let kind = SOURCES.iter().find(|known| known.kind == kind).expect("registered");
    let folder = std::env::temp_dir();
    let secrets = |_: &_| Err("no secrets here".to_owned());
    let opening = Opening { name: "Near", table, folder: &folder, secrets: &secrets };
    (kind.open)(&opening).unwrap_or_else(|error| panic!("{error}"))
}
