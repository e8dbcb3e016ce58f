//! What configuration says of every call, swapped whole on reload, and how it is taken.

use std::collections::HashMap;
use std::sync::Arc;

use super::Gateway;
use super::admit::Admission;
use super::readmit::has_left;
use crate::audit::{AuditAction, AuditRecord};
use crate::call::Caller;
use crate::limits::Limits;
use crate::message::Message;
use crate::ports::broker::Broker;
use crate::receipt::ReceiptSettings;
use crate::secret::Secret;
use crate::sources::{SourceReport, SourceRules, ToolSettings};
use crate::toolset::{Pattern, Toolset};
use crate::trace_context::TraceSettings;

/// Rules of the gateway.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Who may ask.
    pub admission: Admission,
    /// Bounds of every call.
    pub limits: Limits,
    /// Named selections of tools.
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
    /// What is done with receipts.
    pub receipts: ReceiptSettings,
    /// Which calls are traced.
    pub traces: TraceSettings,
    /// Names of keys whose callers may see and steer the server.
    pub operators: Vec<String>,
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

    /// Whether a caller may see and steer the server: one with such a key that no toolset limits. Where nobody has to
    /// prove anything only loopback is listened on, and whoever calls works on this machine.
    pub fn is_operator(&self, caller: &Caller) -> bool {
        let named = || self.operators.iter().any(|name| name == caller.name());
        !caller.is_limited() && (self.admission.is_open() || named())
    }

    /// The part that sources work by.
    pub(super) fn source_rules(&self) -> SourceRules {
        SourceRules { limits: self.limits, toolsets: self.toolsets.clone(), tools: self.tools.clone() }
    }
}

impl Gateway {
    /// Takes new rules; every tool is looked at again under them. Keys of the store hold besides those of the rules.
    pub fn configure(&self, settings: Settings) {
        self.key_registry.with_file(settings, |settings| self.take_rules(settings));
    }

    pub(super) fn take_rules(&self, settings: Settings) {
        self.sources.configure(settings.source_rules(), || {
            self.memory.resize(settings.limits.memory);
            self.receipts.configure(settings.receipts);
            self.receipts.bound_metrics(&settings.limits);
            let now = Arc::new(settings);
            let before = self.settings.swap(Arc::clone(&now));
            // After the swap: whoever sees that admission changed must also see the new rules of it.
            self.admission_changes.changed();
            move |caller: &str| has_left(&before.admission, &now.admission, caller)
        });
    }

    /// Reads the configuration again and makes every source anew, as [`Sources`](crate::sources::Sources) does it, on
    /// behalf of a caller.
    pub async fn reconnect(self: &Arc<Self>, caller: &Caller) -> Result<Vec<SourceReport>, Message> {
        let begun = || self.audit(AuditRecord::now(caller.name(), AuditAction::SourcesReset, ""));
        self.sources.reconnect(begun).await
    }

    /// Makes one source anew on behalf of a caller; none when there is no such source, or it cannot be made anew.
    pub async fn restart_source(
        self: &Arc<Self>,
        caller: &Caller,
        name: &str,
    ) -> Result<Option<SourceReport>, Message> {
        let begun = || self.audit(AuditRecord::now(caller.name(), AuditAction::SourceRestarted, name));
        self.sources.restart(name, begun).await
    }
}
