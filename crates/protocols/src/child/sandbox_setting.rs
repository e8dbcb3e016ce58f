//! The setting `sandbox` of sources that start programs.

use std::path::{Path, PathBuf};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use toolmux_core::size::{SIZE, parse_size};
use toolmux_dylib_host::launcher::{Confinement, Network};

use crate::registry::OpenError;

/// What the programs of a source may do.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum SandboxSetting {
    /// In a word.
    Word(SandboxWord),
    /// What is allowed beyond `deny`.
    Table(SandboxTable),
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SandboxWord {
    Off,
    Deny,
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SandboxTable {
    /// Files and folders that may be read, in addition to the system's programs; relative to the configuration
    /// file. Default: none.
    #[serde(default)]
    read: Vec<PathBuf>,
    /// Files and folders that may be read and written, in addition to a temporary folder per process
    /// (`TMPDIR`). Default: none.
    #[serde(default)]
    write: Vec<PathBuf>,
    /// Allows the network.
    #[serde(default)]
    network: bool,
    /// Maximum memory of each process, such as `"512MiB"`. Default: no limit.
    #[serde(default)]
    memory: Option<SizeSetting>,
    /// Maximum CPU time of each process over its whole life, in seconds or such as `"1m"`. Default: no limit.
    #[serde(default)]
    cpu: Option<TimeSetting>,
    /// Maximum number of child processes and threads; 0 allows threads but no child process. More than 0 is not
    /// possible for root. Default: no limit.
    #[serde(default)]
    processes: Option<u64>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum SizeSetting {
    Bytes(u64),
    Text(String),
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum TimeSetting {
    Seconds(u64),
    Text(String),
}

impl Default for SandboxSetting {
    fn default() -> Self {
        SandboxSetting::Word(SandboxWord::Off)
    }
}

impl SandboxSetting {
    /// True unless the setting is `off`.
    pub(crate) fn is_on(&self) -> bool {
        !matches!(self, SandboxSetting::Word(SandboxWord::Off))
    }

    /// What it says; paths are relative to `folder`. None for `off`.
    pub(super) fn confinement(&self, folder: &Path) -> Result<Option<Confinement>, OpenError> {
        match self {
            SandboxSetting::Word(SandboxWord::Off) => Ok(None),
            SandboxSetting::Word(SandboxWord::Deny) => Ok(Some(Confinement::default())),
            SandboxSetting::Table(table) => table.confinement(folder).map(Some),
        }
    }
}

impl SandboxTable {
    fn confinement(&self, folder: &Path) -> Result<Confinement, OpenError> {
        let absolute = |paths: &[PathBuf]| -> Vec<PathBuf> {
            let joined = paths.iter().map(|path| folder.join(path));
            joined.map(|path| std::path::absolute(&path).unwrap_or(path)).collect()
        };
        Ok(Confinement {
            read: absolute(&self.read),
            write: absolute(&self.write),
            network: if self.network { Network::Allowed } else { Network::Denied },
            memory: self.memory.as_ref().map(SizeSetting::bytes).transpose()?,
            cpu_seconds: self.cpu.as_ref().map(TimeSetting::seconds).transpose()?,
            processes: self.processes,
            mark: String::new(),
        })
    }
}

impl SizeSetting {
    fn bytes(&self) -> Result<u64, OpenError> {
        let bytes = match self {
            SizeSetting::Bytes(bytes) => Some(*bytes).filter(|bytes| *bytes > 0),
            SizeSetting::Text(text) => parse_size(text).map(|bytes| bytes as u64),
        };
        bytes.ok_or_else(|| OpenError::new(format!("`sandbox.memory` must be {SIZE}")))
    }
}

impl TimeSetting {
    /// The kernel counts whole seconds.
    fn seconds(&self) -> Result<u64, OpenError> {
        let time = match self {
            TimeSetting::Seconds(seconds) => Some(Duration::from_secs(*seconds)),
            TimeSetting::Text(text) => humantime::parse_duration(text).ok(),
        };
        let time = time.filter(|time| *time >= Duration::from_secs(1));
        let seconds = time.map(|time| time.as_secs());
        seconds.ok_or_else(|| {
            OpenError::new("`sandbox.cpu` must be at least a second")
                .hint("write it as 30, \"30s\" or \"2m\"")
        })
    }
}
