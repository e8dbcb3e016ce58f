//! One tool of the catalogue, and what a source contributes to it.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::{Map, Value};

use crate::delivery::{Delivery, Place};
use crate::names::{ToolId, plain_name};
use crate::receipt::ReceiptNames;
use crate::requirements::{GrantAllowlist, Requirements};
use crate::schema::Validator;
use crate::sources::{Breaker, Gate, Mount};
use crate::tool::{Hints, Tool};
use crate::toolset::Pattern;

/// A tool as we serve it: its source's description plus our name, limits and compiled schema.
#[derive(Debug)]
pub struct Entry {
    /// Its id, such as `Calculator.Add@1.0.0`.
    pub id: ToolId,
    /// Its flat name, such as `Calculator_Add`.
    pub flat: Box<str>,
    /// The tool of the same source that has the name this one would have had; this one has a suffix.
    pub collides_with: Option<Arc<str>>,
    /// What its source says.
    pub tool: Tool,
    /// What it needs, with our configuration over what its source says.
    pub requires: Requirements,
    /// How what it needs reaches it.
    pub deliver: Vec<Delivery>,
    /// How it behaves, with our configuration over what its source says.
    pub hints: Hints,
    /// How long a call may take.
    pub timeout: Duration,
    /// What was wrong with the input schema that its source gave, and how it is read; mostly empty.
    pub repairs: Vec<String>,
    /// The input schema is not the one that its source gave.
    pub reshaped: bool,
    /// The name is not the one that its source gave, which is then nobody's.
    pub renamed: bool,
    /// The description is not the one that its source gave.
    pub redescribed: bool,
    /// Arguments that configuration fixes: they are in no schema that callers see, and in every call.
    pub fixed: Map<String, Value>,
    /// What configuration names for this tool.
    pub(crate) allowlist: GrantAllowlist,
    pub(crate) validator: Arc<Validator>,
    pub(crate) mount: Arc<Mount>,
    pub(crate) gate: Arc<Gate>,
    pub(crate) breaker: Arc<Breaker>,
    pub(crate) receipt_names: OnceLock<Arc<ReceiptNames>>,
}

impl Entry {
    /// What tells it from every other tool: its source and its id.
    pub(super) fn whose(&self) -> (&str, &ToolId) {
        (&self.mount.name, &self.id)
    }

    pub(crate) fn receipt_names(&self) -> &Arc<ReceiptNames> {
        self.receipt_names.get_or_init(|| {
            let (tool, source) = (self.id.to_string().into(), self.mount.name.as_str().into());
            Arc::new(ReceiptNames { tool, source: Some(source) })
        })
    }

    /// The name of its source in the configuration.
    pub fn source(&self) -> &str {
        &self.mount.name
    }

    /// How many of its calls run now.
    pub fn running(&self) -> usize {
        self.gate.load().running
    }

    /// How many of its calls run at a time, and how many wait.
    pub fn concurrency(&self) -> (usize, usize) {
        self.gate.limits()
    }

    /// Says which names it has because another tool of its source has the one it would have had.
    pub fn collision(&self) -> Option<String> {
        let other = self.collides_with.as_ref()?;
        Some(format!(
            "`{}` and `{other}` of source `{}` would get the same name; it is served as `{}`, id `{}.{}`",
            self.tool.name, self.mount.name, self.flat, self.id.toolkit, self.id.tool
        ))
    }

    /// True when this server may give the tool a secret of its own.
    pub(crate) fn may_have_secret(&self, id: &str) -> bool {
        self.allowlist.has_secret(id) || self.mount.allowlist.has_secret(id)
    }

    /// True when this server may give the tool a user's token of a provider.
    pub(crate) fn may_have_token(&self, provider: &str) -> bool {
        self.allowlist.has_provider(provider) || self.mount.allowlist.has_provider(provider)
    }

    /// What the tool requires and this server does not give it, because configuration names it neither for the tool
    /// nor for its source. Callers have to bring it.
    pub fn withheld(&self) -> Vec<String> {
        let secrets = self.requires.secrets.iter().filter(|id| !self.may_have_secret(id));
        let tokens = self.requires.authorization.iter().filter(|needed| !self.may_have_token(&needed.id));
        let secrets = secrets.map(|id| format!("the secret `{id}`"));
        secrets.chain(tokens.map(|needed| format!("a token of `{}`", needed.id))).collect()
    }

    /// True for an argument that we fill in ourselves and that nobody else is told of.
    pub fn fills(&self, argument: &str) -> bool {
        let delivers =
            |delivery: &Delivery| matches!(&delivery.place, Place::Argument(name) if name == argument);
        self.fixed.contains_key(argument) || self.deliver.iter().any(delivers)
    }

    /// True when a pattern means this tool, by the name that it is served by or by the one that its source gives it.
    pub fn fits(&self, pattern: &Pattern) -> bool {
        let by_source = ToolId { tool: plain_name(&self.tool.name).into(), ..self.id.clone() };
        [&self.id, &by_source].into_iter().any(|id| pattern.matches(id, &self.tool.name))
    }
}

/// A tool that is known but not served.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Unserved {
    /// Whose it is.
    pub source: String,
    /// Its own name.
    pub tool: String,
    /// Why it is not served.
    pub reason: String,
    /// What kind of reason that is.
    pub cause: UnservedCause,
}

/// What kind of reason keeps a tool from being served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnservedCause {
    /// Something is wrong with it.
    Unusable,
    /// Another tool has its name.
    Collision,
    /// Configuration hides it, as it is meant to be.
    Hidden,
}

/// What one source contributes to a snapshot.
#[derive(Debug, Default)]
pub(crate) struct SourceTools {
    pub(crate) entries: Vec<Arc<Entry>>,
    pub(crate) unserved: Vec<Unserved>,
}
