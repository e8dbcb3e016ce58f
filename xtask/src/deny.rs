//! `deny`: licences, sources and duplicates of every dependency, and security advisories where they can be had.
//!
//! The rules are in `deny.toml`. Advisories need a database from the network: without it they are skipped, aloud.

use std::process::Command;

use crate::process;
use crate::workspace::Workspace;

/// The newest version that was tried here; an installed one is used as it is from `OLDEST` on.
const NEWEST: &str = "0.20.2";
const OLDEST: (u32, u32) = (0, 18);

/// Fetching the advisories may hang on a network that swallows packets.
const FETCH_LIMIT: &str = "60";

pub(crate) fn run(workspace: &Workspace) -> anyhow::Result<()> {
    install_if_missing(workspace)?;
    process::run(deny(workspace).args(["check", "bans", "licenses", "sources"]))?;
    let mut fetch = Command::new("timeout");
    fetch
        .args([FETCH_LIMIT, "cargo", "deny", "--log-level", "off", "fetch", "db"])
        .current_dir(&workspace.root);
    if !process::succeeds(fetch.env("GIT_TERMINAL_PROMPT", "0")) {
        println!("    advisories skipped: their database cannot be fetched from here");
        return Ok(());
    }
    process::run(deny(workspace).args(["check", "--disable-fetch", "advisories"]))
}

fn deny(workspace: &Workspace) -> Command {
    let mut command = workspace.cargo();
    command.arg("deny");
    command
}

/// Built without optimisation: the tool runs for a second, and the optimised build takes three times as long.
fn install_if_missing(workspace: &Workspace) -> anyhow::Result<()> {
    if let Ok(found) = Command::new("cargo-deny").arg("--version").output()
        && recent_enough(&String::from_utf8_lossy(&found.stdout))
    {
        return Ok(());
    }
    println!(
        "    cargo-deny is missing or old: compiling {NEWEST} into cargo's bin folder (a minute or two, once)"
    );
    let mut install = workspace.cargo();
    install.args(["install", "--locked", "--quiet", "--force", &format!("cargo-deny@{NEWEST}")]);
    for (setting, value) in [("LTO", "off"), ("CODEGEN_UNITS", "16"), ("OPT_LEVEL", "0")] {
        install.env(format!("CARGO_PROFILE_RELEASE_{setting}"), value);
    }
    process::run(&mut install)
}

fn recent_enough(version: &str) -> bool {
    let mut numbers =
        version.trim().trim_start_matches("cargo-deny ").split('.').map_while(|part| part.parse().ok());
    numbers.next().zip(numbers.next()).is_some_and(|found: (u32, u32)| found >= OLDEST)
}

#[cfg(test)]
mod tests {
    use super::recent_enough;

    fn check(version: &str, expect: bool) {
        assert_eq!(recent_enough(version), expect, "{version}");
    }

    #[test]
    fn an_installed_version_is_used_when_it_knows_our_rules() {
        check("cargo-deny 0.20.2\n", true);
        check("cargo-deny 0.18.0", true);
        check("cargo-deny 1.0.0", true);
        check("cargo-deny 0.14.2", false);
        check("", false);
    }
}
