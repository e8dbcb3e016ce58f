//! `cargo xtask bare`: the section *Start* of README.md on a fresh Debian, word by word. Every line it prints begins
//! with what it did, or with `not done:` and the reason.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use rustix::process::geteuid;

use super::block::{TranscriptStep, blocks};
use super::debian_root::DebianRoot;
use super::expected;
use super::page::goes_on;
use super::shell::{Shell, ShellFiles};
use crate::process;
use crate::workspace::Workspace;

/// For one command; the first `cargo run` compiles everything.
const COMMAND_TIMEOUT: Duration = Duration::from_mins(40);
/// What every test together may take on such a machine.
const TESTS_PROMISED: Duration = Duration::from_mins(25);
const PAGE: &str = "README.md";
const SECTION: &str = "## Start";
/// As https://rustup.rs says, without questions. Which toolchain is needed stands in the project.
const RUSTUP: &str = "curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y --profile minimal --default-toolchain none";

/// Follow the start of README.md in a fresh Debian.
#[derive(clap::Args)]
pub(crate) struct BareOptions {
    /// Where Debian's packages are
    #[arg(long, value_name = "URL", default_value = "http://deb.debian.org/debian")]
    mirror: String,
    /// Stop when everything is installed, before the commands that compile
    #[arg(long)]
    only_install: bool,
    /// Leave out the command that runs every test
    #[arg(long)]
    without_tests: bool,
}

pub(crate) fn run(workspace: &Workspace, options: &BareOptions) -> anyhow::Result<()> {
    if let Some(reason) = obstacle() {
        bail!("not done: {reason}");
    }
    let section = section(&fs::read_to_string(workspace.root.join(PAGE))?)?;
    let start = Instant::now();
    let report = |what: &str| println!("{:>5.0} s  {what}", start.elapsed().as_secs_f64());
    let root = DebianRoot::make(workspace, &options.mirror).context("not done: no fresh Debian")?;
    report("made a fresh Debian (minbase) with debootstrap");
    let project = root.copy_project(workspace)?;
    report("copied the project's files into its empty home");
    let files = ShellFiles { here: root.path("/said"), there: PathBuf::from("/said") };
    let mut shell = Shell::of(root.bash(&project)?, files, COMMAND_TIMEOUT)?;
    let install = format!("apt-get update && {}", with_yes(&section.install));
    must(&mut shell, &install).context("not done: Debian's packages")?;
    report(&format!("ran `{}`", section.install));
    must(&mut shell, RUSTUP).context("not done: Rust")?;
    report("installed Rust by the command of rustup.rs");
    if options.only_install {
        report("not done: the commands that compile, as --only-install says");
        return Ok(());
    }
    for step in &section.steps {
        follow(step, &mut shell).with_context(|| format!("{PAGE}: `{}`", step.command))?;
        report(&format!("ran `{}`: it prints what {PAGE} says", step.command));
    }
    if options.without_tests {
        report(&format!("not done: `{}`, as --without-tests says", section.test));
        return Ok(());
    }
    report(&format!("runs `{}`", section.test));
    let began = Instant::now();
    must(&mut shell, &section.test)?;
    let minutes = began.elapsed().as_secs_f64() / 60.0;
    report(&format!("ran `{}` in {minutes:.1} minutes", section.test));
    if began.elapsed() > TESTS_PROMISED {
        bail!("`{}` took longer than {TESTS_PROMISED:?}", section.test);
    }
    Ok(())
}

/// Why a fresh Debian cannot be made here.
fn obstacle() -> Option<String> {
    if !geteuid().is_root() {
        return Some("making and entering another root needs root; run `sudo cargo xtask bare`".to_owned());
    }
    let missing = |program: &&&str| {
        !process::succeeds(Command::new("sh").args(["-c", &format!("command -v {program}")]))
    };
    let missing: Vec<&str> =
        ["debootstrap", "chroot", "unshare", "mount"].iter().filter(missing).copied().collect();
    let namespaces =
        || process::succeeds(Command::new("unshare").args(["--mount", "--pid", "--fork", "true"]));
    match missing.as_slice() {
        [] if namespaces() => None,
        [] => Some(
            "this machine does not allow mount and PID namespaces (unshare), as in many containers"
                .to_owned(),
        ),
        missing => Some(format!("install {} first: apt-get install debootstrap mount", missing.join(", "))),
    }
}

/// What a page tells a newcomer to do first.
struct StartSection {
    /// The command that installs what is needed.
    install: String,
    steps: Vec<TranscriptStep>,
    /// The command that runs every test.
    test: String,
}

fn section(page: &str) -> anyhow::Result<StartSection> {
    let (_, rest) = page.split_once(SECTION).with_context(|| format!("{PAGE} has no section `{SECTION}`"))?;
    let section = rest.split("\n## ").next().unwrap_or_default();
    let named = |start: &str| {
        let mut codes = section.split('`').skip(1).step_by(2);
        let found = codes.find(|code| code.starts_with(start)).map(ToOwned::to_owned);
        found.with_context(|| format!("{PAGE} names no command `{start}…` under `{SECTION}`"))
    };
    let (install, test) = (named("apt-get install ")?, named("cargo xtask test")?);
    let mut steps = Vec::new();
    for block in blocks(section)?.iter().filter(|block| block.language == "console") {
        steps.extend(block.transcript()?);
    }
    Ok(StartSection { install, steps, test })
}

/// Nobody is there to answer apt's question.
fn with_yes(command: &str) -> String {
    command.replacen("install", "install --yes", 1)
}

/// Runs a command that has to succeed.
fn must(shell: &mut Shell, command: &str) -> anyhow::Result<()> {
    let ended = shell.run(command)?;
    if ended.status != 0 {
        bail!("`{command}` ended with status {} and said:\n{}", ended.status, ended.output);
    }
    Ok(())
}

/// What cargo says of its own work comes before what the program prints.
fn follow(step: &TranscriptStep, shell: &mut Shell) -> anyhow::Result<()> {
    let expected: Vec<String> = ["...".to_owned()].into_iter().chain(step.output.iter().cloned()).collect();
    if goes_on(&step.command) {
        return shell.serve(&step.command, &expected).map(drop);
    }
    let ended = shell.run(&step.command)?;
    if ended.status != 0 || !expected::fits(&expected, &ended.output) {
        bail!("it ended with status {} and said:\n{}", ended.status, ended.output);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{section, with_yes};

    #[test]
    fn the_readme_says_what_to_install_and_to_run() {
        let section = section(include_str!("../../../README.md")).unwrap();
        assert!(section.install.starts_with("apt-get install build-essential"), "{}", section.install);
        let commands: Vec<&str> = section.steps.iter().map(|step| step.command.as_str()).collect();
        assert!(commands.iter().all(|command| command.starts_with("cargo run ")), "{commands:?}");
        assert_eq!(commands.len(), 2);
        assert_eq!(section.test, "cargo xtask test");
        assert!(super::goes_on(commands[0]), "{}", commands[0]);
    }

    #[test]
    fn apt_asks_nothing() {
        assert_eq!(with_yes("apt-get install a"), "apt-get install --yes a");
    }
}
