//! The files that a configuration is read with: those its secrets and certificates are kept in and those it imports; and
//! what tells one state of them from another. A key that is replaced in its file must stop working.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::config::{SecretLocation, fingerprint_of, imported_files, kept_secrets};

/// A file that a secret or a certificate is kept in, or that is imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SecretFile {
    path: PathBuf,
    /// The source that it is for; none for what is not of one source.
    source: Option<String>,
}

/// One state of a configuration and of the files it is read with.
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
    let secrets =
        secrets.filter_map(|secret| Some(SecretFile { path: file(&secret.kept)?, source: secret.source }));
    // Sources that changed in an imported file differ from those that run, so that none has to be named here.
    let imported = imported_files(&text).into_iter();
    let imported = imported.map(|file| SecretFile { path: folder.join(file), source: None });
    secrets.chain(imported).chain(certificate_files(&text, folder)).collect()
}

/// The files of certificates that a configuration names: those of the listener, of callers and of sources.
fn certificate_files(text: &str, folder: &Path) -> Vec<SecretFile> {
    let config: toml::Table = toml::from_str(text).unwrap_or_default();
    let file = |table: &toml::Value, key: &str, source: Option<&String>| {
        let path = folder.join(table.get(key)?.as_str()?);
        Some(SecretFile { path, source: source.cloned() })
    };
    let tables = |name: &str| config.get(name).and_then(toml::Value::as_table).into_iter().flatten();
    let listener = config.get("tls").into_iter();
    let mut files: Vec<SecretFile> = Vec::new();
    files.extend(listener.flat_map(|tls| ["cert", "client_ca"].map(|key| file(tls, key, None))).flatten());
    let is_file = |key: &&toml::Value| {
        let written = key.get("certificate").and_then(toml::Value::as_str);
        written.is_some_and(|written| fingerprint_of(written).is_none())
    };
    let callers = tables("keys").map(|(_, key)| key).filter(is_file);
    files.extend(callers.filter_map(|key| file(key, "certificate", None)));
    let sources = tables("sources").filter_map(|(name, source)| Some((name, source.get("tls")?)));
    files.extend(
        sources.flat_map(|(name, tls)| ["ca", "cert"].map(|key| file(tls, key, Some(name)))).flatten(),
    );
    files
}

/// The sources of which a secret changed in its file.
pub(crate) fn rotated(before: Option<&Stamp>, now: Option<&Stamp>, secrets: &[SecretFile]) -> Vec<String> {
    let (Some(before), Some(now)) = (before, now) else { return Vec::new() };
    let both = before.secrets.iter().zip(&now.secrets);
    let changed = both.zip(secrets).filter(|((before, now), _)| before != now);
    changed.filter_map(|(_, secret)| secret.source.clone()).collect()
}
