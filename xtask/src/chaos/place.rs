//! What every scenario is run with, and how it says that this machine cannot run it.

use std::env;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;

pub(crate) struct Place {
    pub(crate) toolmux: PathBuf,
    /// This program, which has the scripted servers as hidden commands.
    pub(crate) xtask: PathBuf,
    /// Of this scenario alone, removed at its end.
    pub(crate) folder: TempDir,
    pub(crate) duration: Duration,
    pub(crate) size: Size,
}

/// How large a scenario is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Size {
    /// As in `cargo xtask test`.
    Short,
    Full,
}

impl Place {
    pub(crate) fn new(toolmux: &Path, duration: Duration, size: Size) -> anyhow::Result<Self> {
        Ok(Self {
            toolmux: toolmux.to_owned(),
            xtask: env::current_exe()?,
            folder: tempfile::Builder::new().prefix("toolmux-chaos-").tempdir()?,
            duration,
            size,
        })
    }

    pub(crate) fn pick<T>(&self, short: T, full: T) -> T {
        match self.size {
            Size::Short => short,
            Size::Full => full,
        }
    }

    /// A part of the scenario's time.
    pub(crate) fn share(&self, share: f64) -> Duration {
        self.duration.mul_f64(share)
    }

    /// The address of a SQLite store in the scenario's folder.
    pub(crate) fn sqlite(&self) -> String {
        format!("sqlite:{}", self.folder.path().join("store.db").display())
    }
}

/// The scenario cannot run here: neither passed nor failed.
#[derive(Debug)]
pub(crate) struct Skip(pub(crate) String);

impl fmt::Display for Skip {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for Skip {}
