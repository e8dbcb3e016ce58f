//! What may stand in the table of an OpenDyn source, and how much a library is trusted by it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolmux_dylib_host::hello::{Profile, Sandbox};
use toolmux_dylib_host::limits::WorkerLimits;

use super::supervise::WorkerSharing;
use crate::documents::document_setting::DocumentSetting;
use crate::registry::OpenError;

/// How long an unused worker stays.
const IDLE: Duration = Duration::from_mins(5);
/// How long an object stays that nobody uses.
const HANDLE_IDLE: Duration = Duration::from_hours(1);
/// One caller may have this part of all objects open when `handles_per_caller` is absent, and at least
/// [`LEAST_HANDLES`] of them.
const SHARE_OF_HANDLES: usize = 4;
const LEAST_HANDLES: usize = 8;
/// Crashes within a minute after which the library pauses.
const CRASHES: usize = 5;
/// Percentage of calls that must have crashed for that.
const CRASH_SHARE: u64 = 10;
/// Callers with workers of their own.
const CALLERS: usize = 32;
/// Calls that may wait for one worker.
const QUEUE: usize = 64;
/// The checking allocator of the C library, and where it is installed.
const MALLOC_DEBUG: &str = "libc_malloc_debug.so.0";

/// Functions of a C library.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct OpenDynSettings {
    /// An OpenDyn document that describes the functions: its file, or the document itself.
    pub(super) document: DocumentSetting,
    /// The library: a path, or a name that the system's loader finds, such as `libm.so.6`.
    library: PathBuf,
    /// Number of processes that load the library. More than one only for libraries without state. `per-caller` or
    /// `per-session`: each has its own, for libraries with global state.
    #[serde(default = "one")]
    workers: WorkerCount,
    /// Loads the library into the server's own process: fast, but a crash takes the server down.
    #[serde(default)]
    pub(super) in_process: bool,
    /// What the library may do besides computing: `pure` (the default) nothing, `deny` threads and the listed
    /// files, `off` everything the server's user may.
    #[serde(default)]
    sandbox: SandboxWord,
    /// Files and folders that it may read, with `deny`.
    #[serde(default)]
    readable: Vec<PathBuf>,
    /// Files and folders that it may write, with `deny`.
    #[serde(default)]
    writable: Vec<PathBuf>,
    /// Its environment variables; none are inherited.
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// Detects heap overruns of the library, at some cost in speed.
    #[serde(default)]
    paranoid: bool,
    /// Limits of its worker process.
    #[serde(default)]
    limits: LimitSettings,
    /// How long an unused worker is kept. Default `5m`.
    #[serde(default)]
    idle: Option<String>,
    /// How long an unused object stays open, such as `30m`. Then the function marked with `closes` in the
    /// document is called. Default `1h`.
    #[serde(default)]
    handle_idle: Option<String>,
}

/// How many workers there are, or who has one of its own.
#[derive(Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
enum WorkerCount {
    Shared(usize),
    Own(WorkerOwner),
}

#[derive(Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum WorkerOwner {
    PerCaller,
    PerSession,
}

#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum SandboxWord {
    #[default]
    Pure,
    Deny,
    Off,
}

/// Bounds of a worker; what is absent has a default.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LimitSettings {
    /// Maximum memory of the library, in bytes. Default 1 GiB.
    memory: Option<u64>,
    /// Calls that may wait. Default 64.
    queue: Option<usize>,
    /// Maximum size of one string that a function returns, in bytes. Default 1 MiB.
    text: Option<u64>,
    /// Maximum size of everything that a function returns, in bytes. Default 16 MiB.
    outputs: Option<u64>,
    /// Open files. Default 64.
    descriptors: Option<u64>,
    /// Open objects. Default 1024.
    handles: Option<usize>,
    /// Open objects of one caller. Default: a quarter of `handles`, at least 8.
    handles_per_caller: Option<usize>,
    /// Crashes within a minute after which the library pauses for 30 seconds; 0: it never pauses. Default 5.
    crashes: Option<usize>,
    /// Percentage of the calls since the first of these crashes that must have crashed for the pause. Default 10.
    crash_share: Option<u64>,
    /// Callers or sessions with a process of their own at a time, where `workers` says so. Default 32.
    callers: Option<usize>,
}

