//! One word of a command line: which sort of thing it names.

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::Value;
use toolmux_protocols::DOCUMENTS;

use super::absolute;
use crate::cli::failure::Failure;
use crate::cli::origin::CONFIG;
use crate::config::{is_clients_file, near_file};

const NAME_SOMETHING: &str = "name a file, an address, or a command behind `--`";
const NO_CONFIG: &str =
    "`toolmux init` writes one; or name what to serve: a document, a library, an address, -- COMMAND";

/// What a word names.
pub(super) enum Word {
    Config(PathBuf),
    OpenDyn(PathBuf),
    /// And whether it says where its server is.
    OpenTool(PathBuf, HasServer),
    Workflow(PathBuf),
    Library(PathBuf),
    Header(PathBuf),
    /// The configuration of an MCP client.
    Clients(PathBuf),
    Address(String),
    /// Program and arguments of an MCP server.
    Command(Vec<String>),
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum HasServer {
    Yes,
    No,
}

impl Word {
    /// True when the next word belongs to this one: a document and its library, a library and its header, a
    /// document and the address of its server.
    pub(super) fn takes(&self, next: &Word) -> bool {
        matches!(
            (self, next),
            (Word::OpenDyn(_) | Word::Header(_), Word::Library(_))
                | (Word::Library(_), Word::Header(_))
                | (Word::OpenTool(_, HasServer::No), Word::Address(_))
        )
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Word::Config(file)
            | Word::OpenDyn(file)
            | Word::OpenTool(file, _)
            | Word::Workflow(file)
            | Word::Library(file)
            | Word::Header(file)
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
    if is_library(&name) {
        let bare = !word.contains('/') && !path.is_file();
        return Ok(Word::Library(if bare { path.to_owned() } else { there(path)? }));
    }
    if path.is_file() {
        let (file, ending) = (absolute(path), name.rsplit('.').next().unwrap_or_default());
        return match ending {
            "h" => Ok(Word::Header(file)),
            // As it was named, so that faults name it the same way.
            "toml" if !is_clients_file(&file) => Ok(Word::Config(path.to_owned())),
            "toml" => Ok(Word::Clients(file)),
            "json" | "jsonc" => json_file(file, word),
            _ if is_program(&file) => Ok(Word::Command(vec![file.display().to_string()])),
            _ => Err(unknown(word)),
        };
    }
    let argv: Vec<String> = word.split_whitespace().map(str::to_owned).collect();
    match argv.first() {
        Some(program) if !ends_like_a_file(program) && on_path(program) => Ok(Word::Command(argv)),
        _ => there(path).map(|_| unknown(word)).and_then(Err),
    }
}

fn json_file(file: PathBuf, word: &str) -> Result<Word, Failure> {
    let text = std::fs::read_to_string(&file).with_context(|| format!("cannot read `{word}`"))?;
    // A client's file may have comments, so it is not JSON for sure; a document is.
    let read = serde_json::from_str(&text);
    let members: &Value = read.as_ref().unwrap_or(&Value::Null);
    let kind = DOCUMENTS.iter().find(|kind| members.get(kind.member).is_some());
    match kind.map(|kind| kind.member) {
        Some("opendyn") => Ok(Word::OpenDyn(file)),
        Some("opentool") => {
            let server = members.pointer("/server/url").map_or(HasServer::No, |_| HasServer::Yes);
            Ok(Word::OpenTool(file, server))
        }
        Some(_) => Ok(Word::Workflow(file)),
        None if is_clients_file(&file) => Ok(Word::Clients(file)),
        None => Err(match read {
            Ok(_) => unknown(word),
            Err(error) => Failure::refused(anyhow::anyhow!("`{word}` is not JSON: {error}")),
        }),
    }
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
    let failure = Failure::refused(anyhow::anyhow!("there is no `{}`", path.display()));
    let failure = failure.hint(if path == Path::new(CONFIG) { NO_CONFIG } else { NAME_SOMETHING });
    let address = path.to_str().filter(|word| is_bare_address(word)).map(|word| format!("http://{word}"));
    Err(failure.meaning(address.or_else(|| near_file(path))))
}

/// `localhost:9700/mcp`: an address without its scheme.
fn is_bare_address(word: &str) -> bool {
    let authority = word.split('/').next().unwrap_or_default();
    let port = authority.rsplit_once(':').map(|(_, port)| port);
    port.is_some_and(|port| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()))
}

fn unknown(word: &str) -> Failure {
    Failure::refused(anyhow::anyhow!("`{word}` is nothing that tools can come from")).hint(
        "a configuration, an OpenDyn or OpenTool document, a C library, the configuration of an MCP client, an address, or -- COMMAND",
    )
}

/// `libz.so`, `libz.so.1.2`, `libz.dylib`.
fn is_library(name: &str) -> bool {
    let ending = Path::new(name).extension();
    ending.is_some_and(|ending| ending == "so" || ending == "dylib") || name.contains(".so.")
}

fn ends_like_a_file(program: &str) -> bool {
    [".toml", ".json", ".jsonc", ".h"].iter().any(|ending| program.ends_with(ending))
}

fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata().is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}

fn on_path(program: &str) -> bool {
    if program.contains('/') {
        return is_program(Path::new(program));
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).any(|folder| is_program(&folder.join(program)))
}
