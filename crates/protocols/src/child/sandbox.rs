//! Programs in a sandbox: started by this program again, which gives up what they must not have and becomes them
//! (`dylib-host/launcher.rs`). So they keep their process id and their group, and are watched and killed like any other.

use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{fs, io};

use tokio::process::Command;
use tokio::time::timeout;
use toolmux_core::message::Message;
use toolmux_dylib_host::hello::Degree;
pub use toolmux_dylib_host::launcher::Held;
use toolmux_dylib_host::launcher::{self, ARGUMENT, Confinement, FAILED};
use uuid::Uuid;

use super::sandbox_setting::SandboxSetting;
use crate::registry::OpenError;

/// This program, whatever became of its file.
const OWN_PROGRAM: &str = "/proc/self/exe";
/// Where a program finds its temporary folder.
const TEMPORARY: &str = "TMPDIR";
/// How long the launcher may take to tell what holds.
const PATIENCE: Duration = Duration::from_secs(10);

/// Whether this program becomes the launcher when it is started as one. Another would run a second time instead.
static CAN_LAUNCH: AtomicBool = AtomicBool::new(false);

/// Turns this process into the launcher of a program in a sandbox if it was started as one, and does not return then.
/// Call it first in `main`, before anything starts threads or opens files. A program that does not call it cannot have
/// sources with a sandbox.
pub fn become_launcher_if_asked() {
    if std::env::args_os().nth(1).is_some_and(|argument| argument == ARGUMENT) {
        launcher::run();
    }
    // Relaxed: it is set once, before threads are started, and starting a thread publishes it.
    CAN_LAUNCH.store(true, Ordering::Relaxed);
}

/// What of a sandbox holds on this machine, or why there can be none.
pub async fn sandbox_here() -> Result<Held, String> {
    held(&Confinement::default()).await
}

/// The sandbox of the programs of one source.
pub(crate) struct ChildSandbox {
    confinement: Confinement,
}

impl SandboxSetting {
    /// Paths are relative to `folder`. None for `off`.
    pub(crate) fn open(&self, folder: &Path) -> Result<Option<ChildSandbox>, OpenError> {
        if self.is_on() && !CAN_LAUNCH.load(Ordering::Relaxed) {
            return Err(OpenError::new("this program cannot start others in a sandbox")
                .hint("call `toolmux::become_worker_if_asked()` first in its `main`"));
        }
        let confinement = self.confinement(folder)?;
        Ok(confinement.map(|confinement| ChildSandbox { confinement }))
    }
}

impl ChildSandbox {
    /// Tries whether the sandbox can be enforced on this machine. It is enforced at every start all the same; this tells
    /// it before anybody calls.
    pub(crate) async fn check(&self) -> Result<(), Message> {
        static TOLD: Once = Once::new();
        let refused =
            |why| Message::public(format!("{why}; `sandbox = \"off\"` runs the program without one"));
        let held = held(&self.confinement).await.map_err(refused)?;
        if held.files != Degree::Fully {
            let landlock = held.landlock;
            TOLD.call_once(|| tracing::warn!(landlock, "the sandbox of programs is only partly enforced: the landlock of this kernel is older than version 6, so they can send signals to processes outside"));
        }
        Ok(())
    }

    /// What one process needs of its own. The temporary folder is removed with the value.
    pub(crate) fn prepare(&self) -> io::Result<Sandboxed> {
        let id = Uuid::new_v4().simple().to_string();
        let folder = std::env::temp_dir().join(format!("toolmux-{id}"));
        // Not `create_dir_all`: a folder that is there already was put there by somebody else, and is refused.
        fs::DirBuilder::new().mode(0o700).create(&folder)?;
        let mut confinement = self.confinement.clone();
        confinement.write.push(folder.clone());
        // A new secret for each start: a program that runs cannot know it, so what it writes to stderr is never taken for
        // the launcher's report that it was not started.
        confinement.mark = format!("sandbox launcher {}: ", Uuid::new_v4().simple());
        Ok(Sandboxed { folder, confinement })
    }
}

/// A process in its sandbox.
pub(crate) struct Sandboxed {
    folder: PathBuf,
    confinement: Confinement,
}

impl Sandboxed {
    /// The command line of the launcher. What it says of the sandbox is no secret, and gone once the program runs.
    pub(crate) fn launcher(&self, argv: &[String]) -> Command {
        let mut command = Command::new(OWN_PROGRAM);
        command.arg(ARGUMENT).arg(description(&self.confinement)).args(argv);
        command
    }

    /// The variable that names its temporary folder.
    pub(crate) fn variable(&self) -> (&'static str, &Path) {
        (TEMPORARY, &self.folder)
    }

    /// Why the program was not started; none when it was.
    pub(crate) fn failure(&self, status: ExitStatus, stderr: &[u8]) -> Option<String> {
        reason(&self.confinement, status, stderr)
    }
}

impl Drop for Sandboxed {
    fn drop(&mut self) {
        // What cannot be removed is left to whoever cleans the system's temporary folder.
        fs::remove_dir_all(&self.folder).ok();
    }
}

async fn held(confinement: &Confinement) -> Result<Held, String> {
    let mut launcher = Command::new(OWN_PROGRAM);
    launcher.arg(ARGUMENT).arg(description(confinement)).env_clear().current_dir("/").stdin(Stdio::null());
    let not_tried = |error: &dyn std::error::Error| format!("The sandbox cannot be tried: {error}");
    // Killed with the future, so that a launcher that does not answer outlives neither the timeout nor its caller.
    let output = match timeout(PATIENCE, launcher.kill_on_drop(true).output()).await {
        Ok(output) => output.map_err(|error| not_tried(&error))?,
        Err(elapsed) => return Err(not_tried(&elapsed)),
    };
    if let Some(reason) = reason(confinement, output.status, &output.stderr) {
        return Err(reason);
    }
    serde_json::from_slice(&output.stdout).map_err(|error| not_tried(&error))
}

fn description(confinement: &Confinement) -> String {
    serde_json::to_string(confinement).expect("paths of a configuration are texts")
}

fn reason(confinement: &Confinement, status: ExitStatus, stderr: &[u8]) -> Option<String> {
    let told = stderr.strip_prefix(confinement.mark.as_bytes()).filter(|_| status.code() == Some(FAILED))?;
    Some(String::from_utf8_lossy(told).trim().to_owned())
}
