//! `toolmux describe`: an OpenDyn document from a C header.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::ValueEnum;
use serde_json::{Value, json};
use toolmux_protocols::opendyn;
use toolmux_protocols::opendyn::header::{Comments, Described};

use super::failure::Failure;
use super::terminal::note;
use crate::config::near_file;

/// Describe the functions of a C header as an OpenDyn document.
///
/// What a header cannot say is guessed and marked in `review`; what cannot be guessed is listed with the
/// question, and what cannot be called with the reason.
///
/// Example: toolmux describe /usr/include/zlib.h --library libz.so.1 --comments after --out zlib.opendyn.json
#[derive(clap::Args)]
pub(super) struct Describe {
    /// The header.
    header: PathBuf,
    /// The library: a path, or a name that the system's loader finds.
    #[arg(long)]
    library: PathBuf,
    /// Only functions with such names; `*` stands for anything.
    #[arg(long, value_name = "PATTERN")]
    only: Vec<String>,
    /// Write the document there instead of to standard output.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Where the comment on a function is.
    #[arg(long, value_enum, default_value_t = CommentPlace::Before)]
    comments: CommentPlace,
}

#[derive(Clone, Copy, ValueEnum)]
enum CommentPlace {
    /// In front of it.
    Before,
    /// Behind it, as in zlib.
    After,
}

impl Describe {
    pub(super) async fn run(self) -> Result<ExitCode, Failure> {
        let comments = match self.comments {
            CommentPlace::Before => Comments::Before,
            CommentPlace::After => Comments::After,
        };
        let wanted = |name: &str| self.only.is_empty() || self.only.iter().any(|only| fits(only, name));
        let description = description(&self.header, &self.library, comments, &wanted).await?;
        let text =
            serde_json::to_string_pretty(&description.document).context("the document cannot be written")?;
        match &self.out {
            Some(file) => std::fs::write(file, text + "\n")
                .with_context(|| format!("cannot write `{}`", file.display()))?,
            None => println!("{text}"),
        }
        tell(&description.described, &description.missing);
        Ok(ExitCode::SUCCESS)
    }
}

/// A document of the functions of a header that a library has, and what became of the others.
pub(super) struct Description {
    pub(super) document: Value,
    described: Described,
    missing: Vec<(String, String)>,
}

impl Description {
    /// How many functions can be called.
    pub(super) fn ready(&self) -> usize {
        self.described.ready.len()
    }
}

/// Describes a header; a worker loads the library to see what it really has.
pub(super) async fn description(
    header: &Path,
    library: &Path,
    comments: Comments,
    wanted: &(dyn Fn(&str) -> bool + Sync),
) -> Result<Description, Failure> {
    let mut described = opendyn::header::describe(header, comments, wanted)
        .await
        .with_context(|| format!("cannot describe `{}`", header.display()))
        .map_err(|error| Failure::refused(error).meaning(near_file(header).filter(|_| !header.is_file())))?;
    let worker = std::env::current_exe().context("this program does not know its own file")?;
    let whole = document(header, &described.ready).to_string();
    let missing = opendyn::missing(&whole, library, worker).await.map_err(|error| {
        Failure::refused(anyhow::anyhow!("{}", error.message().public))
            .hint("name the file that the loader finds, such as `libz.so.1`, not `libz.so`")
    })?;
    described.ready.retain(|function| !missing.iter().any(|(name, _)| function["name"] == **name));
    Ok(Description { document: document(header, &described.ready), described, missing })
}

fn document(header: &Path, functions: &[Value]) -> Value {
    let title = header.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    let info = json!({ "title": title, "version": "1.0.0", "callingConvention": "cdecl" });
    json!({ "opendyn": "1.0.0", "info": info, "functions": functions })
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
        "{} functions are ready ({guessed} to review), {} need a decision, {} are impossible, {} are not in the library",
        described.ready.len(),
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
