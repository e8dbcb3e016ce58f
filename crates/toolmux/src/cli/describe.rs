//! `toolmux describe`: an OpenDyn document from a C header.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::ValueEnum;
use toolmux_protocols::opendyn::describe_library;
use toolmux_protocols::opendyn::header::{Comments, Described};

use toolmux_core::plural::counted;

use super::failure::Failure;
use super::terminal::{note, print_line};
use crate::config::near_file;

/// Describe the functions of a C header as an OpenDyn document.
///
/// What a header cannot say is guessed and marked in `review`; what cannot be guessed is listed with the
/// question, and what cannot be called with the reason.
///
/// Example: toolmux describe /usr/include/zlib.h --library libz.so.1 --comments after --out zlib.opendyn.json
#[derive(clap::Args)]
pub(super) struct Describe {
    /// The C header to describe.
    header: PathBuf,
    /// The library: a path, or a name that the system's loader finds.
    #[arg(long)]
    library: PathBuf,
    /// Only functions with such names; `*` stands for anything.
    #[arg(long, value_name = "PATTERN")]
    only: Vec<String>,
    /// Write the document there instead of to standard output. A file that is there and differs is kept.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace the file of --out, with whatever was changed in it by hand.
    #[arg(long, requires = "out")]
    force: bool,
    /// Where the comment of a function is.
    #[arg(long, value_enum, default_value_t = CommentPlace::Before)]
    comments: CommentPlace,
}

#[derive(Clone, Copy, ValueEnum)]
enum CommentPlace {
    /// Before the function.
    Before,
    /// After the function, as in zlib.
    After,
}

impl Describe {
    pub(super) async fn run(self) -> Result<ExitCode, Failure> {
        let comments = match self.comments {
            CommentPlace::Before => Comments::Before,
            CommentPlace::After => Comments::After,
        };
        let wanted = |name: &str| self.only.is_empty() || self.only.iter().any(|only| fits(only, name));
        let header = &self.header;
        let described =
            describe_library(header, &self.library, comments, &wanted).await.map_err(|error| {
                Failure::refused(error).meaning(near_file(header).filter(|_| !header.is_file()))
            })?;
        let text =
            serde_json::to_string_pretty(&described.document).context("the document cannot be written")?;
        match &self.out {
            Some(file) => self.write(file, &(text + "\n"))?,
            None => print_line(&text),
        }
        tell(&described.functions, &described.missing);
        Ok(ExitCode::SUCCESS)
    }

    /// What somebody decided by hand is not lost without a word.
    fn write(&self, file: &Path, text: &str) -> Result<(), Failure> {
        let name = file.display();
        let written = match std::fs::read_to_string(file) {
            Ok(old) if old == text => return Ok(()),
            Ok(_) if !self.force => {
                return Err(Failure::refused(anyhow::anyhow!("`{name}` is there already and differs"))
                    .hint("--force replaces it; without --out the new document is printed"));
            }
            // A file that cannot be read as text is no document of ours.
            Err(error) if error.kind() != ErrorKind::NotFound && !self.force => Err(error),
            Ok(_) | Err(_) => std::fs::write(file, text),
        };
        Ok(written.with_context(|| format!("cannot write `{name}`"))?)
    }
}

/// Whether a name fits a pattern with `*`.
fn fits(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, rest)) => name.strip_prefix(start).is_some_and(|name| {
            (0..=name.len()).any(|at| name.is_char_boundary(at) && fits(rest, &name[at..]))
        }),
    }
}

fn tell(described: &Described, missing: &[(String, String)]) {
    let guessed = described.ready.iter().filter(|function| function.get("review").is_some()).count();
    eprintln!(
        "{} ready ({guessed} to review), {} to decide, {} impossible, {} not in the library",
        counted(described.ready.len(), "function"),
        described.undecided.len(),
        described.impossible.len(),
        missing.len(),
    );
    for (name, why) in &described.undecided {
        note(&format!("  {name}: decide: {why}"));
    }
    for (name, why) in described.impossible.iter().chain(missing) {
        note(&format!("  {name}: {why}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_anything() {
        for (pattern, name, expect) in [
            ("crc32", "crc32", true),
            ("crc32", "crc32_z", false),
            ("crc*", "crc32_z", true),
            ("*_open*", "sqlite3_open_v2", true),
            ("*_open", "sqlite3_open_v2", false),
        ] {
            assert_eq!(fits(pattern, name), expect, "{pattern} {name}");
        }
    }
}
