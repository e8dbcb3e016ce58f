//! A tool as its source describes it.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::json_text::RawJson;
use crate::requirements::Requirements;
use crate::schema::Schema;
use crate::version::Version;

/// A callable with a schema and a version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tool {
    /// The name its own source knows it by.
    pub name: Arc<str>,
    /// The version that its source gives it.
    pub version: Version,
    /// What it does, for humans and models.
    pub description: String,
    /// What it takes.
    pub input: Schema,
    /// What it gives.
    pub returns: Returns,
    /// What it needs besides its arguments.
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Returns {
    /// Nothing: the value is null.
    Nothing,
    /// Its author does not say.
    Anything,
    /// A value of this schema.
    Matching(Schema),
}

/// What an author says of a tool's behaviour; absent means not said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hints {
    /// It changes nothing outside of itself.
    pub read_only: Option<bool>,
    /// Twice is the same as once.
    pub idempotent: Option<bool>,
    /// May destroy what was there.
    pub destructive: Option<bool>,
    /// Reaches beyond its own closed world.
    pub open_world: Option<bool>,
    /// Whether it runs as a task.
    pub tasks: Option<TaskSupport>,
}

/// Whether a tool runs as a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TaskSupport {
    /// It never runs as a task.
    Forbidden,
    /// When its caller wants that.
    Optional,
    /// In no other way.
    Required,
}

impl Hints {
    /// These hints, with what `over` says taking precedence.
    pub fn overridden_by(self, over: Hints) -> Hints {
        Hints {
            read_only: over.read_only.or(self.read_only),
            idempotent: over.idempotent.or(self.idempotent),
            destructive: over.destructive.or(self.destructive),
            open_world: over.open_world.or(self.open_world),
            tasks: over.tasks.or(self.tasks),
        }
    }

    /// True when running the tool again does no harm.
    pub fn repeatable(self) -> bool {
        self.read_only == Some(true) || self.idempotent == Some(true)
    }
}

/// What one protocol knows and others do not, kept as it came: the protocol's name and its own JSON, so that
/// the same protocol on the other side loses nothing. It is kept wherever what it belongs to is, and so never
/// holds what a caller gave as a credential.
#[derive(Clone, Debug, Default)]
pub struct Passthrough(Option<Arc<PassthroughParts>>);

#[derive(Debug, Serialize, Deserialize)]
struct PassthroughParts {
    protocol: Cow<'static, str>,
    text: RawJson,
    /// Whether the caller is asked for more. Written only where it is, so that what was stored before reads the same.
    #[serde(default, skip_serializing_if = "Purpose::is_answer")]
    purpose: Purpose,
}

/// What a protocol's own JSON is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Purpose {
    /// It says more of what it belongs to.
    #[default]
    Answer,
    /// It asks the caller for more, which is no end of its call.
    Question,
}

impl Purpose {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
    fn is_answer(&self) -> bool {
        *self == Purpose::Answer
    }
}

impl Passthrough {
    /// Keeps what `protocol` said.
    pub fn of(protocol: &'static str, said: RawJson) -> Self {
        Passthrough::new(protocol, said, Purpose::Answer)
    }

    /// The same for a result that asks its caller for more before the tool can do what was wanted: nothing to
    /// be recorded as what came of the call.
    pub fn asking(protocol: &'static str, said: RawJson) -> Self {
        Passthrough::new(protocol, said, Purpose::Question)
    }

    fn new(protocol: &'static str, said: RawJson, purpose: Purpose) -> Self {
        let parts = PassthroughParts { protocol: Cow::Borrowed(protocol), text: said, purpose };
        Passthrough(Some(Arc::new(parts)))
    }

    /// What `protocol` said, if this came by it.
    pub fn of_protocol(&self, protocol: &str) -> Option<&serde_json::value::RawValue> {
        self.0.as_deref().filter(|said| said.protocol == protocol).map(|said| &*said.text)
    }

    /// True when nobody said anything.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// How much was said, in bytes.
    pub fn size(&self) -> usize {
        self.0.as_deref().map_or(0, |said| said.text.get().len())
    }

    /// True when the caller is asked for more.
    pub fn asks(&self) -> bool {
        self.0.as_deref().is_some_and(|parts| parts.purpose == Purpose::Question)
    }
}

impl PartialEq for Passthrough {
    fn eq(&self, other: &Self) -> bool {
        match (self.0.as_deref(), other.0.as_deref()) {
            (None, None) => true,
            (Some(one), Some(other)) => {
                let (text, other_text) = (one.text.get(), other.text.get());
                (&one.protocol, text, one.purpose) == (&other.protocol, other_text, other.purpose)
            }
            (Some(_), None) | (None, Some(_)) => false,
        }
    }
}

impl Serialize for Passthrough {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.as_deref().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Passthrough {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Passthrough(Option::<PassthroughParts>::deserialize(deserializer)?.map(Arc::new)))
    }
}
