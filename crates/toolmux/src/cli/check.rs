//! `toolmux check`: is a file good, and if not, where and why.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use serde_json::{Value, json};
use toolmux_protocols::DOCUMENTS;
use toolmux_protocols::documents::fault::{Fault, Weight, without_bom};

use toolmux_core::plural::counted;

use super::failure::{Failure, REFUSED};
use super::origin::CONFIG;
use super::terminal::{note, print_line};
use crate::config::{ConfigFault, Judgement, judge};

/// Check configurations and documents without serving them.
///
/// Refuses what `toolmux serve` would refuse, all faults at once. Starts nothing and connects to nothing. A secret
/// whose environment variable is not set is only a warning.
///
/// Example: toolmux check toolmux.toml
#[derive(clap::Args)]
pub(super) struct Check {
    /// The files to check.
    #[arg(default_value = CONFIG)]
    files: Vec<PathBuf>,
    /// Print the result for each file as JSON.
    #[arg(long)]
    json: bool,
}

impl Check {
    pub(super) fn run(&self) -> ExitCode {
        let (mut good, mut told) = (true, Vec::new());
        for file in &self.files {
            let name = file.display().to_string();
            let (verdict, warnings) = check(file);
            for warning in &warnings {
                note(warning);
            }
            match verdict {
                Ok(what) if self.json => {
                    told.push(json!({ "file": name, "good": true, "what": what, "warnings": warnings }));
                }
                Ok(what) => print_line(&format!("{name}: {what}")),
                Err(failure) => {
                    good = false;
                    told.push(json!({
                        "file": name,
                        "good": false,
                        "what": failure.to_string(),
                        "faults": failure.all(),
                        "warnings": warnings,
                    }));
                    failure.report();
                }
            }
        }
        if self.json {
            print_line(&format!("{:#}", Value::from(told)));
        }
        if good { ExitCode::SUCCESS } else { ExitCode::from(REFUSED) }
    }
}

/// What a file is, or what is wrong with it; and what is worth a warning.
fn check(file: &Path) -> (Result<String, Failure>, Vec<String>) {
    if file.extension().is_some_and(|extension| extension == "json") {
        return (check_document(file), Vec::new());
    }
    let Judgement { sources, faults, warnings } = match judge(file) {
        Ok(judgement) => judgement,
        Err(fault) => return (Err(fault.into()), Vec::new()),
    };
    let warnings: Vec<String> =
        warnings.iter().map(|warning| format!("warning: {}", warning.summary())).collect();
    let verdict = match (faults, warnings.len()) {
        (Some(faults), _) => Err(faults.into()),
        (None, 0) => Ok(format!("a good configuration with {}", counted(sources, "source"))),
        (None, count) => Ok(format!(
            "a good configuration with {} and {}",
            counted(sources, "source"),
            counted(count, "warning")
        )),
    };
    (verdict, warnings)
}

/// A document is of the kind whose member it has.
fn check_document(file: &Path) -> Result<String, Failure> {
    let name = file.display();
    let text = std::fs::read_to_string(file).map_err(|error| ConfigFault::unread(file, &error))?;
    let text = without_bom(&text);
    let members = serde_json::from_str::<Value>(text).with_context(|| format!("`{name}` is not JSON"))?;
    let has = |member: Option<&str>| member.is_some_and(|member| members.get(member).is_some());
    let named = DOCUMENTS.iter().find(|kind| has(Some(kind.member)));
    let Some(kind) = named.or_else(|| DOCUMENTS.iter().find(|kind| has(kind.likely_member))) else {
        let known: Vec<String> =
            DOCUMENTS.iter().map(|kind| format!("`{}` of an {}", kind.member, kind.name)).collect();
        return Err(Failure::refused(anyhow::anyhow!("`{name}` is not a known kind of document"))
            .hint(format!("it has none of the members {}", known.join(", "))));
    };
    let (faults, warnings): (Vec<Fault>, Vec<Fault>) =
        (kind.check)(text).into_iter().partition(|fault| fault.weight.is_fault());
    for fault in faults.iter().chain(&warnings) {
        note(&format!("{name}:{fault}{}\n  hint: {}", label(fault.weight), fault.remedy));
    }
    match (faults.len(), warnings.len()) {
        (0, 0) => Ok(format!("a good {}", kind.name)),
        (0, count) => Ok(format!("a good {} with {}", kind.name, counted(count, "warning"))),
        (count, _) => {
            let what = format!("`{name}` has {} as an {}", counted(count, "fault"), kind.name);
            Err(Failure::refused(anyhow::anyhow!(what)))
        }
    }
}

fn label(weight: Weight) -> &'static str {
    match weight {
        Weight::Fatal | Weight::Tolerable => "",
        Weight::Unusable => " (warning: the function is not served)",
        Weight::Warning => " (warning)",
    }
}
