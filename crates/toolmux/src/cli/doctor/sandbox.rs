//! Sandboxes: what of them the kernel of this machine enforces, for C libraries and for the programs of sources.

use toolmux_protocols::opendyn::{Degree, Enforced, enforced_here};
use toolmux_protocols::{Held, sandbox_here};

use super::Finding;
use crate::config::Config;

const AREA: &str = "sandbox";
/// The version of landlock that has everything which is used.
const LANDLOCK: i32 = 6;

pub(super) async fn examine(config: Option<&Config>) -> Vec<Finding> {
    let programs = sandbox_here().await;
    let mut findings = vec![of_libraries().await, of_programs(&programs)];
    findings.extend(config.into_iter().flat_map(with_sandbox).map(|name| match &programs {
        Ok(_) => Finding::good(AREA, format!("{name}: `sandbox` is on")),
        Err(why) => {
            let remedy = "another kernel, or `sandbox = \"off\"` if the program may do what its user may";
            Finding::failing(AREA, format!("{name}: its programs are not started: {why}"), remedy)
        }
    }));
    findings
}

/// Found out by a worker that gives up what it can.
async fn of_libraries() -> Finding {
    let remedy = "Linux 6.12 or newer has all of it, containers may forbid some; without landlock the sandbox `pure` is refused";
    let Ok(worker) = std::env::current_exe() else {
        return Finding::warning(AREA, "this program cannot find its own file", remedy);
    };
    match enforced_here(worker).await {
        Ok(Enforced { files: Degree::Fully, system_calls: Degree::Fully }) => Finding::good(
            AREA,
            "C libraries: files (landlock), system calls (seccomp) and memory (rlimits) are fully enforced",
        ),
        Ok(Enforced { files, system_calls }) => {
            let (files, calls) = (words(files), words(system_calls));
            let what =
                format!("C libraries: files (landlock) are {files} enforced, system calls (seccomp) {calls}");
            Finding::warning(AREA, what, remedy)
        }
        Err(error) => Finding::warning(AREA, format!("C libraries: {}", error.message().public), remedy),
    }
}

/// Found out by a launcher that starts nothing.
fn of_programs(held: &Result<Held, String>) -> Finding {
    match held {
        Ok(Held { files: Degree::Fully, landlock }) => {
            let what = format!(
                "programs: files (landlock {landlock}), system calls (seccomp) and resources (rlimits) are fully enforced"
            );
            Finding::good(AREA, what)
        }
        Ok(Held { files, landlock }) => {
            let what = format!(
                "programs: files (landlock {landlock}) are {} enforced, system calls (seccomp) and resources (rlimits) fully",
                words(*files)
            );
            let remedy = format!(
                "landlock {LANDLOCK} of Linux 6.12 keeps signals and abstract sockets in the sandbox too"
            );
            Finding::warning(AREA, what, remedy)
        }
        Err(why) => {
            let remedy = "sources with `sandbox` cannot be used here; Linux 6.2 or newer has what they need";
            Finding::warning(AREA, format!("programs: {why}"), remedy)
        }
    }
}

fn words(degree: Degree) -> &'static str {
    match degree {
        Degree::Fully => "fully",
        Degree::Partly => "partly",
        Degree::Not => "not",
    }
}

/// The sources that start programs in a sandbox.
fn with_sandbox(config: &Config) -> impl Iterator<Item = &str> {
    let starts_programs = |kind: &str| matches!(kind, "command" | "mcp");
    let sources = config.sources.iter().filter(move |source| starts_programs(source.kind));
    let on = sources.filter(|source| source.table.get("sandbox").is_some_and(|sandbox| sandbox != "off"));
    on.map(|source| source.name.as_str())
}
