//! What commands that run one of many things have in common on their command line.

use std::path::PathBuf;

use anyhow::Context;

#[derive(clap::Args)]
pub(crate) struct Selection {
    /// Print a table in Markdown at the end
    #[arg(long)]
    pub(crate) markdown: bool,
    /// Say what there is, and run nothing
    #[arg(long)]
    pub(crate) list: bool,
    /// The toolmux to use; when absent, it is built
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// What to run; all of it when nothing is named
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
}

impl Selection {
    /// The program that was named.
    pub(crate) fn binary(&self) -> anyhow::Result<Option<PathBuf>> {
        let found = self
            .binary
            .as_ref()
            .map(|binary| binary.canonicalize().with_context(|| format!("no `{}`", binary.display())));
        found.transpose()
    }
}
