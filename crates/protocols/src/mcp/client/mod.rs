//! MCP servers as sources: child processes on stdio, streamable HTTP of both eras, and the old HTTP+SSE.

mod auth;
mod connect;
mod decode;
mod exchange;
#[cfg(any(test, fuzzing))]
pub(super) mod fuzz_targets;
mod input_rounds;
mod legacy_listen;
mod settings;
mod source;
mod transport;

use std::sync::Arc;

use toolmux_core::ports::source::Source;

use self::settings::McpSettings;
use crate::mcp::detect::DETECTION;
use crate::registry::{OpenError, Opening, SourceKind};

pub(crate) const SOURCE: SourceKind = SourceKind {
    kind: "mcp",
    settings: || schemars::schema_for!(McpSettings),
    open,
    asks_for_tokens: |table| table.get("authorization").is_some(),
    detection: DETECTION,
};

fn open(opening: &Opening<'_>) -> Result<Arc<dyn Source>, OpenError> {
    let settings: McpSettings = opening.settings()?;
    let place = settings.place(opening)?;
    Ok(Arc::new(source::Upstream::new(opening.name, place)))
}
