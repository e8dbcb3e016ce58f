//! Secrets are read where they are kept: the environment, a file, or the configuration itself.

use std::path::Path;

use toolmux_core::secret::Secret;
use toolmux_protocols::registry::SecretSetting;

/// The secret, or why it cannot be read. The words never hold the secret.
pub(crate) fn read(setting: &SecretSetting, folder: &Path) -> Result<Secret, String> {
    let text = match setting {
        SecretSetting::Text(text) => text.clone(),
        SecretSetting::Env { env } => {
            std::env::var(env).map_err(|_| format!("environment variable `{env}` is not set"))?
        }
        SecretSetting::File { file } => std::fs::read_to_string(folder.join(file))
            .map_err(|error| format!("cannot read the secret file `{file}`: {error}"))?
            .trim()
            .to_owned(),
    };
    if text.is_empty() { Err("the secret is empty".to_owned()) } else { Ok(Secret::new(text)) }
}

/// A SHA-256 digest written in hexadecimal.
pub(super) fn digest(hex: &str) -> Result<[u8; 32], String> {
    let bad = || "`sha256` is 64 hexadecimal digits".to_owned();
    if hex.len() != 64 || !hex.is_ascii() {
        return Err(bad());
    }
    let mut digest = [0; 32];
    for (place, byte) in digest.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&hex[place * 2..place * 2 + 2], 16).map_err(|_| bad())?;
    }
    Ok(digest)
}
