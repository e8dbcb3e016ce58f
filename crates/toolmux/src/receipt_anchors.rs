//! The last head of each chain of this machine, in a file of its own next to the signing key: whoever takes the store back
//! to an earlier state is found out by it.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use std::io::Write;
use toolmux_core::gateway::ChainAnchor;
use toolmux_core::receipt::SeenChain;

/// A folder with one file for each chain, so that servers that share it do not write the same file.
pub(crate) struct AnchorFolder(PathBuf);

impl AnchorFolder {
    /// Makes the folder when it is not there; an error when nothing can be written in it.
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let probe = folder.join(format!("probe.{}", std::process::id()));
        fs::write(&probe, "")?;
        fs::remove_file(&probe)?;
        Ok(AnchorFolder(folder.to_owned()))
    }

    fn write(&self, head: &SeenChain) -> io::Result<()> {
        let (path, next) = (self.0.join(&head.server), self.0.join(format!("{}.next", head.server)));
        let text = serde_json::to_string(head).map_err(io::Error::other)?;
        // Renamed when it is whole: a server that is killed here leaves the head before it.
        let mut file =
            fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&next)?;
        file.write_all(text.as_bytes())?;
        fs::rename(&next, &path)
    }
}

impl ChainAnchor for AnchorFolder {
    fn keep(&self, head: &SeenChain) {
        if let Err(error) = self.write(head) {
            tracing::warn!(%error, "the head of the receipts cannot be noted in `{}`", self.0.display());
        }
    }

    fn forget_before(&self, at: u64) {
        for old in anchors(&self.0).into_iter().filter(|head| head.at < at) {
            fs::remove_file(self.0.join(&old.server)).ok();
        }
    }
}

/// The heads that servers noted in a folder; none when there is no such folder.
pub(crate) fn anchors(folder: &Path) -> Vec<SeenChain> {
    let Ok(files) = fs::read_dir(folder) else { return Vec::new() };
    let whole = files.filter_map(Result::ok).filter(|file| file.path().extension().is_none());
    whole.filter_map(|file| serde_json::from_str(&fs::read_to_string(file.path()).ok()?).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(server: &str, seq: u64, at: u64) -> SeenChain {
        SeenChain { server: server.to_owned(), seq, hash: "00".to_owned(), at, key: "01".to_owned() }
    }

    #[test]
    fn the_last_head_of_each_chain_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("anchors");
        let kept = AnchorFolder::open(&path).unwrap();
        for head in [head("a", 1, 10), head("b", 1, 20), head("a", 2, 30)] {
            kept.keep(&head);
        }
        kept.forget_before(25);
        assert_eq!(anchors(&path), [head("a", 2, 30)]);
        assert_eq!(anchors(&folder.path().join("none")), []);
    }
}
