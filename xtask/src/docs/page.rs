//! A page and what holding it to its word means for each kind of block.

use std::fs;
use std::path::Path;

use anyhow::{Context, bail};

use super::block::{Block, Said, blocks};
use super::expected;
use super::place::Place;
use super::shell::Shell;

pub(super) struct Page {
    path: String,
    blocks: Vec<Block>,
}

impl Page {
    pub(super) fn read(path: &str, text: &str) -> anyhow::Result<Self> {
        Ok(Self { path: path.to_owned(), blocks: blocks(text).with_context(|| path.to_owned())? })
    }

    /// From top to bottom, in one shell, as a reader does; gives how many blocks there were to hold to their word.
    pub(super) fn follow(&self, place: &Place) -> anyhow::Result<usize> {
        let mut shell = Shell::start(place)?;
        let mut held = 0;
        for block in &self.blocks {
            if let Some(name) = block.file() {
                write(&place.project().join(name), &block.text)?;
            }
            let checked = check(block, place, &mut shell);
            held += usize::from(checked.with_context(|| format!("{}:{}", self.path, block.line))?);
        }
        Ok(held)
    }
}

/// Whether the block is of a kind that is held to its word.
fn check(block: &Block, place: &Place, shell: &mut Shell) -> anyhow::Result<bool> {
    match block.language.as_str() {
        "console" => follow_transcript(&block.transcript()?, shell)?,
        "sh" => run(&format!("set -e\n{}set +e\n", block.text), shell)?,
        "toml" => check_toml(block, place, shell)?,
        "json" => drop(serde_json::from_str::<serde_json::Value>(&block.text).context("this is not JSON")?),
        "python" => {
            let text = serde_json::to_string(&block.text)?;
            run(&format!("python3 - <<'PAGE'\ncompile({text}, 'block', 'exec')\nPAGE\n"), shell)?;
        }
        _ => return Ok(false),
    }
    Ok(true)
}

fn follow_transcript(transcript: &[Said], shell: &mut Shell) -> anyhow::Result<()> {
    for (index, said) in transcript.iter().enumerate() {
        let status_is_told = transcript.get(index + 1).is_some_and(|next| next.command == "echo $?");
        let context = || format!("`{}`", said.command);
        if goes_on(&said.command) {
            shell.serve(said.command.trim_end_matches(" &"), &said.output).with_context(context)?;
            continue;
        }
        let ended = shell.run(&said.command).with_context(context)?;
        if ended.status != 0 && !status_is_told {
            bail!("`{}` ended with status {} and said:\n{}", said.command, ended.status, ended.output);
        }
        if !said.output.is_empty() && !expected::fits(&said.output, &ended.output) {
            bail!("`{}` should say:\n{}\nbut says:\n{}", said.command, said.output.join("\n"), ended.output);
        }
    }
    Ok(())
}

/// A server, or what a reader would put into the background.
fn goes_on(command: &str) -> bool {
    command.ends_with(" &") || command.split(' ').any(|word| word == "serve" || word == "--example")
}

fn run(script: &str, shell: &mut Shell) -> anyhow::Result<()> {
    let ended = shell.run(script)?;
    if ended.status != 0 {
        bail!("it ended with status {} and said:\n{}", ended.status, ended.output);
    }
    Ok(())
}

/// A configuration must be good, with some text for every secret that it takes from the environment.
fn check_toml(block: &Block, place: &Place, shell: &mut Shell) -> anyhow::Result<()> {
    if block.file() == Some("Cargo.toml") {
        return Ok(());
    }
    let name = block.file().map_or_else(|| format!("block-{}.toml", block.line), str::to_owned);
    write(&place.project().join(&name), &block.text)?;
    let variables = block.text.split("env = \"").skip(1).filter_map(|rest| rest.split('"').next());
    let secrets: Vec<String> = variables.map(|name| format!("{name}=a-secret-of-the-docs-step")).collect();
    let file = place.project().join(name);
    run(&format!("{} toolmux check '{}'\n", secrets.join(" "), file.display()), shell)
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    fs::create_dir_all(path.parent().unwrap_or(Path::new("/")))?;
    fs::write(path, text).with_context(|| format!("cannot write `{}`", path.display()))
}
