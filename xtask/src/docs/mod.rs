//! The `docs` step: README.md, docs/ and the READMEs of examples/ are followed to the letter, each page in a fresh copy
//! of the project with an empty home, by the built program. What a page promises is what the tests hold it to.
//!
//! Rules for writers are in xtask/README.md.

pub(crate) mod bare;
mod block;
mod debian_root;
mod expected;
mod page;
pub(crate) mod picture;
mod place;
pub(crate) mod reference;
mod shell;

use std::collections::VecDeque;
use std::fs;
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use anyhow::{Context, bail};

use self::page::Page;
use self::place::Place;
use crate::process;
use crate::steps::Tally;
use crate::tidy::tracked;
use crate::workspace::Workspace;

/// Pages that are followed at the same time.
const READERS: usize = 2;

pub(crate) fn run(workspace: &Workspace, only: Option<&str>, tally: &mut Tally) -> anyhow::Result<()> {
    build(workspace)?;
    if only.is_none() {
        reference::check(workspace)?;
        picture::check(workspace)?;
    }
    let pages: VecDeque<String> = pages(workspace)?
        .into_iter()
        .filter(|path| only.is_none_or(|wanted| path.contains(wanted)))
        .collect();
    let (waiting, read) = (Mutex::new(pages), Mutex::new((Tally::default(), Vec::new())));
    thread::scope(|scope| {
        for _ in 0..READERS {
            scope.spawn(|| {
                while let Some(path) = next(&waiting) {
                    let start = Instant::now();
                    let followed = follow(workspace, &path);
                    let mut read = read.lock().expect("no reader panics");
                    match followed {
                        Ok(blocks) => {
                            println!("    {path}: {blocks} blocks, {:.1} s", start.elapsed().as_secs_f64());
                            read.0.passed += u64::try_from(blocks).unwrap_or(u64::MAX);
                        }
                        Err(error) => {
                            println!("    {error:#}");
                            read.0.failed += 1;
                            read.1.push(path);
                        }
                    }
                }
            });
        }
    });
    let (counts, failed) = read.into_inner().expect("no reader panics");
    *tally += counts;
    if !failed.is_empty() {
        bail!("not as written: {}", failed.join(", "));
    }
    Ok(())
}

fn build(workspace: &Workspace) -> anyhow::Result<()> {
    process::run(workspace.cargo().args(["build", "--quiet", "--package", "toolmux", "--bins", "--examples"]))
}

fn next(waiting: &Mutex<VecDeque<String>>) -> Option<String> {
    waiting.lock().expect("no reader panics").pop_front()
}

/// The pages for users.
fn pages(workspace: &Workspace) -> anyhow::Result<Vec<String>> {
    let folder = |path: &str| {
        path.split('/').next().is_some_and(|first| ["docs", "examples", "README.md"].contains(&first))
    };
    let tracked = tracked::list(&workspace.root)?;
    let pages = tracked.into_iter().filter(|file| file.extension() == "md" && folder(&file.path));
    Ok(pages.map(|file| file.path).collect())
}

/// Follows one page; gives how many blocks were held to their word.
fn follow(workspace: &Workspace, path: &str) -> anyhow::Result<usize> {
    let text = fs::read_to_string(workspace.root.join(path))?;
    if !text.contains("```") {
        return Ok(0);
    }
    let mut place = Place::new(workspace).context("cannot prepare a fresh copy of the project")?;
    let page = Page::read(path, &place.with_free_ports(&text)?)?;
    page.follow(&place)
}
