//! `toolmux add`: a source more in a configuration, once it has answered. The text that is there stays.

use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use serde_json::{Value, json};
use toolmux_core::names::is_plain;
use toolmux_core::plural::counted;
use toolmux_core::sources::Naming;

use super::credentials_offered::credentials_offered;
use super::detect::{Found, Named, detect, probe};
use super::failure::{Failure, whole};
use super::missing_program::missing_program;
use super::origin::CONFIG;
use super::terminal::{Terminal, note, print_line};
use crate::config::{Config, SourceConfig};

/// Add a source to a configuration, if it lists its tools.
///
/// Takes the same arguments as `toolmux serve`: a document, a C library with its header in the same folder, an address,
/// the file of an MCP client, or the command of an MCP server after `--`.
///
/// Example: toolmux add --name Everything -- npx -y @modelcontextprotocol/server-everything
#[derive(clap::Args)]
pub(super) struct Add {
    /// A document, a library, an address or the file of an MCP client.
    #[arg(value_name = "FILE|URL", required_unless_present = "command")]
    words: Vec<String>,
    /// The command of an MCP server, after `--`.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
    /// The name of the source and of its toolkit.
    #[arg(long)]
    name: Option<String>,
    /// The configuration to add it to.
    #[arg(long, default_value = CONFIG)]
    config: PathBuf,
    /// Print what was added as JSON on standard output.
    #[arg(long)]
    json: bool,
}

/// What goes into the configuration.
struct Addition {
    /// Lines of TOML.
    text: String,
    /// A document of its own, and where it goes.
    document: Option<(PathBuf, String)>,
}

impl Add {
    pub(super) async fn run(self, terminal: &Terminal) -> Result<ExitCode, Failure> {
        if !self.config.exists() {
            let failure = Failure::no_file(&self.config);
            let name = self.config.display();
            return Err(failure.hint_more(format!("`toolmux init {name}` writes a new configuration")));
        }
        let config = Config::load(&self.config)?;
        let Named::Sources(mut found) = detect(&self.words, &self.command, Naming::Prefixed).await? else {
            return Err(Failure::refused(anyhow::anyhow!(
                "a configuration cannot be a source of another one"
            ))
            .hint("name a document, a library, an address, or -- COMMAND"));
        };
        self.rename(&mut found)?;
        let taken = |source: &&SourceConfig| config.sources.iter().any(|known| known.name == source.name);
        if let Some(source) = found.iter().flat_map(|found| &found.sources).find(taken) {
            let what = format!("`{}` already has a source `{}`", self.config.display(), source.name);
            return Err(Failure::refused(anyhow::anyhow!(what)).hint("choose another name with --name NAME"));
        }
        let (mut additions, mut added) = (Vec::new(), Vec::new());
        for found in &found {
            let answered = answered(found, terminal).await?;
            note(&format!("found {}: {}", found.named, found.what));
            added.extend(answered);
            additions.push(addition(found, folder(&self.config))?);
        }
        self.append(&additions)?;
        if self.json {
            print_line(&format!("{:#}", Value::from(added)));
        }
        Ok(ExitCode::SUCCESS)
    }

    fn rename(&self, found: &mut [Found]) -> Result<(), Failure> {
        let Some(name) = &self.name else { return Ok(()) };
        let refuse = |what: String| Err(Failure::refused(anyhow::anyhow!(what)));
        if !is_plain(name) {
            return refuse(format!("`{name}` has characters other than ASCII letters, digits and _"));
        }
        match found {
            [Found { sources, imported: None, .. }] => {
                for source in sources {
                    source.name.clone_from(name);
                    source.toolkit.clone_from(name);
                }
                Ok(())
            }
            _ => refuse("--name is for one source".to_owned()),
        }
    }

