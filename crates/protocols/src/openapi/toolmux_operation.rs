//! Operations of another toolmux, whose document says more of a tool than OpenAPI can: they become the same tools.

use serde_json::{Map, Value};
use toolmux_core::tool::Hints;
use toolmux_core::version::Version;

use super::document::text_of;

/// What an operation says of the tool that it calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ToolmuxOperation {
    pub(super) version: Version,
    pub(super) hints: Hints,
}

/// None for an operation of anything else.
pub(super) fn toolmux_operation(operation: &Map<String, Value>) -> Option<ToolmuxOperation> {
    let (tool, version) = text_of(operation, "x-tool-id")?.rsplit_once('@')?;
    let version = version.parse().ok().filter(|_| tool.contains('.'))?;
    let said = operation.get("x-tool-hints");
    let said = |name: &str| said.and_then(|hints| hints.get(name)?.as_bool());
    let hints = Hints {
        read_only: said("read_only"),
        idempotent: said("idempotent"),
        destructive: said("destructive"),
        open_world: said("open_world"),
        tasks: None,
    };
    Some(ToolmuxOperation { version, hints })
}
