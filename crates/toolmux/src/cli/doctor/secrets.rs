//! Secrets: are they there, strong enough, and readable by nobody else.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::{Finding, Mending};
use crate::config::{KeptSecret, SecretLocation, kept_secrets};

const AREA: &str = "secret";
/// A key that opens this server should not be guessed.
const SHORTEST: usize = 16;

pub(super) fn examine(config: &Path, mending: Mending) -> Vec<Finding> {
    let Ok(text) = fs::read_to_string(config) else { return Vec::new() };
    let folder = config.parent().unwrap_or(Path::new("."));
    let secrets = kept_secrets(&text, folder);
    let mut findings: Vec<Finding> = secrets.iter().flat_map(|secret| one(secret, folder, mending)).collect();
    if secrets.iter().any(|secret| matches!(secret.kept, SecretLocation::Text)) {
        findings.extend(only_ours(config, "holds secrets and", mending));
    }
    for (key, why) in
        [("toolmux.key", "seals users' tokens and"), ("toolmux.receipts.key", "signs receipts and")]
    {
        let key = folder.join(key);
        if key.is_file() {
            findings.extend(only_ours(&key, why, mending));
        }
    }
    findings
}

fn one(secret: &KeptSecret, folder: &Path, mending: Mending) -> Vec<Finding> {
    let place = &secret.place;
    let Some(length) = secret.length else {
        return vec![match &secret.kept {
            // What is taken for a name may be the secret itself, so it is not shown.
            SecretLocation::Env(_) => Finding::bad(
                AREA,
                format!("{place}: its environment variable is not set"),
                "export it, or keep the secret in a file: { file = \"…\" }",
            ),
            SecretLocation::File(_) => Finding::bad(
                AREA,
                format!("{place}: its file cannot be read"),
                "(umask 077; openssl rand -hex 32 > FILE) makes a new one",
            ),
            SecretLocation::Text => {
                Finding::bad(AREA, format!("{place} is empty"), "generate one with `openssl rand -hex 32`")
            }
        }];
    };
    let mut findings = Vec::new();
    if secret.opens_this_server && length < SHORTEST {
        let what = format!("{place} has {length} characters and can be guessed");
        findings.push(Finding::warning(AREA, what, "generate one with `openssl rand -hex 32`"));
    }
    match &secret.kept {
        SecretLocation::File(file) => {
            findings.extend(only_ours(&folder.join(file), "is a secret and", mending));
        }
        SecretLocation::Text => findings.push(Finding::warning(
            AREA,
            format!("{place} is written out in the configuration"),
            "keep it elsewhere: { env = \"NAME\" } or { file = \"path\" }",
        )),
        SecretLocation::Env(_) => {}
    }
    if findings.is_empty() {
        findings.push(Finding::good(AREA, format!("{place} is there")));
    }
    findings
}

/// A file that nobody else may read.
fn only_ours(file: &Path, why: &str, mending: Mending) -> Option<Finding> {
    let mode = fs::metadata(file).ok()?.permissions().mode();
    let name = file.display();
    let finding =
        Finding::warning(AREA, format!("{name} {why} can be read by others"), format!("chmod 600 {name}"));
    let mend = || fs::set_permissions(file, fs::Permissions::from_mode(0o600));
    (mode & 0o077 != 0).then(|| finding.mended(mending, mend))
}