    /// Writes to a second file and moves it, so that nobody reads half of it, and only what can be read again.
    fn append(&self, additions: &[Addition]) -> Result<(), Failure> {
        let name = self.config.display();
        let old = fs::read_to_string(&self.config).with_context(|| format!("cannot read `{name}`"))?;
        let gap = if old.is_empty() || old.ends_with('\n') { "" } else { "\n" };
        let texts: Vec<&str> = additions.iter().map(|addition| addition.text.as_str()).collect();
        let new = format!("{old}{gap}\n{}", texts.join("\n"));
        Config::read(&new, &name.to_string(), folder(&self.config))
            .map_err(|fault| Failure::from(fault).hint("the file was not changed; add the lines by hand"))?;
        for (file, text) in additions.iter().filter_map(|addition| addition.document.as_ref()) {
            let written = fs::OpenOptions::new().write(true).create_new(true).open(file);
            written
                .and_then(|mut written| written.write_all(text.as_bytes()))
                .with_context(|| format!("cannot write `{}`", file.display()))?;
        }
        let beside = self.config.with_extension("toml.new");
        // It may hold secrets, and its permissions are set only after it is written.
        let written =
            fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&beside);
        let moved = written
            .and_then(|mut written| written.write_all(new.as_bytes()))
            .and_then(|()| fs::set_permissions(&beside, fs::metadata(&self.config)?.permissions()))
            .and_then(|()| fs::rename(&beside, &self.config));
        moved.with_context(|| format!("cannot write `{name}`"))?;
        note(&format!("added to {name}:\n\n{}", texts.join("\n").trim_end()));
        Ok(())
    }
}

/// Asks every source for its tools; one must answer.
async fn answered(found: &Found, terminal: &Terminal) -> Result<Vec<Value>, Failure> {
    let (mut answered, mut silent) = (Vec::new(), Vec::new());
    for source in &found.sources {
        terminal.show(&format!("waiting for {}", source.name));
        let probed = probe(source).await;
        terminal.clear();
        match probed? {
            Ok(listing) => {
                let names: Vec<&str> = listing.tools.iter().map(|tool| &*tool.name).collect();
                note(&format!("{}: {}: {}", source.name, counted(names.len(), "tool"), some(&names)));
                if let Some(offer) = credentials_offered(&source.name, &listing.tools) {
                    note(&offer);
                }
                answered.push(json!({ "source": source.name, "kind": source.kind, "tools": names }));
            }
            Err(message) => silent.push(format!("source `{}`: {}", source.name, whole(&message))),
        }
    }
    if answered.is_empty() {
        let why = found.sources.iter().find_map(missing_program);
        let why = why.unwrap_or("run it by hand to see why it fails; RUST_LOG=debug shows more");
        return Err(
            Failure::refused(anyhow::anyhow!(silent.join("\n"))).hint(format!("nothing was added; {why}"))
        );
    }
    for line in silent {
        note(&line);
    }
    Ok(answered)
}

fn some(names: &[&str]) -> String {
    let first = names.iter().take(8).copied().collect::<Vec<_>>().join(", ");
    if names.len() > 8 { format!("{first}, …") } else { first }
}

fn folder(config: &Path) -> &Path {
    config.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn addition(found: &Found, folder: &Path) -> Result<Addition, Failure> {
    if let Some(file) = &found.imported {
        let text = format!("[sources]\nimport = [{}]\n", Value::from(near(file, folder)));
        return Ok(Addition { text, document: None });
    }
    let (mut lines, mut document) = (Vec::new(), None);
    for source in &found.sources {
        lines.push(format!("[sources.{}]\nkind = \"{}\"\n", source.name, source.kind));
        for (key, value) in source.table.as_object().into_iter().flatten() {
            let value = match (key.as_str(), value) {
                ("document", Value::Object(_)) => {
                    let name = format!("{}.{}.json", source.name, source.kind);
                    document = Some((folder.join(&name), format!("{value:#}\n")));
                    name.into()
                }
                ("document", Value::String(path)) => near(Path::new(path), folder).into(),
                ("library", Value::String(path)) => near_library(path, folder).into(),
                _ => value.clone(),
            };
            let value = toml::Value::try_from(value).context("the source cannot be written as TOML")?;
            lines.push(format!("{key} = {value}\n"));
        }
        // A command was proved here; its arguments may mean files of this folder.
        if let (Some(_), Some(here)) = (source.table.get("command"), elsewhere(folder)) {
            lines.push(format!("folder = {}\n", Value::from(here)));
        }
    }
    Ok(Addition { text: lines.concat(), document })
}

/// The present folder, when it is not that of the configuration.
fn elsewhere(folder: &Path) -> Option<String> {
    let here = std::env::current_dir().ok()?;
    (folder.canonicalize().ok()? != here.canonicalize().ok()?).then(|| here.display().to_string())
}

/// A path as the configuration should have it: relative when it is below its folder.
fn near(path: &Path, folder: &Path) -> String {
    let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    path.strip_prefix(&folder).unwrap_or(path).display().to_string()
}

/// The same for a library, whose name alone would be looked for where the system has its libraries.
fn near_library(path: &str, folder: &Path) -> String {
    let near = near(Path::new(path), folder);
    if near != path && !near.contains('/') { format!("./{near}") } else { near }
}
