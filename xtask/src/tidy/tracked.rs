//! The text files of the project: tracked by git, or new and not ignored.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::process;

pub(crate) struct Tracked {
    /// Relative to the workspace root, with `/`.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl Tracked {
    pub(crate) fn is_rust(&self) -> bool {
        self.extension() == "rs"
    }

    pub(crate) fn extension(&self) -> &str {
        self.path.rsplit_once('.').map_or("", |(_, extension)| extension)
    }

    /// Lines with their numbers, counted from one.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }
}

/// Files that are not UTF-8 are left out: no rule speaks about them.
pub(crate) fn list(root: &Path) -> anyhow::Result<Vec<Tracked>> {
    let read = |path: String| fs::read_to_string(root.join(&path)).ok().map(|text| Tracked { path, text });
    Ok(paths(root)?.into_iter().filter_map(read).collect())
}

/// Every file, relative to the root.
pub(crate) fn paths(root: &Path) -> anyhow::Result<Vec<String>> {
    let mut git = Command::new("git");
    // A checkout that belongs to another user is still a checkout.
    git.args(["-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let names = process::capture(git.current_dir(root))?;
    Ok(names.split_terminator('\0').map(str::to_owned).collect())
}
