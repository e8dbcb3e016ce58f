//! `fuzz`: fuzz targets for longer than `cargo test` takes, by cargo-fuzz where it can be had and by the tests' own
//! harness otherwise, and the code with `unsafe` under the address sanitizer.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, bail};
use clap::Args;

use crate::process;
use crate::workspace::Workspace;

/// What the address sanitizer is built for; it needs a target of its own.
const SANITIZED: &str = "x86_64-unknown-linux-gnu";
/// The crates with fuzz targets.
const CRATES: [&str; 5] =
    ["toolmux-core", "toolmux-dylib-host", "toolmux-http", "toolmux-protocols", "toolmux"];

#[derive(Args)]
pub(crate) struct Options {
    /// The target to run; every one when none is named
    target: Option<String>,
    /// How long each target runs
    #[arg(long, default_value_t = 30)]
    seconds: u64,
    /// Run one case from a file, as a failing test or cargo-fuzz wrote it, instead of making cases
    #[arg(long, value_name = "FILE", requires = "target")]
    input: Option<PathBuf>,
    /// Only write the examples of every target into fuzz/corpus, where cargo-fuzz begins
    #[arg(long)]
    corpus: bool,
    /// Run the unit tests of the crate with `unsafe` under the address sanitizer instead
    #[arg(long, conflicts_with_all = ["target", "input", "corpus"])]
    sanitize: bool,
    /// Use the stable harness even where cargo-fuzz is installed
    #[arg(long)]
    stable: bool,
}

pub(crate) fn run(workspace: &Workspace, options: &Options) -> anyhow::Result<()> {
    let targets = targets(workspace)?;
    if let Some(target) = options.target.as_ref().filter(|target| !targets.contains(target)) {
        bail!("there is no fuzz target `{target}`; there are {}", targets.join(", "));
    }
    if options.sanitize {
        return sanitize(workspace);
    }
    if let Some(input) = &options.input {
        let input = input.canonicalize().with_context(|| format!("cannot find `{}`", input.display()))?;
        return harness(workspace, options, &[("INPUT", input.into_os_string())]);
    }
    let corpus = workspace.root.join("fuzz").join("corpus");
    let write_corpus = || harness(workspace, options, &[("CORPUS", corpus.clone().into_os_string())]);
    if options.corpus {
        return write_corpus();
    }
    let missing = if options.stable { Some("--stable says so") } else { missing() };
    match missing {
        Some(reason) => {
            println!("    {reason}: running the stable harness, which does not measure coverage");
            let seed = std::process::id().to_string();
            println!("    random numbers begin at {seed}; a failing case prints how to repeat it");
            let seconds = options.seconds.to_string();
            harness(workspace, options, &[("SECONDS", seconds.into()), ("SEED", seed.into())])
        }
        None => {
            println!(
                "    cargo-fuzz and a nightly toolchain are installed: running libFuzzer with the address sanitizer"
            );
            write_corpus()?;
            let chosen = options.target.as_ref().map_or(&targets[..], std::slice::from_ref);
            chosen.iter().try_for_each(|target| libfuzzer(workspace, target, options.seconds))
        }
    }
}

/// The targets, by the binaries of fuzz/Cargo.toml; the tests of each crate check that none of theirs is missing.
fn targets(workspace: &Workspace) -> anyhow::Result<Vec<String>> {
    let manifest = workspace.root.join("fuzz").join("Cargo.toml");
    let text = std::fs::read_to_string(&manifest)
        .with_context(|| format!("cannot read `{}`", manifest.display()))?;
    let binaries = text.split("[[bin]]").skip(1).filter_map(|binary| binary.split('"').nth(1));
    Ok(binaries.map(str::to_owned).collect())
}

/// Why libFuzzer cannot be used.
fn missing() -> Option<&'static str> {
    if !process::succeeds(Command::new("cargo").args(["+nightly", "--version"])) {
        return Some("no nightly toolchain is installed (rustup toolchain install nightly)");
    }
    let installed = process::succeeds(Command::new("cargo").args(["fuzz", "--version"]));
    (!installed).then_some("cargo-fuzz is not installed (cargo install cargo-fuzz)")
}

/// The same targets as tests, told by environment variables what to do.
fn harness(
    workspace: &Workspace,
    options: &Options,
    variables: &[(&str, std::ffi::OsString)],
) -> anyhow::Result<()> {
    let mut command = workspace.cargo();
    command.args(["test", "--quiet", "--lib"]);
    for name in CRATES {
        command.args(["--package", name]);
    }
    for (name, value) in variables {
        command.env(format!("TOOLMUX_FUZZ_{name}"), value);
    }
    if let Some(target) = &options.target {
        command.env("TOOLMUX_FUZZ_TARGET", target);
    }
    process::run(command.args(["fuzz_targets", "--", "--nocapture"]))
}

fn libfuzzer(workspace: &Workspace, target: &str, seconds: u64) -> anyhow::Result<()> {
    let mut command = Command::new("cargo");
    // The toolchain of the cargo that runs us must not win over the one asked for.
    command.env_remove("RUSTUP_TOOLCHAIN").env_remove("CARGO").current_dir(&workspace.root);
    command.args(["+nightly", "fuzz", "run", target, "--", "-max_len=16384", "-timeout=20"]);
    process::run(command.arg(format!("-max_total_time={seconds}")))
}

/// The unit tests of the crate with `unsafe`, its fuzz targets among them, built with the address sanitizer.
fn sanitize(workspace: &Workspace) -> anyhow::Result<()> {
    let nightly = process::succeeds(Command::new("cargo").args(["+nightly", "--version"]));
    let mut command = Command::new("cargo");
    command.env_remove("RUSTUP_TOOLCHAIN").env_remove("CARGO").current_dir(&workspace.root);
    if nightly {
        command.arg("+nightly");
    } else {
        println!("    no nightly toolchain is installed: asking the stable one to take flags of nightly");
        command.env("RUSTC_BOOTSTRAP", "1");
    }
    println!(
        "    not covered: C code that is called (it is not instrumented) and workers (their memory is bounded)"
    );
    command
        .args(["test", "--package", "toolmux-dylib-host", "--lib", "--target", SANITIZED])
        .env("RUSTFLAGS", "-Zsanitizer=address")
        .env("CARGO_TARGET_DIR", workspace.cache().join("sanitized"));
    process::run(&mut command)
}
