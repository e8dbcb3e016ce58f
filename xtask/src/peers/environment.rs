//! What a suite's command finds in its environment.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where one suite keeps its Python environment, its npm packages and its scratch files.
pub(crate) struct Folders {
    pub(crate) python: PathBuf,
    pub(crate) node: PathBuf,
    pub(crate) scratch: PathBuf,
}

impl Folders {
    pub(crate) fn of(suite: &str, cache: &Path) -> Self {
        let own = cache.join(suite);
        Self { python: own.join("python"), node: own.join("node"), scratch: own.join("scratch") }
    }

    /// The suite's own programs come first: `python`, `pytest`, `tsx` need no path.
    pub(crate) fn furnish(&self, command: &mut Command, binary: &Path, root: &Path) -> anyhow::Result<()> {
        command
            .current_dir(root)
            .env("PATH", self.path()?)
            .env("NODE_PATH", self.node.join("node_modules"))
            .env("TOOLMUX_BIN", binary)
            .env("TOOLMUX_ROOT", root)
            .env("TOOLMUX_SCRATCH", &self.scratch);
        Ok(())
    }

    fn path(&self) -> anyhow::Result<OsString> {
        let inherited = env::var_os("PATH").unwrap_or_default();
        let own = [self.python.join("bin"), self.node.join("node_modules").join(".bin")];
        Ok(env::join_paths(own.into_iter().chain(env::split_paths(&inherited)))?)
    }
}
