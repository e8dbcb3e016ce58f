//! The broker of users' tokens as the configuration wants it, and the file its sealing key is kept in.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use toolmux_broker::{Base, OAuthBroker, SealingKey};
use toolmux_core::ports::store::Store;

use crate::config::{Config, SealingKeyAt};
use crate::key_file::read_or_make;

/// The broker, when a provider is configured.
pub(crate) fn broker(
    config: &Config,
    store: &Arc<dyn Store>,
    base: &Base,
) -> anyhow::Result<Option<Arc<OAuthBroker>>> {
    let Some(auth) = &config.auth else { return Ok(None) };
    let key = match &auth.key {
        SealingKeyAt::Text(secret) => SealingKey::new(secret.sha256()),
        SealingKeyAt::File(path) => key_file(path)?,
    };
    let providers = auth.providers.iter().map(|provider| Ok((provider.name.clone(), provider.provider()?)));
    let providers = providers.collect::<anyhow::Result<_>>()?;
    let broker = OAuthBroker::new(providers, Arc::clone(store), key, Arc::clone(base));
    let issuer = config.jwt.as_ref().and_then(|jwt| jwt.issuer.clone());
    Ok(Some(Arc::new(broker.with_token_issuer(issuer))))
}

/// The key in a file that only its owner can read; made when it is not there.
fn key_file(path: &Path) -> anyhow::Result<SealingKey> {
    let text = read_or_make(path, "sealing key", || Ok(SealingKey::new_text()))?;
    let named = || format!("the sealing key in `{}` is not 64 hexadecimal digits", path.display());
    SealingKey::read_text(&text).with_context(named)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn check(prepare: impl FnOnce(&Path), expect: &str) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("toolmux.key");
        prepare(&path);
        let told = key_file(&path).map_or_else(|error| format!("{error:#}"), |_| "good".to_owned());
        assert!(told.contains(expect), "{told}");
        if expect == "good" {
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn a_key_is_made_once_for_its_owner_alone() {
        check(|_| {}, "good");
        check(|path| drop(key_file(path).unwrap()), "good");
    }

    #[test]
    fn a_key_that_others_can_read_is_refused() {
        let open = |path: &Path| {
            fs::write(path, "00".repeat(32)).unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(0o644)).unwrap();
        };
        check(open, "chmod 600");
    }

    #[test]
    fn a_key_that_is_none_is_refused() {
        let short = |path: &Path| {
            fs::write(path, "abc").unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
        };
        check(short, "64 hexadecimal digits");
    }
}
