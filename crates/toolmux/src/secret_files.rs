//! The files that secrets of a configuration are kept in, and what tells one state of them from another: a key that is
//! replaced in its file must stop working.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::config::{SecretLocation, kept_secrets};

/// A file that a secret is kept in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SecretFile {
    path: PathBuf,
    /// The source whose secret it is.
    source: Option<String>,
}

/// One state of a configuration and of the files of its secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    config: FileStamp,
    /// In the order of the files; none for one that is not there.
    secrets: Vec<Option<FileStamp>>,
}

/// A file that was replaced by another of the same length at the same moment has another number.
type FileStamp = (SystemTime, u64, u64);

impl Stamp {
    /// None when the configuration is not there.
    pub(crate) fn of(config: &Path, secrets: &[SecretFile]) -> Option<Self> {
        let secrets = secrets.iter().map(|secret| stamp(&secret.path)).collect();
        Some(Stamp { config: stamp(config)?, secrets })
    }
}

fn stamp(path: &Path) -> Option<FileStamp> {
    let about = std::fs::metadata(path).ok()?;
    Some((about.modified().ok()?, about.len(), about.ino()))
}

/// The files that a configuration names; none when it cannot be read.
pub(crate) fn secret_files(config: &Path) -> Vec<SecretFile> {
    let text = std::fs::read_to_string(config).unwrap_or_default();
    let folder = config.parent().unwrap_or(Path::new("."));
    let file = |kept: &SecretLocation| match kept {
        SecretLocation::File(file) => Some(folder.join(file)),
        SecretLocation::Env(_) | SecretLocation::Text => None,
    };
    let secrets = kept_secrets(&text, folder).into_iter();
    secrets
        .filter_map(|secret| Some(SecretFile { path: file(&secret.kept)?, source: secret.source }))
        .collect()
}

/// The sources of which a secret changed in its file.
pub(crate) fn rotated(before: Option<&Stamp>, now: Option<&Stamp>, secrets: &[SecretFile]) -> Vec<String> {
    let (Some(before), Some(now)) = (before, now) else { return Vec::new() };
    let both = before.secrets.iter().zip(&now.secrets);
    let changed = both.zip(secrets).filter(|((before, now), _)| before != now);
    changed.filter_map(|(_, secret)| secret.source.clone()).collect()
}
