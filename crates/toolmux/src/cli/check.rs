//! `toolmux check`: is a file good, and if not, where and why.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::{Value, json};
use toolmux_protocols::DOCUMENTS;
use toolmux_protocols::documents::fault::{Fault, Weight, without_bom};
use toolmux_protocols::documents::read_document;

use toolmux_core::plural::counted;

use super::failure::{Failure, REFUSED};
use super::origin::CONFIG;
use super::served_operations::{ServedOperations, served_by, served_by_file};
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
                Ok(checked) if self.json => told.push(checked.json(&name, &warnings)),
                Ok(checked) => checked.print(&name),
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

/// What a good file is, and what the sources of documents in it serve.
struct Checked {
    what: String,
    served: Vec<ServedOperations>,
}

impl Checked {
    fn json(&self, name: &str, warnings: &[String]) -> Value {
        let mut told = json!({ "file": name, "good": true, "what": self.what, "warnings": warnings });
        if !self.served.is_empty() {
            told["sources"] = self.served.iter().map(ServedOperations::json).collect();
        }
        told
    }

    fn print(&self, name: &str) {
        print_line(&format!("{name}: {}", self.what));
        self.served.iter().flat_map(ServedOperations::lines).for_each(|line| print_line(&line));
    }
}

/// What a file is, or what is wrong with it; and what is worth a warning.
fn check(file: &Path) -> (Result<Checked, Failure>, Vec<String>) {
    let ending = file.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    if ["json", "yaml", "yml"].contains(&ending) {
        return (check_document(file), Vec::new());
    }
    match judge(file) {
        Err(fault) => (Err(fault.into()), Vec::new()),
        Ok(judgement) => {
            let warnings = judgement.warnings.iter().map(|warning| format!("warning: {}", warning.summary()));
            let warnings: Vec<String> = warnings.collect();
            (check_config(judgement), warnings)
        }
    }
}

fn check_config(Judgement { config, faults, warnings }: Judgement) -> Result<Checked, Failure> {
    if let Some(faults) = faults {
        return Err(faults.into());
    }
    let (sources, tools) = config.map(|config| (config.sources, config.tools)).unwrap_or_default();
    let mut what = format!("valid configuration with {}", counted(sources.len(), "source"));
    if !warnings.is_empty() {
        what = format!("{what} and {}", counted(warnings.len(), "warning"));
    }
    let served = sources.iter().map(|source| served_by(source, &tools));
    let served = served.collect::<anyhow::Result<Vec<_>>>()?.into_iter().flatten().collect();
    Ok(Checked { what, served })
}

/// A document is of the kind whose member it has.
fn check_document(file: &Path) -> Result<Checked, Failure> {
    let name = file.display();
    let text = std::fs::read_to_string(file).map_err(|error| ConfigFault::unread(file, &error))?;
    let text = without_bom(&text);
    let members = read_document(text)
        .map_err(|fault| Failure::refused(anyhow::anyhow!("`{name}`:{fault}")).hint(fault.remedy.clone()))?;
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
    let what = match (faults.len(), warnings.len()) {
        (0, 0) => format!("valid {}", kind.name),
        (0, count) => format!("valid {} with {}", kind.name, counted(count, "warning")),
        (count, _) => {
            let what = format!("`{name}` has {} as an {}", counted(count, "fault"), kind.name);
            return Err(Failure::refused(anyhow::anyhow!(what)));
        }
    };
    Ok(Checked { what, served: served_by_file(kind, file)?.into_iter().collect() })
}

fn label(weight: Weight) -> &'static str {
    match weight {
        Weight::Fatal | Weight::Tolerable => "",
        Weight::Unusable => " (warning: the function is not served)",
        Weight::Warning => " (warning)",
    }
}
