//! Makes the disk fail for a process: a library of our own that is loaded before the system's, and a file that
//! switches it on and off.

use std::ffi::OsString;
use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// What the disk does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    /// No room is left.
    Full,
    /// Every write fails at once.
    Write,
    /// Writing works, but what was written cannot be made durable.
    Sync,
}

pub(crate) struct FaultInjector {
    folder: TempDir,
    library: PathBuf,
}

impl FaultInjector {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        // PostgreSQL is another user's.
        set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        let library = folder.path().join("fault.so");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faults/fault.c");
        let mut compile = Command::new("cc");
        compile.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(source).arg("-ldl");
        let output = compile.output().expect("install a C compiler, as the build needs one too");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        FaultInjector { folder, library }
    }

    /// The environment of a process whose files fail, those whose paths contain `files`, once a fault is on.
    pub(crate) fn environment(&self, files: &str) -> [(&'static str, OsString); 3] {
        let switch = self.switch().into_os_string();
        [("LD_PRELOAD", self.library.clone().into()), ("FAULT_FILES", files.into()), ("FAULT_SWITCH", switch)]
    }

    pub(crate) fn on(&self, fault: Fault) {
        let text = match fault {
            Fault::Full => "ENOSPC write",
            Fault::Write => "EIO write",
            Fault::Sync => "EIO sync",
        };
        // Renamed into place: nobody reads half of it.
        let new = self.folder.path().join("new");
        std::fs::write(&new, text).unwrap();
        std::fs::rename(new, self.switch()).unwrap();
    }

    pub(crate) fn off(&self) {
        std::fs::remove_file(self.switch()).unwrap();
    }

    fn switch(&self) -> PathBuf {
        self.folder.path().join("switch")
    }
}