fn one() -> WorkerCount {
    WorkerCount::Shared(1)
}

impl OpenDynSettings {
    /// A library with nothing special about it, whose document is elsewhere.
    pub(super) fn of_library(library: &Path) -> Result<Self, OpenError> {
        let table = serde_json::json!({ "document": "", "library": library });
        OpenDynSettings::deserialize(table).map_err(|error| OpenError::misfit(&error))
    }

    /// A bare name is left to the loader, a path is relative to the configuration.
    pub(super) fn library(&self, folder: &Path) -> String {
        let bare = self.library.parent().is_none_or(|parent| parent.as_os_str().is_empty());
        let path = if bare { self.library.clone() } else { absolute(folder, &self.library) };
        path.to_string_lossy().into_owned()
    }

    pub(super) fn sandbox(&self, folder: &Path) -> Sandbox {
        let absolute = |paths: &[PathBuf]| paths.iter().map(|path| absolute(folder, path)).collect();
        Sandbox {
            profile: match self.sandbox {
                SandboxWord::Pure => Profile::Pure,
                SandboxWord::Deny => Profile::Deny,
                SandboxWord::Off => Profile::Off,
            },
            readable: absolute(&self.readable),
            writable: absolute(&self.writable),
        }
    }

    pub(super) fn limits(&self) -> WorkerLimits {
        let (own, standard) = (&self.limits, WorkerLimits::default());
        WorkerLimits {
            text: own.text.unwrap_or(standard.text),
            outputs: own.outputs.unwrap_or(standard.outputs),
            memory: own.memory.unwrap_or(standard.memory),
            descriptors: own.descriptors.unwrap_or(standard.descriptors),
            handles: own.handles.unwrap_or(standard.handles),
        }
    }

    pub(super) fn queue(&self) -> usize {
        self.limits.queue.unwrap_or(QUEUE).max(1)
    }

    pub(super) fn crashes(&self) -> usize {
        self.limits.crashes.unwrap_or(CRASHES)
    }

    pub(super) fn crash_share(&self) -> u64 {
        self.limits.crash_share.unwrap_or(CRASH_SHARE).min(100)
    }

    pub(super) fn callers(&self) -> usize {
        self.limits.callers.unwrap_or(CALLERS).max(1)
    }

    /// How many workers all share, and whether callers have their own beside them.
    pub(super) fn workers(&self) -> (usize, WorkerSharing) {
        match self.workers {
            WorkerCount::Shared(count) => (count, WorkerSharing::Everybody),
            WorkerCount::Own(WorkerOwner::PerCaller) => (1, WorkerSharing::PerCaller),
            WorkerCount::Own(WorkerOwner::PerSession) => (1, WorkerSharing::PerSession),
        }
    }

    pub(super) fn idle(&self) -> Result<Duration, OpenError> {
        duration("idle", self.idle.as_deref(), IDLE)
    }

    pub(super) fn handle_idle(&self) -> Result<Duration, OpenError> {
        duration("handle_idle", self.handle_idle.as_deref(), HANDLE_IDLE)
    }

    pub(super) fn handles_per_caller(&self) -> usize {
        let share = (self.limits().handles / SHARE_OF_HANDLES).max(LEAST_HANDLES);
        self.limits.handles_per_caller.unwrap_or(share)
    }

    pub(super) fn env(&self) -> BTreeMap<String, String> {
        let mut env = self.env.clone();
        if self.paranoid {
            env.insert("LD_PRELOAD".to_owned(), MALLOC_DEBUG.to_owned());
            env.insert("MALLOC_CHECK_".to_owned(), "3".to_owned());
        }
        env
    }
}

fn duration(key: &str, text: Option<&str>, absent: Duration) -> Result<Duration, OpenError> {
    let Some(text) = text else { return Ok(absent) };
    humantime::parse_duration(text)
        .map_err(|_| OpenError::new(format!("`{key}` must be a time")).hint("write it as `5m` or `30s`"))
}

fn absolute(folder: &Path, path: &Path) -> PathBuf {
    let joined = folder.join(path);
    std::path::absolute(&joined).unwrap_or(joined)
}
