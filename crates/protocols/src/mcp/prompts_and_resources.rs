//! What an MCP source has besides tools, as the core carries it from source to server.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use toolmux_core::tool::Passthrough;

use super::MCP;

/// Absent lists are capabilities that the source does not have.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct PromptsAndResources<'a> {
    #[serde(borrow, default)]
    pub(super) prompts: Option<Vec<&'a RawValue>>,
    #[serde(borrow, default)]
    pub(super) resources: Option<Vec<&'a RawValue>>,
    #[serde(borrow, default)]
    pub(super) templates: Option<Vec<&'a RawValue>>,
    /// How its tools are meant to be used, for models.
    #[serde(borrow, default)]
    pub(super) instructions: Option<Cow<'a, str>>,
    #[serde(default)]
    pub(super) completions: bool,
    #[serde(default)]
    pub(super) subscriptions: bool,
    /// How often the lists changed that each user is shown for itself; zero where all users are shown the same.
    #[serde(default)]
    pub(super) changes: u64,
}

impl<'a> PromptsAndResources<'a> {
    pub(super) fn read(offered: &'a Passthrough) -> Self {
        offered.of_protocol(MCP).and_then(|lists| serde_json::from_str(lists.get()).ok()).unwrap_or_default()
    }
}
