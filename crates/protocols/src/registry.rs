//! What a kind of source and a kind of document tell the rest of the program. What a protocol tells it is
//! [`toolmux_http::serve::Served`].

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use http::{HeaderMap, HeaderName};
use schemars::Schema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolmux_core::BoxFuture;
use toolmux_core::ports::source::{Listing, Source};
use toolmux_core::secret::Secret;
use toolmux_http::client::sensitive;

use crate::documents::fault::Fault;

/// A kind of source, as `kind = "…"` names it.
pub struct SourceKind {
    /// The word in the configuration.
    pub kind: &'static str,
    /// What may stand in its table.
    pub settings: fn() -> Schema,
    /// Makes a source of a table. Connects to nothing yet.
    pub open: fn(&Opening<'_>) -> Result<Arc<dyn Source>, OpenError>,
    /// Whether a source of this table asks users for tokens itself, whatever `[tools]` requires.
    pub asks_for_tokens: fn(table: &Value) -> bool,
    /// How it is recognised on a command line that names no configuration.
    pub detection: Detection,
}

/// A kind of document that people write.
pub struct DocumentKind {
    /// What it is, for people.
    pub name: &'static str,
    /// The member that only this kind has.
    pub member: &'static str,
    /// A member that means this kind in a document that has no kind's own.
    pub likely_member: Option<&'static str>,
    /// Every fault of a text as such a document.
    pub check: fn(&str) -> Vec<Fault>,
    /// The `kind` of the source that is made of it.
    pub source_kind: &'static str,
    /// True when the word behind the document on the command line belongs to it.
    pub takes: fn(document: &Value, next: &Companion<'_>) -> bool,
    /// The source that a file with such a document stands for, with the word that belongs to it.
    pub source: fn(file: &Path, companion: Option<&Companion<'_>>) -> Result<DetectedSource, OpenError>,
    /// What a source of such a document serves, where that is known without starting or asking anything.
    pub report: Option<ReportHook>,
}

/// What a source of a table serves of its document; nothing when the document is not at hand.
pub type ReportHook = fn(&Opening<'_>) -> Result<Option<DocumentReport>, OpenError>;

/// What a source makes of a document.
#[derive(Debug)]
pub struct DocumentReport {
    /// What can be called, and what cannot.
    pub listing: Listing,
    /// What the settings of the source leave out.
    pub excluded: Vec<String>,
    /// Settings of the source that have no effect on this document.
    pub warnings: Vec<String>,
}

/// How a kind of source is recognised in what people name on a command line. Documents say it by their own kind.
pub struct Detection {
    /// In an address.
    pub address: Option<AddressHook>,
    /// In a command that is to be started.
    pub command: Option<CommandHook>,
    /// In a file that is not a document.
    pub file: Option<FileHook>,
}

impl Detection {
    /// For kinds that only a configuration or a document names.
    pub const NONE: Detection = Detection { address: None, command: None, file: None };
}

/// Which addresses may be those of a kind of source.
pub struct AddressHook {
    /// What answers there, for people: `an MCP server`.
    pub what: &'static str,
    /// The tables of sources that an address may stand for. Which of them is right is found out by listing its tools.
    pub tables: fn(url: &str) -> AddressTables,
}

/// What the text of an address says about a kind of source.
pub enum AddressTables {
    /// It ends as only those of this kind do: no other kind is asked.
    Certain(Value),
    /// It may be of this kind; these are tried in this order.
    Possible(Vec<Value>),
}

impl AddressTables {
    /// For a kind of which servers have a base address, to which the source appends `path` itself.
    pub(crate) fn of_base(url: &str, path: &str) -> AddressTables {
        let url = url.trim_end_matches('/');
        match url.strip_suffix(path) {
            Some(base) => AddressTables::Certain(json!({ "url": base })),
            None => AddressTables::Possible(vec![json!({ "url": url })]),
        }
    }
}

/// How a command becomes a source.
pub struct CommandHook {
    /// What it is, for people: `a command that speaks MCP`.
    pub what: &'static str,
    /// The table of the source that a program with its arguments stands for.
    pub table: fn(argv: &[String]) -> Value,
}

/// Which files become a source, and how.
pub struct FileHook {
    /// What they are, for people: `a C library or its header`.
    pub what: &'static str,
    /// Whether a name is that of such a file, and where that file is.
    pub recognise: fn(name: &str) -> Option<FilePlace>,
    /// True when the word behind the file on the command line belongs to it.
    pub takes: fn(file: &Path, next: &Companion<'_>) -> bool,
    /// The source that a file stands for, with the word that belongs to it.
    pub source: for<'a> fn(file: &'a Path, companion: Option<Companion<'a>>) -> Detecting<'a>,
}

/// A source that is being made of a file: a library may have to be loaded for it.
pub type Detecting<'a> = BoxFuture<'a, Result<DetectedSource, OpenError>>;

/// Where a file is that is recognised by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilePlace {
    /// At the path that was named.
    Path,
    /// There, or where the system looks for a bare name, as the loader does for libraries.
    PathOrSystem,
}

/// The word behind a document or a file on the command line, which may belong to it: the library of a document, the
/// header of a library, the address of the server that a document describes.
#[derive(Clone, Copy, Debug)]
pub enum Companion<'a> {
    /// A file that a [`FileHook`] recognises.
    File(&'a Path),
    /// The address of a server.
    Address(&'a str),
}

/// What a document or a file turned out to be.
pub struct DetectedSource {
    /// What it is, for people.
    pub what: String,
    /// The file after which the source is named.
    pub file: PathBuf,
    /// Its settings, with paths as they were named.
    pub table: Value,
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

    /// Headers for every request to a server, all of them marked sensitive.
    pub(crate) fn headers(&self, settings: &BTreeMap<String, SecretSetting>) -> Result<HeaderMap, OpenError> {
        let mut headers = HeaderMap::new();
        for (name, setting) in settings {
            let secret = (self.secrets)(setting)
                .map_err(|why| OpenError::new(format!("the header `{name}` cannot be read: {why}")))?;
            let pair = HeaderName::try_from(name.as_str()).ok().zip(sensitive(secret.expose()));
            let (name, value) = pair.ok_or_else(|| {
                OpenError::new(format!("`{name}` is not a header, or its value cannot be one"))
            })?;
            headers.insert(name, value);
        }
        Ok(headers)
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
        /// The name of the variable.
        env: String,
    },
    /// In a file, of which surrounding white space is ignored.
    File {
        /// The path of the file.
        file: String,
    },
    /// Written out. Better kept elsewhere.
    Text(String),
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::{DOCUMENTS, SOURCES};

    fn opens(kind: &SourceKind, table: Value) -> Result<Arc<dyn Source>, OpenError> {
        let secrets = |_: &SecretSetting| Err("none is needed".to_owned());
        (kind.open)(&Opening { name: "any", table, folder: Path::new("."), secrets: &secrets })
    }

    #[test]
    fn each_kind_of_source_has_a_name_of_its_own() {
        let names: HashSet<&str> = SOURCES.iter().map(|kind| kind.kind).collect();
        assert_eq!(names.len(), SOURCES.len());
    }

    #[test]
    fn what_a_kind_makes_of_an_address_is_a_table_that_it_opens() {
        for kind in SOURCES {
            let Some(hook) = &kind.detection.address else { continue };
            let AddressTables::Possible(tables) = (hook.tables)("http://127.0.0.1:1/") else {
                panic!("{}: nothing in a plain address speaks for one kind", kind.kind);
            };
            assert!(!tables.is_empty(), "{}", kind.kind);
            for table in tables {
                let opened = opens(kind, table.clone());
                assert!(opened.is_ok(), "{}: {table}", kind.kind);
            }
        }
    }

    #[test]
    fn no_two_kinds_are_certain_of_one_address() {
        for ending in ["opentool", "tools", "get_tool", "mcp", "sse"] {
            let url = format!("http://h/{ending}/");
            let certain = SOURCES.iter().filter(|kind| {
                let hook = kind.detection.address.as_ref();
                hook.is_some_and(|hook| matches!((hook.tables)(&url), AddressTables::Certain(_)))
            });
            assert_eq!(certain.count(), 1, "{url}");
        }
    }

    #[test]
    fn one_kind_takes_commands_and_its_table_opens() {
        let hooks = SOURCES.iter().filter_map(|kind| Some((kind, kind.detection.command.as_ref()?)));
        let hooks: Vec<_> = hooks.collect();
        let [(kind, hook)] = hooks[..] else { panic!("{} kinds take commands", hooks.len()) };
        assert!(opens(kind, (hook.table)(&["true".to_owned()])).is_ok(), "{}", kind.kind);
    }

    #[test]
    fn each_document_becomes_a_source_of_a_kind_that_is_registered() {
        for document in DOCUMENTS {
            let registered = SOURCES.iter().any(|kind| kind.kind == document.source_kind);
            assert!(registered, "{}: {}", document.name, document.source_kind);
        }
        let members: HashSet<&str> = DOCUMENTS.iter().map(|kind| kind.member).collect();
        assert_eq!(members.len(), DOCUMENTS.len());
    }

    #[test]
    fn documents_take_only_the_words_that_belong_to_them() {
        let library = Companion::File(Path::new("libz.so.1"));
        let header = Companion::File(Path::new("zlib.h"));
        let address = Companion::Address("http://h");
        let takes = |member: &str, next: &Companion<'_>| {
            let kind = DOCUMENTS.iter().find(|kind| kind.member == member).expect("registered");
            (kind.takes)(&json!({ member: "1.0.0" }), next)
        };
        for (member, expect) in [
            ("opendyn", [true, false, false]),
            ("opentool", [false, false, true]),
            ("openworkflow", [false, false, false]),
            ("openapi", [false, false, true]),
            ("swagger", [false, false, true]),
        ] {
            assert_eq!([&library, &header, &address].map(|next| takes(member, next)), expect, "{member}");
        }
    }
}
