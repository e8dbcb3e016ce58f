//! MCP servers as sources: child processes on stdio, streamable HTTP of both eras, and the old HTTP+SSE.

mod authorization;
mod authorization_remedy;
mod backoff;
mod changes;
mod connecting;
mod connection;
mod decode;
mod follow;
#[cfg(any(test, fuzzing))]
pub(super) mod fuzz_targets;
mod greet;
mod listing;
mod message_channel;
mod outgoing;
mod outgoing_params;
mod own_lists;
mod pending_callers;
mod request_headers;
mod settings;
mod source;
mod sse_line;
mod stderr;
mod stdio;
mod streamable;
mod subscribed;

use std::sync::Arc;

use toolmux_core::ports::source::Source;

use self::settings::McpSettings;
use crate::registry::{OpenError, Opening, SourceKind};

pub(crate) const SOURCE: SourceKind =
    SourceKind { kind: "mcp", settings: || schemars::schema_for!(McpSettings), open };

fn open(opening: &Opening<'_>) -> Result<Arc<dyn Source>, OpenError> {
    let settings: McpSettings = opening.settings()?;
    let place = settings.place(opening)?;
    Ok(Arc::new(source::Upstream::new(opening.name, place)))
}
