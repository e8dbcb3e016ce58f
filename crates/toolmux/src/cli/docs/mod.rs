//! `toolmux docs`: the manual, which is part of the program.

mod find;
mod pager;
mod pages;

use std::process::ExitCode;

use toolmux_core::nearest::nearest;

use self::find::{Hit, find, named};
use self::pages::{DocPage, PAGES};
use super::failure::Failure;
use super::terminal::{Terminal, print_line};

/// The colours of a topic and of the place of a line.
const BOLD: &str = "1";
const CYAN: &str = "36";

/// Print a page of the manual, or the pages with some words.
///
/// Without a topic, lists them. Words that are not a topic are searched for in all pages. On a terminal a page is
/// shown by $PAGER, if it is set.
///
/// Example: toolmux docs connect
///
/// Example: toolmux docs "rate limit"
#[derive(clap::Args)]
pub(super) struct Docs {
    /// A topic, or words to search for.
    #[arg(value_name = "TOPIC|WORDS")]
    words: Vec<String>,
}

impl Docs {
    pub(super) async fn run(self, terminal: &Terminal) -> Result<ExitCode, Failure> {
        let wanted = self.words.join(" ");
        if wanted.trim().is_empty() {
            list(PAGES.iter(), terminal);
            return Ok(ExitCode::SUCCESS);
        }
        match named(&wanted, PAGES).as_slice() {
            [page] => pager::show(page.text).await?,
            [] => list_lines(&wanted, terminal)?,
            several => list(several.iter().copied(), terminal),
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Lists the lines that have some words.
fn list_lines(wanted: &str, terminal: &Terminal) -> Result<(), Failure> {
    let hits = find(wanted, PAGES);
    if hits.is_empty() {
        let missing = anyhow::anyhow!("no page has this topic or contains these words: `{wanted}`");
        return Err(Failure::refused(missing)
            .hint("`toolmux docs` lists the topics")
            .meaning(nearest(wanted, PAGES.iter().map(|page| page.topic))));
    }
    for Hit { topic, line, text } in hits {
        print_line(&format!("{} {text}", terminal.painted(CYAN, &format!("{topic}:{line}:"))));
    }
    Ok(())
}

fn list<'a>(pages: impl Iterator<Item = &'a DocPage> + Clone, terminal: &Terminal) {
    let width = pages.clone().map(|page| page.topic.len()).max().unwrap_or_default();
    for page in pages {
        // Padded before it is painted: escape sequences take no columns.
        let topic = terminal.painted(BOLD, &format!("{:<width$}", page.topic));
        print_line(&format!("{topic}  {}", page.title()));
    }
}
