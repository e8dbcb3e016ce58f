//! A fresh Debian in a folder: made by debootstrap, entered by chroot in namespaces of its own, removed with the value.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use tempfile::TempDir;

use crate::process;
use crate::tidy::tracked;
use crate::workspace::Workspace;

const SUITE: &str = "bookworm";
/// The home and the path of root on a fresh Debian; rustup adds a folder of the home in front.
const HOME: &str = "/root";
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// What packages are fetched through, where a machine has it.
const PROXIES: [&str; 6] = ["http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"];

pub(super) struct DebianRoot {
    folder: TempDir,
}

impl DebianRoot {
    /// Downloads and unpacks the smallest Debian. What was downloaded is kept for the next time.
    pub(super) fn make(workspace: &Workspace, mirror: &str) -> anyhow::Result<Self> {
        let cache = workspace.cache().join("bare");
        let packages = cache.join("packages");
        fs::create_dir_all(&packages)?;
        let folder = tempfile::Builder::new().prefix("root-").tempdir_in(&cache)?;
        let mut debootstrap = Command::new("debootstrap");
        debootstrap.arg("--variant=minbase").arg("--cache-dir").arg(fs::canonicalize(&packages)?);
        process::run(debootstrap.arg(SUITE).arg(folder.path()).arg(mirror))
            .with_context(|| format!("debootstrap could not make a Debian from {mirror}"))?;
        let root = Self { folder };
        // Names are resolved as on this machine.
        fs::copy("/etc/resolv.conf", root.path("/etc/resolv.conf")).context("there is no resolv.conf")?;
        fs::create_dir(root.path("/said"))?;
        Ok(root)
    }

    /// A path in the fresh Debian as this machine sees it.
    pub(super) fn path(&self, inside: &str) -> PathBuf {
        self.folder.path().join(inside.trim_start_matches('/'))
    }

    /// Copies the project's files, as a clone has them, and gives where they are inside.
    pub(super) fn copy_project(&self, workspace: &Workspace) -> anyhow::Result<String> {
        let project = format!("{HOME}/toolmux");
        let to = self.path(&project);
        for path in tracked::paths(&workspace.root)? {
            let (from, to) = (workspace.root.join(&path), to.join(&path));
            fs::create_dir_all(to.parent().context("a file is in a folder")?)?;
            copy(&from, &to).with_context(|| format!("cannot copy `{path}`"))?;
        }
        Ok(project)
    }

    /// `bash` inside, in a folder, with an empty environment. All that it starts ends with it, and what is mounted
    /// for it is seen by it alone.
    pub(super) fn bash(&self, folder: &str) -> anyhow::Result<Command> {
        let root = fs::canonicalize(self.folder.path())?;
        let root = root.to_str().context("the folder has a plain name")?;
        if root.contains('\'') {
            bail!("`{root}` has a quote in its name");
        }
        let proxies: Vec<String> = PROXIES
            .iter()
            .filter_map(|name| Some(format!("{name}='{}'", std::env::var(name).ok()?.replace('\'', ""))))
            .collect();
        let script = format!(
            "set -e; mount --rbind /dev '{root}/dev'; mount -t proc proc '{root}/proc'; \
             exec chroot '{root}' /usr/bin/env -i HOME={HOME} PATH={HOME}/.cargo/bin:{PATH} LANG=C.UTF-8 TERM=dumb \
             DEBIAN_FRONTEND=noninteractive {} /bin/bash --noprofile --norc -c 'cd {folder} && exec bash --noprofile --norc'",
            proxies.join(" ")
        );
        let mut unshare = Command::new("unshare");
        unshare.args(["--mount", "--pid", "--fork", "--kill-child", "sh", "-c", &script]);
        Ok(unshare)
    }
}

/// Links stay links: one of ours leads to a folder.
fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    match fs::symlink_metadata(from) {
        Ok(kind) if kind.is_symlink() => Ok(std::os::unix::fs::symlink(fs::read_link(from)?, to)?),
        Ok(_) => Ok(fs::copy(from, to).map(drop)?),
        // A file that was removed stays on git's list until that is committed.
        Err(_) => Ok(()),
    }
}
