//! The `memory` step: C functions called in this process, with valgrind looking at every access.

use super::cargo_tests::count;
use crate::steps::Tally;
use crate::workspace::Workspace;

/// The modules of tests that call C without a worker.
const IN_PROCESS: [&str; 3] = ["numbers::", "properties::", "allocation::"];
/// Valgrind takes its time.
const CASES: &str = "32";

pub(super) fn run(workspace: &Workspace, tally: &mut Tally) -> anyhow::Result<()> {
    let mut command = workspace.cargo();
    command
        .env("PROPTEST_CASES", CASES)
        .args(["test", "--package", "toolmux-dylib-host", "--test", "it", "--config"])
        .arg(r#"target."cfg(unix)".runner=["valgrind","--quiet","--error-exitcode=9"]"#)
        .args(["--", "--quiet"])
        .args(IN_PROCESS);
    count(&mut command, tally)
}
