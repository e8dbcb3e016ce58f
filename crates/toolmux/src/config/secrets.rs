//! Secrets are read where they are kept: the environment, a file, or the configuration itself.

use std::path::Path;

use toolmux_core::hex::from_hex;
use toolmux_core::redact::{know, know_password_in};
use toolmux_core::secret::Secret;
use toolmux_protocols::registry::SecretSetting;

use crate::environment::variable;

/// The secret, or why it cannot be read. From now on it is taken out of logs.
pub(crate) fn read(setting: &SecretSetting, folder: &Path) -> Result<Secret, String> {
    look_up(setting, folder).inspect(|secret| know(secret.expose()))
}

/// The same where the rest is judged without its secrets: a placeholder for a variable that is not set.
pub(crate) fn read_if_set(setting: &SecretSetting, folder: &Path) -> Result<Secret, String> {
    if is_unset(setting) { Ok(placeholder()) } else { read(setting, folder) }
}

/// The same for what holds a secret only in part. The words of a fault hold nothing of the configuration: what is taken
/// for the name of a variable or a file may be the secret itself.
pub(super) fn look_up(setting: &SecretSetting, folder: &Path) -> Result<Secret, String> {
    let text = match setting {
        SecretSetting::Text(text) => text.clone(),
        SecretSetting::Env { env } => variable(env).ok_or("its environment variable is not set")?,
        SecretSetting::File { file } => std::fs::read_to_string(folder.join(file))
            .map_err(|error| format!("its file cannot be read: {error}"))?
            .trim()
            .to_owned(),
    };
    if text.is_empty() { Err("the secret is empty".to_owned()) } else { Ok(Secret::new(text)) }
}

/// True for an environment variable that is not set.
pub(super) fn is_unset(setting: &SecretSetting) -> bool {
    matches!(setting, SecretSetting::Env { env } if variable(env).is_none())
}

/// Stands for a secret whose variable is not set, where the rest is judged all the same. Long enough for every use.
pub(super) fn placeholder() -> Secret {
    Secret::new("0".repeat(64))
}

/// Takes the passwords of addresses that stand in a configuration out of logs.
pub(super) fn know_passwords(text: &str) {
    fn walk(value: &toml::Value) {
        match value {
            toml::Value::String(text) => know_password_in(text),
            toml::Value::Array(items) => items.iter().for_each(walk),
            toml::Value::Table(members) => members.values().for_each(walk),
            _ => {}
        }
    }
    // What cannot be read at all is not used either.
    toml::from_str::<toml::Table>(text).unwrap_or_default().values().for_each(walk);
}

/// A SHA-256 digest written in hexadecimal.
pub(super) fn digest(hex: &str) -> Result<[u8; 32], String> {
    let digest = from_hex(hex).and_then(|bytes| bytes.try_into().ok());
    digest.ok_or_else(|| "`sha256` is 64 hexadecimal digits".to_owned())
}
