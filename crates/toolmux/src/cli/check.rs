//! `toolmux check`: is a file good, and if not, where and why.

use std::path::PathBuf;
use std::process::ExitCode;

use super::failure::{Failure, REFUSED};
use crate::config::Config;

/// Check configurations and documents without serving them.
///
/// Example: toolmux check toolmux.toml
#[derive(clap::Args)]
pub(super) struct Check {
    /// The files.
    #[arg(required = true)]
    files: Vec<PathBuf>,
}

impl Check {
    pub(super) fn run(&self) -> ExitCode {
        let mut good = true;
        for file in &self.files {
            match check(file) {
                Ok(what) => println!("{}: {what}", file.display()),
                Err(failure) => {
                    good = false;
                    failure.report();
                }
            }
        }
        if good { ExitCode::SUCCESS } else { ExitCode::from(REFUSED) }
    }
}

fn check(file: &std::path::Path) -> Result<String, Failure> {
    let config = Config::load(file)?;
    for source in &config.sources {
        source.open().map_err(|error| error.context(format!("source `{}`", source.name)))?;
    }
    Ok(format!("a good configuration with {} sources", config.sources.len()))
}
