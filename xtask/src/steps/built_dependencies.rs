//! Gives a second build folder the dependencies that the first has built, so that they are not built twice.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// Where cargo keeps what it built, within a profile.
const FOLDERS: [&str; 3] = ["deps", "build", ".fingerprint"];

/// How the files of this workspace are named there. They are not shared: cargo does not tell two checkouts apart.
const OWN: [&str; 5] = ["toolmux", "libtoolmux", "xtask", "it-", "libit-"];

/// Links are enough: cargo writes a dependency only when it builds it, and then as a new file.
pub(super) fn share(from: &Path, to: &Path) -> anyhow::Result<()> {
    for folder in FOLDERS {
        link(&from.join(folder), &to.join(folder))?;
    }
    Ok(())
}

fn link(from: &Path, to: &Path) -> anyhow::Result<()> {
    let Ok(entries) = fs::read_dir(from) else { return Ok(()) };
    fs::create_dir_all(to)?;
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name();
        if OWN.iter().any(|own| name.to_string_lossy().starts_with(own)) {
            continue;
        }
        let (from, to) = (entry.path(), to.join(&name));
        if entry.file_type()?.is_dir() {
            link(&from, &to)?;
            continue;
        }
        match fs::hard_link(&from, &to) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error.into()),
            _ => {}
        }
    }
    Ok(())
}
