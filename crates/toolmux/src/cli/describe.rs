//! `toolmux describe`: an OpenDyn document from C headers.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::ValueEnum;
use serde_json::Value;
use toolmux_protocols::opendyn::header::{Comments, Described, HeaderRequest, Selection};
use toolmux_protocols::opendyn::{LibraryDocument, describe_library, open_questions};

use toolmux_core::plural::counted;

use super::describe_diff::print_differences;
use super::describe_review::review;
use super::failure::Failure;
use super::terminal::{note, print_line};
use crate::config::near_file;

/// Describe the functions of C headers as an OpenDyn document.
///
/// Headers are read with the C preprocessor (`cc -E`), including other headers of the same package. What a header does
/// not say is guessed and marked in `review`; what cannot be guessed is in `undecided`, as a question; functions that
/// cannot be called are listed with the reason. Answers are kept in `NAME.answers.json` next to the document, and used
/// whenever the document is generated again.
///
/// Example: toolmux describe /usr/include/zlib.h --library libz.so.1 --out zlib.opendyn.json
#[derive(clap::Args)]
pub(super) struct Describe {
    /// The C headers to describe, as one document.
    #[arg(required = true, value_name = "HEADER")]
    headers: Vec<PathBuf>,
    /// The library: a path, or a name that the system's loader finds.
    #[arg(long)]
    library: PathBuf,
    /// Only functions with these names; `*` matches any text.
    #[arg(long, value_name = "PATTERN")]
    only: Vec<String>,
    /// Leave out functions with these names.
    #[arg(long, value_name = "PATTERN")]
    except: Vec<String>,
    /// Remove this prefix from the names of tools.
    #[arg(long, value_name = "PREFIX")]
    strip_prefix: Option<String>,
    /// Look for included headers in this folder too.
    #[arg(short = 'I', long = "include", value_name = "FOLDER")]
    includes: Vec<PathBuf>,
    /// Define a macro, as NAME or NAME=VALUE.
    #[arg(short = 'D', long = "define", value_name = "MACRO")]
    defines: Vec<String>,
    /// Take the compiler flags of this package from pkg-config.
    #[arg(long = "pkg-config", value_name = "PACKAGE")]
    packages: Vec<String>,
    /// Write the document to this file instead of standard output. An existing file that differs is not overwritten.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Overwrite the file of --out, even if it was changed by hand.
    #[arg(long, requires = "out")]
    force: bool,
    /// The file of the answers to questions [default: NAME.answers.json next to the document].
    #[arg(long, value_name = "FILE")]
    answers: Option<PathBuf>,
    /// Ask the open questions one by one in the terminal.
    #[arg(long)]
    review: bool,
    /// Show how the functions differ from those of this document, and write nothing.
    #[arg(long, value_name = "DOCUMENT", conflicts_with_all = ["out", "review"])]
    diff: Option<PathBuf>,
    /// Where the comment of a function is.
    #[arg(long, value_enum, default_value_t = CommentPlace::Auto)]
    comments: CommentPlace,
}

#[derive(Clone, Copy, ValueEnum)]
enum CommentPlace {
    /// Where most functions of the header have it.
    Auto,
    /// Before the function.
    Before,
    /// After the function, as in zlib.
    After,
}

impl Describe {
    pub(super) async fn run(self) -> Result<ExitCode, Failure> {
        let answers_file = self.answers_file();
        let mut answers = read_answers(answers_file.as_deref(), self.answers.is_some())?;
        let mut described = self.described(&answers).await?;
        if self.review {
            let file = answers_file
                .context("--review needs --out or --answers: the file to store the answers in")?;
            let questions = open_questions(&described.functions.undecided);
            if review(&questions, &mut answers, &file).await? {
                described = self.described(&answers).await?;
            }
        }
        if let Some(old) = &self.diff {
            return print_differences(old, &described.document);
        }
        let text =
            serde_json::to_string_pretty(&described.document).context("the document cannot be written")?;
        match &self.out {
            Some(file) => self.write(file, &(text + "\n"))?,
            None => print_line(&text),
        }
        tell(&described);
        Ok(ExitCode::SUCCESS)
    }

    /// What somebody decided by hand is not lost without a word.
    fn write(&self, file: &Path, text: &str) -> Result<(), Failure> {
        let name = file.display();
        let written = match std::fs::read_to_string(file) {
            Ok(old) if old == text => return Ok(()),
            Ok(_) if !self.force => {
                return Err(Failure::refused(anyhow::anyhow!(
                    "`{name}` already exists and differs from the new document"
                ))
                .hint("--force replaces it; without --out the new document is printed"));
            }
            // A file that cannot be read as text is no document of ours.
            Err(error) if error.kind() != ErrorKind::NotFound && !self.force => Err(error),
            Ok(_) | Err(_) => std::fs::write(file, text),
        };
        Ok(written.with_context(|| format!("cannot write `{name}`"))?)
    }

    async fn described(&self, answers: &Value) -> Result<LibraryDocument, Failure> {
        let request = HeaderRequest {
            headers: self.headers.clone(),
            includes: self.includes.clone(),
            defines: self.defines.clone(),
            packages: self.packages.clone(),
            comments: match self.comments {
                CommentPlace::Auto => Comments::Auto,
                CommentPlace::Before => Comments::Before,
                CommentPlace::After => Comments::After,
            },
            selection: Selection {
                only: self.only.clone(),
                except: self.except.clone(),
                strip_prefix: self.strip_prefix.clone(),
            },
        };
        describe_library(&request, &self.library, answers).await.map_err(|error| {
            let header = self.headers.iter().find(|header| !header.is_file());
            Failure::refused(error).meaning(header.and_then(|header| near_file(header)))
        })
    }

    /// `zlib.answers.json` next to `zlib.opendyn.json`.
    fn answers_file(&self) -> Option<PathBuf> {
        let beside = |document: &PathBuf| {
            let name = document.file_name()?.to_str()?;
            let stem =
                name.strip_suffix(".opendyn.json").or_else(|| name.strip_suffix(".json")).unwrap_or(name);
            Some(document.with_file_name(format!("{stem}.answers.json")))
        };
        let document = self.out.as_ref().or(self.diff.as_ref());
        self.answers.clone().or_else(|| document.and_then(beside))
    }
}

/// The answers of a file; none if it is not there and was not named.
fn read_answers(file: Option<&Path>, is_named: bool) -> Result<Value, Failure> {
    let Some(file) = file.filter(|file| is_named || file.is_file()) else { return Ok(Value::Null) };
    let text = match std::fs::read_to_string(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Value::Null),
        text => text.with_context(|| format!("cannot read `{}`", file.display()))?,
    };
    let answers = serde_json::from_str(&text).with_context(|| format!("`{}` is not JSON", file.display()))?;
    Ok(answers)
}

fn tell(library: &LibraryDocument) {
    let (described, missing): (&Described, _) = (&library.functions, &library.missing);
    let guessed = described.ready.iter().filter(|function| function.get("review").is_some()).count();
    eprintln!(
        "{} ready ({guessed} to review), {} to decide, {} impossible, {} not in the library",
        counted(described.ready.len(), "function"),
        described.undecided.len(),
        described.impossible.len(),
        missing.len(),
    );
    for question in open_questions(&described.undecided) {
        note(&format!("  {}: decide: {}", question.function, question.question));
    }
    for (name, why) in described.impossible.iter().chain(missing) {
        note(&format!("  {name}: {why}"));
    }
    for name in &library.unused_answers {
        note(&format!("  {name}: is answered, but the headers do not declare it"));
    }
}
