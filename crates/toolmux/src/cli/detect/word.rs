//! One word of a command line: which sort of thing it names.

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::Value;
use toolmux_protocols::documents::fault::without_bom;
use toolmux_protocols::documents::read_document;
use toolmux_protocols::registry::{Companion, DocumentKind, FileHook, FilePlace, SourceKind};
use toolmux_protocols::{DOCUMENTS, SOURCES};

use super::absolute;
use crate::cli::failure::Failure;
use crate::cli::origin::CONFIG;
use crate::config::{is_clients_file, near_file};

const NAME_SOMETHING: &str = "name a file, an address, or a command after `--`";
const NO_CONFIG: &str =
    "`toolmux init` writes one; or name what to serve: a document, a library, an address, -- COMMAND";

/// What a word names.
pub(super) enum Word {
    Config(PathBuf),
    Document {
        kind: &'static DocumentKind,
        file: PathBuf,
        members: Value,
    },
    /// A file that a kind of source recognises by its name.
    File {
        kind: &'static SourceKind,
        hook: &'static FileHook,
        file: PathBuf,
    },
    /// The configuration of an MCP client.
    Clients(PathBuf),
    Address(String),
    /// A program and its arguments.
    Command(Vec<String>),
}

impl Word {
    /// True when the next word belongs to this one: a document and its library, a library and its header, a
    /// document and the address of its server.
    pub(super) fn takes(&self, next: &Word) -> bool {
        let Some(next) = next.as_companion() else { return false };
        match self {
            Word::Document { kind, members, .. } => (kind.takes)(members, &next),
            Word::File { hook, file, .. } => (hook.takes)(file, &next),
            Word::Config(_) | Word::Clients(_) | Word::Address(_) | Word::Command(_) => false,
        }
    }

    /// The word as one that may belong to the word before it.
    pub(super) fn as_companion(&self) -> Option<Companion<'_>> {
        match self {
            Word::File { file, .. } => Some(Companion::File(file)),
            Word::Address(url) => Some(Companion::Address(url)),
            Word::Config(_) | Word::Document { .. } | Word::Clients(_) | Word::Command(_) => None,
        }
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Word::Config(file)
            | Word::Document { file, .. }
            | Word::File { file, .. }
            | Word::Clients(file) => {
                let here = std::env::current_dir().unwrap_or_default();
                write!(f, "{}", file.strip_prefix(here).unwrap_or(file).display())
            }
            Word::Address(url) => f.write_str(url),
            Word::Command(argv) => f.write_str(&argv.join(" ")),
        }
    }
}

/// Which sort of thing a word names, by its form and by what is in the file.
pub(super) fn sort(word: &str) -> Result<Word, Failure> {
    if word.starts_with("http://") || word.starts_with("https://") {
        return Ok(Word::Address(word.to_owned()));
    }
    let path = Path::new(word);
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    if let Some((kind, hook, place)) = recognised(&name) {
        let is_of_system = place == FilePlace::PathOrSystem && !word.contains('/') && !path.is_file();
        let file = if is_of_system { path.to_owned() } else { there(path)? };
        return Ok(Word::File { kind, hook, file });
    }
    if path.is_file() {
        let (file, ending) = (absolute(path), name.rsplit('.').next().unwrap_or_default());
        return match ending {
            // As it was named, so that faults name it the same way.
            "toml" if !is_clients_file(&file) => Ok(Word::Config(path.to_owned())),
            "toml" => Ok(Word::Clients(file)),
            "json" | "jsonc" => json_file(file, word),
            "yaml" | "yml" => yaml_file(file, word),
            _ if is_program(&file) => Ok(Word::Command(vec![file.display().to_string()])),
            _ => Err(unknown(format!("`{word}` is not a source of tools"))),
        };
    }
    let argv: Vec<String> = word.split_whitespace().map(str::to_owned).collect();
    match argv.first() {
        Some(program) if !ends_like_a_file(program) && on_path(Path::new(program)) => Ok(Word::Command(argv)),
        _ => there(path).and_then(|_| Err(unknown(format!("`{word}` is not a source of tools")))),
    }
}

