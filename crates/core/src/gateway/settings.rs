//! What configuration says of every call, swapped whole on reload.

use std::collections::HashMap;
use std::sync::Arc;

use super::admit::Admission;
use crate::call::Caller;
use crate::limits::Limits;
use crate::mount::ToolSettings;
use crate::names::ToolId;
use crate::ports::broker::Broker;
use crate::secret::Secret;
use crate::toolset::{Pattern, Toolset};

/// Rules of the gateway.
#[derive(Debug, Default)]
pub struct Settings {
    /// Who may ask.
    pub admission: Admission,
    /// Bounds of every call.
    pub limits: Limits,
    /// Named selections.
    pub toolsets: Vec<Toolset>,
    /// Settings by tool; an exact name wins over a pattern.
    pub tools: Vec<(Pattern, ToolSettings)>,
    /// The server's own secrets, for tools that require them.
    pub vault: HashMap<String, Secret>,
    /// Who keeps tokens of users; absent means that requests must bring them.
    pub broker: Option<Arc<dyn Broker>>,
    /// Callers that are told the developer half of messages, by name; `*` at the end stands for any text.
    pub developers: Vec<String>,
    /// Where callers reach this server, when that is not where it listens.
    pub public_url: Option<String>,
}

impl Settings {
    /// Whether a caller is told the developer half of messages. Where nobody has to prove anything only loopback is
    /// listened on, and whoever calls works on this machine.
    pub fn is_developer(&self, caller: &Caller) -> bool {
        let fits = |name: &String| match name.strip_suffix('*') {
            Some(beginning) => caller.name().starts_with(beginning),
            None => caller.name() == name,
        };
        self.admission.is_open() || self.developers.iter().any(fits)
    }

    /// What configuration says of a tool: what stands under its name, and what patterns say beside that.
    pub fn of_tool(&self, id: &ToolId, own: &str) -> ToolSettings {
        let fitting = |exact: bool| {
            let fits = move |(pattern, _): &&(Pattern, ToolSettings)| {
                pattern.is_exact() == exact && pattern.matches(id, own)
            };
            self.tools.iter().filter(fits).map(|(_, settings)| settings)
        };
        fitting(true).chain(fitting(false)).fold(ToolSettings::default(), ToolSettings::or)
    }
}
