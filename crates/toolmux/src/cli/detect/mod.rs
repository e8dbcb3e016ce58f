//! What people name on a command line, as sources: documents, files, commands and addresses as the registries of sources
//! and documents recognise them, and the configuration files of MCP clients. No kind of source is named here.

mod address;
mod name;
mod probe;
mod word;

use std::path::{Path, PathBuf};

use serde_json::Value;
use toolmux_core::plural::counted;
use toolmux_core::requirements::GrantAllowlist;
use toolmux_core::sources::Naming;
use toolmux_protocols::SOURCES;
use toolmux_protocols::registry::DetectedSource;

pub(super) use self::probe::probe;
use self::word::Word;
pub(super) use self::word::on_path;
use super::failure::Failure;
use crate::config::{SourceConfig, clients};

/// One thing that was found.
pub(super) struct Found {
    /// As it was named.
    pub(super) named: String,
    /// What it is, for people.
    pub(super) what: String,
    pub(super) sources: Vec<SourceConfig>,
    /// The file of another client that they are read from, whenever the configuration is.
    pub(super) imported: Option<PathBuf>,
    /// When `what` is known to be true.
    pub(super) certainty: Certainty,
}

/// When it is known what something is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Certainty {
    /// It was read, or has answered.
    Known,
    /// Only once it has listed its tools: a command may be anything.
    AfterListing,
}

/// What the words and the command behind `--` name.
pub(super) enum Named {
    /// A configuration, alone.
    Config(PathBuf),
    /// Sources, in the order named.
    Sources(Vec<Found>),
}

/// Finds out what everything is. Addresses are asked, headers are read.
pub(super) async fn detect(words: &[String], command: &[String], naming: Naming) -> Result<Named, Failure> {
    let mut sorted = words.iter().map(|word| word::sort(word)).collect::<Result<Vec<_>, _>>()?;
    if !command.is_empty() {
        sorted.push(Word::Command(command.to_vec()));
    }
    if let [Word::Config(file)] = &sorted[..] {
        return Ok(Named::Config(file.clone()));
    }
    if let Some(Word::Config(file)) = sorted.iter().find(|word| matches!(word, Word::Config(_))) {
        let what =
            format!("`{}` is a configuration, which cannot be combined with other sources", file.display());
        return Err(Failure::refused(anyhow::anyhow!(what))
            .hint(format!("`toolmux add X --config {}` adds a source to it", file.display())));
    }
    let mut found = Vec::new();
    let mut rest = sorted.into_iter().peekable();
    while let Some(word) = rest.next() {
        let partner = rest.next_if(|next| word.takes(next));
        found.push(resolve(word, partner).await?);
    }
    name_apart(&mut found, naming);
    Ok(Named::Sources(found))
}

async fn resolve(word: Word, partner: Option<Word>) -> Result<Found, Failure> {
    let named = word.to_string();
    let companion = partner.as_ref().and_then(Word::as_companion);
    match word {
        Word::Document { kind, file, .. } => {
            let detected = (kind.source)(&file, companion.as_ref()).map_err(Failure::refused)?;
            Ok(of_file(named, kind.source_kind, detected))
        }
        Word::File { kind, hook, file } => {
            let detected = (hook.source)(&file, companion).await.map_err(Failure::refused)?;
            Ok(of_file(named, kind.kind, detected))
        }
        Word::Clients(file) => imported(named, file),
        Word::Address(url) => address::found_at(&url).await,
        Word::Command(argv) => of_command(named, &argv),
        Word::Config(file) => {
            Err(Failure::refused(anyhow::anyhow!("`{}` is a configuration", file.display())))
        }
    }
}

fn of_file(named: String, kind: &'static str, detected: DetectedSource) -> Found {
    let DetectedSource { what, file, table } = detected;
    one(named, what, source(&name::of_file(&file), kind, table))
}

fn of_command(named: String, argv: &[String]) -> Result<Found, Failure> {
    let mut hooks = SOURCES.iter().filter_map(|kind| Some((kind, kind.detection.command.as_ref()?)));
    let Some((kind, hook)) = hooks.next() else {
        return Err(Failure::refused(anyhow::anyhow!("no kind of source is started by a command")));
    };
    let source = source(&name::of_command(argv), kind.kind, (hook.table)(argv));
    Ok(Found { certainty: Certainty::AfterListing, ..one(named, hook.what.to_owned(), source) })
}

fn imported(named: String, file: PathBuf) -> Result<Found, Failure> {
    let sources = clients(&file).map_err(|what| Failure::refused(anyhow::anyhow!(what)))?;
    if sources.is_empty() {
        return Err(Failure::refused(anyhow::anyhow!("`{named}` has no enabled MCP server")));
    }
    let what = format!("the configuration of an MCP client with {}", counted(sources.len(), "server"));
    Ok(Found { named, what, sources, imported: Some(file), certainty: Certainty::Known })
}

fn one(named: String, what: String, source: SourceConfig) -> Found {
    Found { named, what, sources: vec![source], imported: None, certainty: Certainty::Known }
}

/// Paths in the table are absolute, or relative to the present folder.
fn source(name: &str, kind: &'static str, table: Value) -> SourceConfig {
    SourceConfig {
        name: name.to_owned(),
        toolkit: name.to_owned(),
        naming: Naming::Prefixed,
        coerce: false,
        allowlist: GrantAllowlist::default(),
        kind,
        table,
        folder: PathBuf::from("."),
        disabled_tools: Vec::new(),
    }
}

/// Two sources never share a name or a toolkit, however alike their files are called.
fn name_apart(found: &mut [Found], naming: Naming) {
    let mut taken: Vec<String> = Vec::new();
    for source in found.iter_mut().flat_map(|found| &mut found.sources) {
        source.naming = naming;
        let plain = source.toolkit.clone();
        let numbered = (2..).map(|number| format!("{plain}_{number}"));
        let free = std::iter::once(plain.clone()).chain(numbered).find(|name| !taken.contains(name));
        if let Some(free) = free.filter(|free| *free != plain) {
            source.name.clone_from(&free);
            source.toolkit = free;
        }
        taken.push(source.toolkit.clone());
    }
}

/// The whole path of a file that is there.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
