//! Where things are: the workspace root, its build folder, and the folder xtask keeps its own files in.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use cargo_metadata::{Metadata, MetadataCommand};

use crate::process;

pub(crate) struct Workspace {
    pub(crate) root: PathBuf,
    /// Cargo's build folder, wherever the environment or a configuration file puts it.
    pub(crate) target: PathBuf,
    pub(crate) metadata: Metadata,
}

impl Workspace {
    pub(crate) fn find() -> anyhow::Result<Self> {
        let manifest = env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
        let metadata = MetadataCommand::new()
            .manifest_path(Path::new(&manifest).join("Cargo.toml"))
            .no_deps()
            .exec()
            .context("cannot read `cargo metadata`")?;
        let root = metadata.workspace_root.clone().into();
        let target = metadata.target_directory.clone().into();
        Ok(Self { root, target, metadata })
    }

    /// `cargo`, started in the workspace root.
    pub(crate) fn cargo(&self) -> Command {
        let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.current_dir(&self.root);
        command
    }

    /// The program as the tests build it.
    pub(crate) fn debug_program(&self) -> anyhow::Result<PathBuf> {
        process::run(self.cargo().args(["build", "--quiet", "--package", "toolmux", "--bin", "toolmux"]))?;
        Ok(self.target.join("debug").join("toolmux"))
    }

    /// What xtask downloads, measures and remembers; safe to delete.
    pub(crate) fn cache(&self) -> PathBuf {
        self.target.join("xtask")
    }
}
