//! A small file system that can be filled, mounted as root and unmounted with its owner.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::owned::is_root;
use super::place::Skip;
use crate::process;

pub(crate) struct Tmpfs {
    pub(crate) path: PathBuf,
}

impl Tmpfs {
    pub(crate) fn mount(path: PathBuf, megabytes: u32) -> anyhow::Result<Self> {
        if !is_root() {
            return Err(Skip("needs root to mount a small tmpfs".to_owned()).into());
        }
        fs::create_dir_all(&path)?;
        let size = format!("size={megabytes}m,mode=0700");
        let mut mount = Command::new("mount");
        if !process::succeeds(mount.args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(&path)) {
            return Err(Skip("cannot mount a tmpfs here (a container without the right?)".to_owned()).into());
        }
        Ok(Self { path })
    }

    /// Takes all the room there is, to the last byte.
    pub(crate) fn fill(&self) -> anyhow::Result<()> {
        let mut filler = File::options().create(true).append(true).open(self.filler())?;
        for size in [1 << 16, 1 << 12, 1] {
            let part = vec![0; size];
            while filler.write_all(&part).is_ok() {}
        }
        Ok(())
    }

    /// Gives the room back.
    pub(crate) fn free(&self) -> anyhow::Result<()> {
        Ok(fs::remove_file(self.filler())?)
    }

    fn filler(&self) -> PathBuf {
        self.path.join("filler")
    }

    /// Root only; for servers that run as another user.
    pub(crate) fn give_to_nobody(path: &Path) -> anyhow::Result<()> {
        process::run(Command::new("chown").arg("nobody").arg(path))
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        // Lazily: a process that is only just ending may still hold a file.
        process::succeeds(Command::new("umount").arg("--lazy").arg(&self.path));
    }
}
