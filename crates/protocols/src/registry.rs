//! What a kind of source and a kind of document tell the rest of the program. What a protocol tells it is
//! [`toolmux_http::serve::Served`].

use std::path::Path;
use std::sync::Arc;

use schemars::Schema;
use serde::Deserialize;
use serde_json::Value;
use toolmux_core::ports::source::Source;
use toolmux_core::secret::Secret;

use crate::documents::fault::Fault;

/// A kind of source, as `kind = "…"` names it.
pub struct SourceKind {
    /// The word in the configuration.
    pub kind: &'static str,
    /// What may stand in its table.
    pub settings: fn() -> Schema,
    /// Makes a source of a table. Connects to nothing yet.
    pub open: fn(&Opening<'_>) -> Result<Arc<dyn Source>, OpenError>,
}

/// A kind of document that people write.
pub struct DocumentKind {
    /// What it is, for people.
    pub name: &'static str,
    /// The member that only this kind has.
    pub member: &'static str,
    /// Every fault of a text as such a document.
    pub check: fn(&str) -> Vec<Fault>,
}

/// What a kind of source gets to open one.
pub struct Opening<'a> {
    /// The name of the source in the configuration.
    pub name: &'a str,
    /// Its table, without the members that every source has.
    pub table: Value,
    /// Relative paths are relative to this folder.
    pub folder: &'a Path,
    /// Reads a secret where it is kept.
    pub secrets: &'a dyn Fn(&SecretSetting) -> Result<Secret, String>,
}

impl Opening<'_> {
    /// The table as the settings of a kind.
    pub fn settings<T: for<'de> Deserialize<'de>>(&self) -> Result<T, OpenError> {
        T::deserialize(&self.table).map_err(|error| OpenError::misfit(&error))
    }

    /// A secret that may be absent.
    pub fn secret(&self, setting: Option<&SecretSetting>) -> Result<Option<Secret>, OpenError> {
        setting
            .map(self.secrets)
            .transpose()
            .map_err(|why| OpenError::new(format!("a secret of it cannot be read: {why}")))
    }
}

/// Why a source cannot be made of its table. The words name keys, never values: any value may be a secret.
#[derive(Debug, thiserror::Error)]
#[error("{what}")]
pub struct OpenError {
    what: String,
    is_misfit: bool,
    /// What to do about it, when we know.
    pub hint: Option<String>,
}

impl OpenError {
    /// Says what is wrong.
    pub fn new(what: impl Into<String>) -> Self {
        OpenError { what: what.into(), is_misfit: false, hint: None }
    }

    /// A table that cannot be read as the settings of its kind. Of the words of the reader only the name of a key is
    /// kept, the rest may quote a value.
    pub(crate) fn misfit(error: &serde_json::Error) -> Self {
        let said = error.to_string();
        let what = match said.strip_prefix("missing field `").and_then(|rest| rest.split_once('`')) {
            Some((name, _)) => format!("it needs `{name}`"),
            None => "one of its settings has a value that is not of the expected kind".to_owned(),
        };
        OpenError { is_misfit: true, ..OpenError::new(what) }
    }

    /// True when the table cannot be read as the settings of its kind.
    pub fn is_misfit(&self) -> bool {
        self.is_misfit
    }

    /// Adds what to do about it.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// Where a secret is kept: `{ env = "NAME" }`, `{ file = "path" }`, or the text itself.
#[derive(Clone, Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum SecretSetting {
    /// In an environment variable.
    Env {
        /// Its name.
        env: String,
    },
    /// In a file, of which surrounding white space is ignored.
    File {
        /// Its path.
        file: String,
    },
    /// Written out. Better kept elsewhere.
    Text(String),
}
