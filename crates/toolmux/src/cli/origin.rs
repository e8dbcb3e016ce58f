//! What a command works on: a configuration, or anything that tools can come from.

use std::path::PathBuf;

use clap::ValueEnum;
use toolmux_core::sources::Naming;

use super::detect::{Found, Named, detect};
use super::failure::Failure;
use crate::config::Config;
use crate::reload::File;

/// The configuration when none is named.
pub(super) const CONFIG: &str = "toolmux.toml";

/// Where the tools come from.
#[derive(clap::Args)]
pub(super) struct Origin {
    /// A configuration [default: toolmux.toml]; or a document, a C library, an address or the file of an MCP client.
    #[arg(value_name = "CONFIG|FILE|URL")]
    words: Vec<String>,
    /// The command of an MCP server, after `--`.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
    /// How tools are named without a configuration.
    #[arg(long, value_enum, default_value_t = Names::Bare)]
    names: Names,
}

#[derive(Clone, Copy, ValueEnum)]
enum Names {
    /// The names that their source gives them.
    Bare,
    /// Prefixed with the name of their source.
    Prefixed,
}

/// A configuration and where it is from.
pub(super) struct Originated {
    pub(super) config: Config,
    /// The file, when there is one to follow.
    pub(super) file: Option<File>,
    /// What was found, when there is none.
    pub(super) found: Vec<Found>,
}

impl Origin {
    /// Those of the words that are configurations.
    pub(super) fn configurations(&self) -> Vec<PathBuf> {
        if self.words.is_empty() && self.command.is_empty() {
            return vec![PathBuf::from(CONFIG)];
        }
        self.words
            .iter()
            .map(PathBuf::from)
            .filter(|word| word.extension().is_some_and(|end| end == "toml"))
            .collect()
    }

    /// Reads the configuration, or makes one of what is found.
    pub(super) async fn config(&self) -> Result<Originated, Failure> {
        let naming = match self.names {
            Names::Bare => Naming::Bare,
            Names::Prefixed => Naming::Prefixed,
        };
        let usual = [CONFIG.to_owned()];
        let nothing = self.words.is_empty() && self.command.is_empty();
        let words = if nothing { &usual[..] } else { &self.words };
        match detect(words, &self.command, naming).await? {
            Named::Config(path) => {
                let file = File::now(path);
                Ok(Originated { config: Config::load(&file.path)?, file: Some(file), found: Vec::new() })
            }
            Named::Sources(found) => {
                let sources = found.iter().flat_map(|found| found.sources.clone()).collect();
                Ok(Originated { config: Config::of_sources(sources)?, file: None, found })
            }
        }
    }
}
