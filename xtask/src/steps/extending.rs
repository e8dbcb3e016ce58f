//! The `extending` step: the changes that `docs/extending.md` shows are applied to a copy of the tree, built and tested.
//! A change `NAME.diff` brings its tests in the module `NAME` of `crates/protocols/tests/it`.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use super::{built_dependencies, cargo_tests};
use crate::process;
use crate::steps::Tally;
use crate::tidy::tracked;
use crate::workspace::Workspace;

pub(super) fn run(workspace: &Workspace, tally: &mut Tally) -> anyhow::Result<()> {
    let tree = workspace.cache().join("extending");
    copy(&workspace.root, &tree)?;
    let changes = changes(&workspace.root)?;
    let mut tests = Vec::new();
    for change in &changes {
        process::run(git_apply(&tree).arg(change))?;
        let name = change.file_stem().and_then(|name| name.to_str()).context("a change has a plain name")?;
        tests.push(format!("{name}::"));
    }
    // A build folder of its own: cargo takes a build of the same crate in another folder for its own, and the next
    // `cargo test` of the checkout would run what the changes made.
    let build = workspace.cache().join("extending-build");
    built_dependencies::share(&workspace.target.join("debug"), &build.join("debug"))?;
    let mut command = workspace.cargo();
    command.current_dir(&tree).env("CARGO_TARGET_DIR", build);
    command.args(["test", "--package", "toolmux-protocols", "--test", "it", "--"]).args(&tests);
    let mut counts = Tally::default();
    cargo_tests::count(&mut command, &mut counts)?;
    if usize::try_from(counts.passed)? < changes.len() {
        bail!("{} changes have {} tests", changes.len(), counts.passed);
    }
    *tally += counts;
    Ok(())
}

fn changes(root: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let folder = fs::read_dir(root.join("docs/extending"))?;
    let mut changes: Vec<PathBuf> =
        folder.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    changes.retain(|path| path.extension().is_some_and(|extension| extension == "diff"));
    changes.sort();
    if changes.is_empty() {
        bail!("docs/extending has no change");
    }
    Ok(changes)
}

/// Applies to the folder it runs in, which is not the checkout above it.
fn git_apply(tree: &Path) -> Command {
    let mut command = Command::new("git");
    command.current_dir(tree).arg("apply");
    if let Some(above) = tree.parent() {
        command.env("GIT_CEILING_DIRECTORIES", above);
    }
    command
}

/// Times are kept, so that cargo builds only what a change touches.
fn copy(root: &Path, tree: &Path) -> anyhow::Result<()> {
    if tree.exists() {
        fs::remove_dir_all(tree)?;
    }
    for path in tracked::paths(root)? {
        let (from, to) = (root.join(&path), tree.join(&path));
        // A file that was removed stays on git's list until that is committed.
        if !from.is_file() {
            continue;
        }
        fs::create_dir_all(to.parent().context("a file is in a folder")?)?;
        fs::copy(&from, &to)?;
        File::options().write(true).open(&to)?.set_modified(fs::metadata(&from)?.modified()?)?;
    }
    Ok(())
}
