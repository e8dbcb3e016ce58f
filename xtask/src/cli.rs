//! What can be typed after `cargo xtask`, and the help that teaches it.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::bench;
use crate::chaos;
use crate::cost;
use crate::docs::bare;
use crate::fuzz;
use crate::selection::Selection;
use crate::steps::Step;
use crate::tidy;

/// Checks, tests and benchmarks of the workspace
#[derive(Parser)]
#[command(bin_name = "cargo xtask", after_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) task: Task,
}

#[derive(Subcommand)]
pub(crate) enum Task {
    /// Everything that must be green before review, or only the steps you name
    ///
    /// Steps run in the order of the list below and the first failure ends the run. A fresh Debian machine with
    /// rustup and a C compiler is enough: what else is missing is installed, and said.
    Test {
        /// Steps to run; all of them when none is named
        #[arg(value_enum)]
        steps: Vec<Step>,
    },
    /// The rules about the source tree that no compiler knows
    #[command(after_help = tidy::RULES)]
    Tidy {
        /// Print the size and shape of the code in numbers instead
        #[arg(long)]
        counts: bool,
    },
    /// Licences, sources, duplicates and advisories of every dependency (rules: deny.toml)
    Deny,
    /// Follow the pages whose path contains PAGE, as the step `docs` does with all of them
    Docs { page: String },
    /// Draw the pictures of terminals and of the console in docs/ anew, from real runs
    Picture,
    /// Follow the start of README.md in a fresh Debian that debootstrap makes
    ///
    /// Run by hand, as root and with a network: it installs packages and Rust, follows the page, and runs every test. It
    /// says what it did, and what it could not do.
    Bare(bare::BareOptions),
    /// Write the tables of settings in docs/ again, from the doc comments in the code
    Reference,
    /// Describe the C libraries of this machine from their headers, and let each do its work
    ///
    /// Run by hand: it needs the headers of many libraries, and says which packages are missing.
    Headers {
        /// Libraries of the table; all of them when none is named
        libraries: Vec<String>,
    },
    /// List what the program is made of, as CycloneDX, in target/xtask/toolmux.cdx.json
    Sbom,
    /// Install real MCP servers from npm and PyPI and check that no tool of theirs is lost behind toolmux
    ///
    /// Run by hand: the packages take gigabytes below target/ and up to an hour to install.
    World,
    /// Fuzz targets for longer than the tests run them: cargo-fuzz where it is installed, else the tests' own harness
    ///
    /// Run by hand. `cargo test` runs every target for a bounded number of cases.
    Fuzz(fuzz::Options),
    /// Measure the server against a bare handler, in the same run
    #[command(after_help = bench::list())]
    Bench(bench::Options),
    /// Faults under load, every call counted: nothing lost, nothing run twice, no untrue refusal
    #[command(after_help = chaos::list())]
    Chaos(chaos::Options),
    /// Processor time and memory against the size of hostile input: growth must be linear
    #[command(after_help = cost::list())]
    Cost(Selection),
    /// The MCP server on standard streams that scenarios start as a source
    #[command(hide = true)]
    ChaosChild {
        #[arg(long)]
        runs: PathBuf,
    },
    /// The bare handler that benchmarks compare with
    #[command(hide = true)]
    BareAxum {
        #[arg(long)]
        listen: SocketAddr,
    },
    /// The bare MCP server that benchmarks put behind others
    #[command(hide = true)]
    BareMcp {
        #[arg(long)]
        listen: SocketAddr,
    },
    /// The bare reverse proxy that benchmarks compare with
    #[command(hide = true)]
    BareProxy {
        #[arg(long)]
        listen: SocketAddr,
        #[arg(long)]
        upstream: SocketAddr,
    },
}

const EXAMPLES: &str = "\
Examples:
  cargo xtask test                   everything, as CI does
  cargo xtask test fmt clippy        two steps
  cargo xtask tidy --help            the rules of the source tree
  cargo xtask docs README            one page, to the letter
  cargo xtask bench                  every benchmark
  cargo xtask bench oxp-add --generator built-in
  cargo xtask bench opentool-add --seconds 5 --rounds 7 --json numbers.json
  cargo xtask fuzz mcp_params --seconds 300
  cargo xtask chaos sqlite-kill --seconds 20
  cargo xtask chaos --short --binary target/debug/toolmux";

#[cfg(test)]
mod tests {
    use super::Cli;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
