//! Which program makes the load: one that people know when the machine has it, else our own.

use std::fmt;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};
use clap::ValueEnum;

use super::{Load, Round, built_in, oha, wrk};
use crate::process;

/// In the order of preference: what costs least beside the server it shares the machine with is first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Generator {
    Wrk,
    Oha,
    BuiltIn,
}

/// The one that was asked for, else the first that is here.
pub(crate) fn choose(
    wanted: Option<Generator>,
    here: impl Fn(Generator) -> bool,
) -> anyhow::Result<Generator> {
    match wanted {
        Some(generator) if !here(generator) => {
            bail!("`{generator}` is not on PATH: install it, or let --generator be built-in")
        }
        Some(generator) => Ok(generator),
        None => Ok([Generator::Wrk, Generator::Oha]
            .into_iter()
            .find(|generator| here(*generator))
            .unwrap_or(Generator::BuiltIn)),
    }
}

impl Generator {
    /// Whether this machine has it.
    pub(crate) fn is_installed(self) -> bool {
        let find = format!("command -v {self}");
        self == Self::BuiltIn || process::succeeds(Command::new("sh").args(["-c", &find]))
    }

    /// Runs for the whole duration unless a connection breaks. Files it needs go into the folder.
    pub(crate) fn generate(self, load: &Load, address: SocketAddr, folder: &Path) -> anyhow::Result<Round> {
        let round = match self {
            Self::BuiltIn => built_in::generate(load, address)?,
            Self::Wrk => watched(load, address, || wrk::generate(load, address, folder))?,
            Self::Oha => watched(load, address, || oha::generate(load, address))?,
        };
        if round.good == 0 {
            bail!("no good answer among {}", round.bad);
        }
        Ok(round)
    }
}

/// Programs of others look at the status of an answer alone, so we look at a whole one before and after.
fn watched(
    load: &Load,
    address: SocketAddr,
    run: impl Fn() -> anyhow::Result<Round>,
) -> anyhow::Result<Round> {
    load.exchange.ask(address).context("before the round")?;
    let round = run()?;
    load.exchange.ask(address).context("after the round")?;
    Ok(round)
}

/// As it is named on the command line, which is also the name of its program.
impl fmt::Display for Generator {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Wrk => "wrk",
            Self::Oha => "oha",
            Self::BuiltIn => "built-in",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Generator::{self, BuiltIn, Oha, Wrk};
    use super::choose;

    fn check(wanted: Option<Generator>, here: &[Generator], expect: Result<Generator, &str>) {
        let chosen = choose(wanted, |generator| generator == BuiltIn || here.contains(&generator));
        assert_eq!(chosen.map_err(|error| error.to_string()), expect.map_err(str::to_owned));
    }

    #[test]
    fn what_the_machine_has_is_taken() {
        check(None, &[], Ok(BuiltIn));
        check(None, &[Oha], Ok(Oha));
        check(None, &[Oha, Wrk], Ok(Wrk));
    }

    #[test]
    fn what_is_asked_for_is_taken_or_missed() {
        check(Some(BuiltIn), &[Oha, Wrk], Ok(BuiltIn));
        check(Some(Oha), &[Oha, Wrk], Ok(Oha));
        check(Some(Wrk), &[Oha], Err("`wrk` is not on PATH: install it, or let --generator be built-in"));
    }
}
