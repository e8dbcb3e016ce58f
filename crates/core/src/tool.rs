//! A tool as its source describes it.

use std::sync::Arc;

use crate::json_text::RawJson;
use crate::requirements::Requirements;
use crate::schema::Schema;
use crate::version::Version;

/// A callable with a schema and a version.
#[derive(Clone, Debug, PartialEq)]
pub struct Tool {
    /// The name its own source knows it by.
    pub name: Arc<str>,
    /// The version.
    pub version: Version,
    /// What it does, for humans and models.
    pub description: String,
    /// What it takes.
    pub input: Schema,
    /// What it gives.
    pub returns: Returns,
    /// What it needs beside its arguments.
    pub requires: Requirements,
    /// What its author says of its behaviour.
    pub hints: Hints,
    /// What only the protocol it came by can say.
    pub extra: Passthrough,
}

impl Tool {
    /// A tool that takes anything its schema allows, gives anything and needs nothing.
    pub fn new(name: impl Into<Arc<str>>, description: impl Into<String>, input: Schema) -> Self {
        Tool {
            name: name.into(),
            version: Version::FIRST,
            description: description.into(),
            input,
            returns: Returns::Anything,
            requires: Requirements::default(),
            hints: Hints::default(),
            extra: Passthrough::default(),
        }
    }
}

/// What a tool gives.
#[derive(Clone, Debug, PartialEq)]
pub enum Returns {
    /// Nothing: the value is null.
    Nothing,
    /// Its author does not say.
    Anything,
    /// A value of this schema.
    Matching(Schema),
}

/// What an author says of a tool's behaviour; absent means not said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// Changes nothing.
    pub read_only: Option<bool>,
    /// Twice is the same as once.
    pub idempotent: Option<bool>,
    /// May destroy what was there.
    pub destructive: Option<bool>,
    /// Reaches beyond its own closed world.
    pub open_world: Option<bool>,
}

impl Hints {
    /// These hints, with what `over` says taking precedence.
    pub fn overridden_by(self, over: Hints) -> Hints {
        Hints {
            read_only: over.read_only.or(self.read_only),
            idempotent: over.idempotent.or(self.idempotent),
            destructive: over.destructive.or(self.destructive),
            open_world: over.open_world.or(self.open_world),
        }
    }

    /// True when running the tool again does no harm.
    pub fn repeatable(self) -> bool {
        self.read_only == Some(true) || self.idempotent == Some(true)
    }
}

/// What one protocol knows and others do not, kept as it came: the protocol's name and its own JSON
/// object, so that the same protocol on the other side loses nothing.
#[derive(Clone, Debug, Default)]
pub struct Passthrough(Option<Arc<(&'static str, RawJson)>>);

impl Passthrough {
    /// Keeps what `protocol` said.
    pub fn of(protocol: &'static str, said: RawJson) -> Self {
        Passthrough(Some(Arc::new((protocol, said))))
    }

    /// What `protocol` said, if this came by it.
    pub fn said_by(&self, protocol: &str) -> Option<&serde_json::value::RawValue> {
        self.0.as_deref().filter(|(name, _)| *name == protocol).map(|(_, said)| &**said)
    }
}

impl PartialEq for Passthrough {
    fn eq(&self, other: &Self) -> bool {
        let text =
            |extra: &Passthrough| extra.0.as_deref().map(|(name, said)| (*name, said.get().to_owned()));
        text(self) == text(other)
    }
}
