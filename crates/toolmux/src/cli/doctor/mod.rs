//! `toolmux doctor`: everything that could keep a configuration from serving, each with what to do about it.

mod listening;
mod machine;
mod sandbox;
mod secrets;
mod served;
mod sources;
mod storage;

use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::{Value, json};
use toolmux_core::plural::counted;
use toolmux_core::redact::redacted;

use super::closing::until_signal;
use super::failure::{Failure, REFUSED};
use super::origin::CONFIG;
use super::remote::KeyOptions;
use super::terminal::{Terminal, print_line};
use crate::config::Config;

/// Check a configuration, its sources and this machine.
///
/// Checks the configuration, its secrets and their files, the store, the address, every source, the sandbox, the clock
/// and the limits of this machine. Exits with 0 if there are at most warnings, with 1 if the server would start but a
/// part of it does not work (`fail`), such as one of its sources, and with 2 if it would not start (`bad`). Each
/// finding has a remedy.
///
/// Example: toolmux doctor toolmux.toml --fix
///
/// Example: toolmux doctor --url http://127.0.0.1:9627
#[derive(clap::Args)]
pub(super) struct Doctor {
    /// The configuration to check.
    #[arg(default_value = CONFIG)]
    pub(super) config: PathBuf,
    /// Fix what is safe to fix: permissions of secret files, a folder for the store.
    #[arg(long)]
    fix: bool,
    /// Print it as JSON.
    #[arg(long)]
    json: bool,
    /// Ask a running server how it does instead, with the key of an operator.
    #[arg(long, conflicts_with = "fix")]
    url: Option<String>,
    #[command(flatten)]
    key: KeyOptions,
}

/// It would serve, but a part of it does not work.
const PART_FAILS: u8 = 1;

/// How bad a finding is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Good,
    Warning,
    /// A part does not work; the rest is served.
    Failing,
    /// Nothing can be served.
    Bad,
    Fixed,
}

impl State {
    fn word(self) -> &'static str {
        match self {
            State::Good => "ok",
            State::Warning => "warn",
            State::Failing => "fail",
            State::Bad => "bad",
            State::Fixed => "fixed",
        }
    }

    fn colour(self) -> &'static str {
        match self {
            State::Good => "32",
            State::Warning => "33",
            State::Failing | State::Bad => "31",
            State::Fixed => "36",
        }
    }
}

/// Whether to mend.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mending {
    TokenRequest,
    Unwanted,
}

/// One thing that was looked at.
struct Finding {
    area: &'static str,
    state: State,
    what: String,
    remedy: Option<String>,
}

impl Finding {
    fn good(area: &'static str, what: impl Into<String>) -> Self {
        Finding { area, state: State::Good, what: what.into(), remedy: None }
    }

    fn warning(area: &'static str, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Finding { area, state: State::Warning, what: what.into(), remedy: Some(remedy.into()) }
    }

    fn failing(area: &'static str, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Finding { state: State::Failing, ..Finding::warning(area, what, remedy) }
    }

    fn bad(area: &'static str, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Finding { state: State::Bad, ..Finding::warning(area, what, remedy) }
    }

    /// The same, mended when that is wanted and works.
    fn mended(self, mending: Mending, mend: impl FnOnce() -> std::io::Result<()>) -> Self {
        match mending {
            Mending::Unwanted => {
                let remedy = self.remedy.map(|remedy| format!("{remedy}; `toolmux doctor --fix` does it"));
                Finding { remedy, ..self }
            }
            Mending::TokenRequest => match mend() {
                Ok(()) => Finding { state: State::Fixed, remedy: None, ..self },
                Err(error) => {
                    Finding { what: format!("{} (and cannot be fixed: {error})", self.what), ..self }
                }
            },
        }
    }
}

impl Doctor {
    pub(super) async fn run(self, terminal: &Terminal) -> Result<ExitCode, Failure> {
        let mending = if self.fix { Mending::TokenRequest } else { Mending::Unwanted };
        let findings = match &self.url {
            Some(url) => served::examine(url, &self.key).await?,
            None => self.examine(mending, terminal).await?,
        };
        if self.json {
            print_line(&format!("{:#}", findings.iter().map(as_json).collect::<Value>()));
        } else {
            for finding in &findings {
                print(finding, terminal);
            }
        }
        let has = |state: State| findings.iter().any(|finding| finding.state == state);
        Ok(match (has(State::Bad), has(State::Failing)) {
            (true, _) => ExitCode::from(REFUSED),
            (false, true) => ExitCode::from(PART_FAILS),
            (false, false) => ExitCode::SUCCESS,
        })
    }

    async fn examine(&self, mending: Mending, terminal: &Terminal) -> Result<Vec<Finding>, Failure> {
        let name = self.config.display();
        let mut findings = secrets::examine(&self.config, mending);
        match Config::load(&self.config) {
            Err(fault) => {
                let shown = || format!("toolmux check {name} shows the line");
                let faults = fault.split().into_iter().map(|fault| {
                    Finding::bad("config", fault.located(), fault.hint.clone().unwrap_or_else(shown))
                });
                findings.splice(0..0, faults.collect::<Vec<_>>());
                findings.extend(until_signal(sandbox::examine(None)).await?);
                findings.extend(until_signal(machine::examine(None)).await?);
            }
            Ok(config) => {
                let what = format!("{name} is valid, with {}", counted(config.sources.len(), "source"));
                findings.insert(0, Finding::good("config", what));
                findings.extend(listening::examine(&config).await);
                findings.extend(storage::examine(&config, mending).await);
                findings.extend(sources::examine(&config, terminal).await?);
                findings.extend(until_signal(sandbox::examine(Some(&config))).await?);
                findings.extend(until_signal(machine::examine(Some(&config))).await?);
            }
        }
        Ok(findings)
    }
}

fn as_json(finding: &Finding) -> Value {
    json!({
        "area": finding.area,
        "state": finding.state.word(),
        "what": redacted(&finding.what),
        "remedy": finding.remedy,
    })
}

fn print(finding: &Finding, terminal: &Terminal) {
    let state = format!("{:<5}", finding.state.word());
    let state = terminal.painted(finding.state.colour(), &state);
    print_line(&format!("{state}  {:<8}  {}", finding.area, redacted(&finding.what)));
    if let Some(remedy) = &finding.remedy {
        print_line(&format!("{:17}hint: {remedy}", ""));
    }
}