/// The kind of source whose file has such a name.
fn recognised(name: &str) -> Option<(&'static SourceKind, &'static FileHook, FilePlace)> {
    SOURCES.iter().find_map(|kind| {
        let hook = kind.detection.file.as_ref()?;
        Some((kind, hook, (hook.recognise)(name)?))
    })
}

fn json_file(file: PathBuf, word: &str) -> Result<Word, Failure> {
    let text = std::fs::read_to_string(&file).with_context(|| format!("cannot read `{word}`"))?;
    // A client's file may have comments, so it is not JSON for sure; a document is.
    let read = serde_json::from_str::<Value>(without_bom(&text));
    let has = |member: &str| read.as_ref().is_ok_and(|members| members.get(member).is_some());
    let kind = DOCUMENTS.iter().find(|kind| has(kind.member));
    match (kind, read) {
        (Some(kind), Ok(members)) => Ok(Word::Document { kind, file, members }),
        _ if is_clients_file(&file) => Ok(Word::Clients(file)),
        (_, Ok(_)) => Err(unknown_document(word)),
        (_, Err(error)) => Err(Failure::refused(anyhow::anyhow!("`{word}` is not JSON: {error}"))),
    }
}

/// Only documents are written in YAML.
fn yaml_file(file: PathBuf, word: &str) -> Result<Word, Failure> {
    let text = std::fs::read_to_string(&file).with_context(|| format!("cannot read `{word}`"))?;
    let members =
        read_document(&text).map_err(|fault| Failure::refused(anyhow::anyhow!("`{word}`:{fault}")))?;
    match DOCUMENTS.iter().find(|kind| members.get(kind.member).is_some()) {
        Some(kind) => Ok(Word::Document { kind, file, members }),
        None => Err(unknown_document(word)),
    }
}

fn unknown_document(word: &str) -> Failure {
    let members: Vec<String> = DOCUMENTS.iter().map(|kind| format!("`{}`", kind.member)).collect();
    let members = members.join(", ");
    unknown(format!("`{word}` is not a source of tools: it has none of the members {members}"))
}

fn there(path: &Path) -> Result<PathBuf, Failure> {
    if path.is_file() {
        return Ok(absolute(path));
    }
    if path.is_dir() {
        let failure = Failure::refused(anyhow::anyhow!("`{}` is a folder", path.display()));
        let config = path.join(CONFIG);
        let config = config.is_file().then(|| config.display());
        return Err(failure.hint(NAME_SOMETHING).meaning(config));
    }
    let file = path.display();
    let failure = Failure::refused(anyhow::anyhow!("there is no `{file}`"));
    let failure = match path.extension() {
        _ if path == Path::new(CONFIG) => failure.hint(NO_CONFIG),
        Some(end) if end == "toml" => {
            failure.hint(format!("`toolmux init {file}` writes a configuration; or {NAME_SOMETHING}"))
        }
        _ => failure.hint(NAME_SOMETHING),
    };
    let address = path.to_str().filter(|word| is_bare_address(word)).map(|word| format!("http://{word}"));
    Err(failure.meaning(address.or_else(|| near_file(path))))
}

/// `localhost:9700/mcp`: an address without its scheme.
fn is_bare_address(word: &str) -> bool {
    let authority = word.split('/').next().unwrap_or_default();
    let port = authority.rsplit_once(':').map(|(_, port)| port);
    port.is_some_and(|port| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()))
}

fn unknown(what: String) -> Failure {
    let documents = DOCUMENTS.iter().map(|kind| format!("an {}", kind.name));
    let files = SOURCES.iter().filter_map(|kind| Some(kind.detection.file.as_ref()?.what.to_owned()));
    let known: Vec<String> = documents.chain(files).collect();
    Failure::refused(anyhow::anyhow!(what)).hint(format!(
        "a configuration, {}, the configuration of an MCP client, an address, or -- COMMAND",
        known.join(", ")
    ))
}

fn ends_like_a_file(program: &str) -> bool {
    [".toml", ".json", ".jsonc", ".yaml", ".yml"].iter().any(|ending| program.ends_with(ending))
        || recognised(program).is_some()
}

fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata().is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}

/// Whether a program can be started by its name or its path.
pub(in crate::cli) fn on_path(program: &Path) -> bool {
    if program.components().count() > 1 {
        return is_program(program);
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).any(|folder| is_program(&folder.join(program)))
}
