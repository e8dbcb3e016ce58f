//! A page and what holding it to its word means for each kind of block.

use std::fs;
use std::path::Path;

use anyhow::{Context, bail};

use super::block::{Block, TranscriptStep, blocks};
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

fn follow_transcript(transcript: &[TranscriptStep], shell: &mut Shell) -> anyhow::Result<()> {
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
pub(super) fn goes_on(command: &str) -> bool {
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
    let secrets: Vec<String> =
        variables.map(|name| format!("{name}=a-secret-of-the-docs-step-of-xtask")).collect();
    let file = place.project().join(name);
    run(&format!("{} toolmux check '{}'\n", secrets.join(" "), file.display()), shell)
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    fs::create_dir_all(path.parent().unwrap_or(Path::new("/")))?;
    fs::write(path, text).with_context(|| format!("cannot write `{}`", path.display()))
}

#[cfg(test)]
mod tests {
    use super::Page;
    use crate::docs::place::Place;
    use crate::workspace::Workspace;
    use std::path::Path;

    fn place() -> Place {
        Place::new(&Workspace::find().unwrap()).unwrap()
    }

    fn check(text: &str, expect: Result<usize, &str>) {
        let followed = Page::read("page.md", text).unwrap().follow(&place());
        match (followed.map_err(|error| format!("{error:#}")), expect) {
            (Ok(blocks), Ok(expected)) => assert_eq!(blocks, expected, "{text}"),
            (Err(error), Err(part)) => assert!(error.contains(part), "{text}\n{error}"),
            (followed, expected) => panic!("{text}\n{followed:?} is not {expected:?}"),
        }
    }

    #[test]
    fn a_page_is_held_to_its_word() {
        check("```console\n$ NAME=Ada\n```\n```console\n$ echo hello $NAME\nhello Ada\n```\n", Ok(2));
        check("```console\n$ echo a\nb\n```\n", Err("page.md:2: `echo a` should say:\nb\nbut says:\na"));
        check("```console\n$ false\n```\n", Err("`false` ended with status 1"));
        check("```console\n$ sh -c 'exit 7'\n$ echo $?\n7\n```\n", Ok(1));
        check("```sh\nfalse\ntrue\n```\n", Err("page.md:2"));
        check("```json\n{]\n```\n", Err("this is not JSON"));
        check("```python\nif\n```\n", Err("SyntaxError"));
    }

    #[test]
    fn a_newcomer_has_the_files_of_the_project_and_an_empty_home() {
        check("```console\n$ ls -A ~ | wc -l\n0\n$ ls LICENSE\nLICENSE\n```\n", Ok(1));
        check("```python\n# hello.py\nprint(1)\n```\n```console\n$ python3 hello.py\n1\n```\n", Ok(2));
    }

    #[test]
    fn servers_end_with_the_page() {
        let text = "```console\n$ sh -c 'echo $$ > pid; echo it serves now; exec sleep 1000' &\nit serves ...\n```\n";
        let place = place();
        assert_eq!(Page::read("page.md", text).unwrap().follow(&place).unwrap(), 1);
        let pid = std::fs::read_to_string(place.project().join("pid")).unwrap();
        assert!(!Path::new("/proc").join(pid.trim()).exists());
    }
}
