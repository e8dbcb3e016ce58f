//! `cargo xtask headers`: C libraries of this machine, described from their headers without a hand on the document. A
//! table of how many functions are described, how many of those can be called, and whether the library does its work.

mod callable;
mod libraries;
mod library;
mod more_libraries;
mod story;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use serde_json::Value;

use self::callable::callable;
use self::libraries::LIBRARIES;
use self::library::Library;
use self::more_libraries::MORE;
use self::story::Session;
use crate::workspace::Workspace;

/// What came of one library.
struct Row {
    declared: usize,
    ready: usize,
    callable: usize,
    core: Result<(), String>,
}

/// Prints the table; fails if a library that is there does not do its work.
pub(crate) fn run(workspace: &Workspace, only: &[String]) -> anyhow::Result<()> {
    let program = workspace.debug_program()?;
    let folder = workspace.cache().join("headers");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make `{}`", folder.display()))?;
    println!("{:<10} {:>8} {:>6} {:>8}  core task", "library", "declared", "ready", "callable");
    let (mut missing, mut failed) = (Vec::new(), 0);
    for library in LIBRARIES
        .iter()
        .chain(MORE)
        .filter(|library| only.is_empty() || only.iter().any(|name| name == library.name))
    {
        if !library.headers.iter().all(|header| Path::new(header).is_file()) {
            missing.push(library.package);
            continue;
        }
        let row = row(&program, &folder, library)?;
        let core =
            row.core.as_ref().map_or_else(|error| format!("FAILED: {error}"), |()| library.core.to_owned());
        failed += usize::from(row.core.is_err());
        println!("{:<10} {:>8} {:>6} {:>8}  {core}", library.name, row.declared, row.ready, row.callable);
    }
    if !missing.is_empty() {
        println!("not installed: {}", missing.join(" "));
    }
    anyhow::ensure!(failed == 0, "{failed} of the libraries cannot do what they are for");
    Ok(())
}

fn row(program: &Path, folder: &Path, library: &Library) -> anyhow::Result<Row> {
    let file = folder.join(format!("{}.opendyn.json", library.name));
    if file.exists() {
        std::fs::remove_file(&file).with_context(|| format!("cannot remove `{}`", file.display()))?;
    }
    let answers = folder.join(format!("{}.answers.json", library.name));
    let text = if library.answers.is_empty() { "{}" } else { library.answers };
    std::fs::write(&answers, text).with_context(|| format!("cannot write `{}`", answers.display()))?;
    let told = describe(program, &file, library)?;
    let text = std::fs::read_to_string(&file)
        .with_context(|| format!("`{}` was not described: {told}", library.name))?;
    let document: Value = serde_json::from_str(&text).context("the document is not JSON")?;
    let ready = document["functions"].as_array().map_or(&[][..], Vec::as_slice);
    let undecided = document["undecided"].as_array().map_or(0, Vec::len);
    // The first line: "12 functions ready (3 to review), 2 to decide, 1 impossible, 0 not in the library".
    let impossible =
        told.split(" impossible").next().and_then(|front| front.rsplit(' ').next()?.parse::<usize>().ok());
    Ok(Row {
        declared: ready.len() + undecided + impossible.unwrap_or(0),
        ready: ready.len(),
        callable: callable(ready),
        core: core_task(program, folder, library).map_err(|error| format!("{error:#}")),
    })
}

fn describe(program: &Path, file: &Path, library: &Library) -> anyhow::Result<String> {
    let mut command = Command::new(program);
    command.arg("describe").args(library.headers).args(library.flags);
    command.args(["--library", library.file, "--out"]).arg(file);
    let output = command.output().context("cannot start toolmux")?;
    Ok(String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Runs the story of a library.
fn core_task(program: &Path, folder: &Path, library: &Library) -> anyhow::Result<()> {
    let config: PathBuf = folder.join(format!("{}.toml", library.name));
    let sandbox = if library.open { "sandbox = \"off\"\n" } else { "" };
    let text = format!(
        "[sources.It]\nkind = \"opendyn\"\ndocument = \"{}.opendyn.json\"\nlibrary = \"{}\"\n{sandbox}",
        library.name, library.file
    );
    std::fs::write(&config, text).with_context(|| format!("cannot write `{}`", config.display()))?;
    Session::start(program, &config)?.play(library.story, folder)
}
