//! The `setup` step: the programs every other step counts on. What a peer suite needs is listed with the suite.

use crate::need::{self, Need};
use crate::workspace::Workspace;
use crate::{peers, process};

const ALWAYS: &[Need] = &[
    need::C_COMPILER,
    need::C_LIBRARIES,
    need::POSTGRESQL,
    need::PKG_CONFIG,
    need::GIT,
    need::KILL,
    need::CURL,
    need::VALGRIND,
    need::PYTHON_VENV,
    need::NODE,
];

pub(crate) fn run(workspace: &Workspace) -> anyhow::Result<()> {
    let suites = peers::SUITES.iter().flat_map(|suite| suite.needs);
    let mut needs: Vec<Need> = Vec::new();
    for need in ALWAYS.iter().chain(suites) {
        if !needs.iter().any(|known| known.what == need.what) {
            needs.push(*need);
        }
    }
    need::meet(&needs)?;
    for component in ["fmt", "clippy"] {
        if !process::succeeds(workspace.cargo().args([component, "--version"])) {
            println!("    cargo {component} is missing: adding the toolchain's components");
            process::run(std::process::Command::new("rustup").args([
                "component",
                "add",
                "rustfmt",
                "clippy",
            ]))?;
        }
    }
    Ok(())
}
