//! A page of Markdown taken apart: its fenced blocks, and what a transcript in one of them says.

use anyhow::bail;

/// Stands alone on the line above a block that is not run, with the reason, for readers to see.
const NOT_RUN: &str = "*Not run by the tests: ";

/// What may stand behind a fence.
const LANGUAGES: &[&str] =
    &["", "text", "console", "sh", "toml", "json", "python", "rust", "c", "diff", "yaml", "mermaid", "html"];

/// A fenced block that is held to its word.
#[derive(Debug, PartialEq)]
pub(super) struct Block {
    /// Where its text begins.
    pub(super) line: usize,
    pub(super) language: String,
    pub(super) text: String,
}

/// A command of a transcript and what it is said to print.
#[derive(Debug, PartialEq)]
pub(super) struct TranscriptStep {
    pub(super) command: String,
    pub(super) output: Vec<String>,
}

/// The blocks of a page but for those marked as not run.
pub(super) fn blocks(page: &str) -> anyhow::Result<Vec<Block>> {
    let (mut blocks, mut open): (Vec<Block>, Option<Block>) = (Vec::new(), None);
    let (mut above, mut skip) = ("", false);
    for (index, line) in page.lines().enumerate() {
        match (&mut open, line.trim_start().strip_prefix("```")) {
            (None, Some(info)) => {
                // Behind a comma stands what other readers of the page want to know.
                let language = info.split(',').next().unwrap_or_default();
                if !LANGUAGES.contains(&language) {
                    bail!("line {}: `{language}` is none of {}", index + 1, LANGUAGES.join(" "));
                }
                skip = above.starts_with(NOT_RUN);
                open = Some(Block { line: index + 2, language: language.to_owned(), text: String::new() });
            }
            (None, None) if line.trim().is_empty() => {}
            (None, None) => above = line,
            (Some(_), Some(_)) => {
                blocks.extend(open.take().filter(|_| !skip));
                above = "";
            }
            (Some(block), None) => {
                block.text.push_str(line);
                block.text.push('\n');
            }
        }
    }
    match open {
        Some(block) => bail!("line {}: the block has no end", block.line),
        None => Ok(blocks),
    }
}

impl Block {
    /// The name of the file that a block is, from its first line when that is a comment of one word: `# toolmux.toml`.
    pub(super) fn file(&self) -> Option<&str> {
        let first = self.text.lines().next()?.trim();
        let comment = ["# ", "// ", "/* "].iter().find_map(|mark| first.strip_prefix(mark))?;
        let name = comment.trim_end_matches("*/").trim();
        (!name.contains(' ') && name.contains('.')).then_some(name)
    }

    /// Commands begin with `$ `, go on behind a backslash, and are followed by what they print.
    pub(super) fn transcript(&self) -> anyhow::Result<Vec<TranscriptStep>> {
        let mut said: Vec<TranscriptStep> = Vec::new();
        for line in self.text.lines() {
            match (line.strip_prefix("$ "), said.last_mut()) {
                (Some(command), _) => {
                    said.push(TranscriptStep { command: command.to_owned(), output: Vec::new() });
                }
                (None, Some(last)) if last.command.ends_with('\\') => {
                    last.command.push('\n');
                    last.command.push_str(line);
                }
                (None, Some(last)) => last.output.push(line.to_owned()),
                (None, None) => bail!("line {}: a transcript begins with `$ `", self.line),
            }
        }
        Ok(said)
    }
}

#[cfg(test)]
mod tests {
    use super::{Block, TranscriptStep, blocks};

    fn check(page: &str, expect: &[(usize, &str, &str)]) {
        let found = blocks(page).unwrap();
        let found: Vec<_> = found.iter().map(|b| (b.line, b.language.as_str(), b.text.as_str())).collect();
        assert_eq!(found, expect, "{page}");
    }

    #[test]
    fn blocks_have_a_place_and_a_language() {
        check("text\n```sh\ntrue\n```\n```\nplain\n```\n", &[(3, "sh", "true\n"), (6, "", "plain\n")]);
        assert!(blocks("```bash\n```").unwrap_err().to_string().contains("`bash` is none of"));
        assert!(blocks("```sh\ntrue").unwrap_err().to_string().contains("no end"));
    }

    #[test]
    fn only_a_marked_block_is_left_out() {
        let marked =
            "*Not run by the tests: needs a container engine.*\n\n```sh\nfalse\n```\n```sh\ntrue\n```";
        check(marked, &[(7, "sh", "true\n")]);
    }

    #[test]
    fn a_first_comment_of_one_word_names_a_file() {
        let block = |text: &str| Block { line: 1, language: String::new(), text: text.to_owned() };
        assert_eq!(block("# toolmux.toml\na = 1\n").file(), Some("toolmux.toml"));
        assert_eq!(block("/* greet.h */\n").file(), Some("greet.h"));
        assert_eq!(block("# who may call\n").file(), None);
        assert_eq!(block("listen = 1\n").file(), None);
    }

    #[test]
    fn commands_are_told_from_what_they_print() {
        let text = "$ one \\\n  more\nout\n$ two\n".to_owned();
        let said = |command: &str, output: &[&str]| TranscriptStep {
            command: command.to_owned(),
            output: output.iter().map(ToString::to_string).collect(),
        };
        let block = Block { line: 1, language: "console".to_owned(), text };
        assert_eq!(block.transcript().unwrap(), [said("one \\\n  more", &["out"]), said("two", &[])]);
    }
}
