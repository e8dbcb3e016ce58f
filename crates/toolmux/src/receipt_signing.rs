//! The Ed25519 key that heads of receipt chains are signed with. It is in a file beside the configuration and not in the
//! store: whoever can change the store must not be able to sign what it then says.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use toolmux_core::gateway::{Gateway, ReceiptKeeping, ReceiptSigner};
use toolmux_core::hex::{from_hex, to_hex};
use toolmux_core::ports::store::ReceiptHead;
use toolmux_core::receipt::ChainFault;

use crate::config::Config;
use crate::key_file::read_or_make;

/// Where the name of this machine is found.
const HOST_NAME: &str = "/proc/sys/kernel/hostname";

/// A key pair of its own file.
struct SigningKey(Ed25519KeyPair);

impl ReceiptSigner for SigningKey {
    fn public_key(&self) -> &[u8] {
        self.0.public_key().as_ref()
    }

    fn sign(&self, text: &[u8]) -> Vec<u8> {
        self.0.sign(text).as_ref().to_vec()
    }
}

/// Keeps receipts in the store when the configuration says so.
pub(crate) fn keep_receipts(config: &Config, gateway: &Arc<Gateway>) -> anyhow::Result<()> {
    let Some(keep) = config.receipts.keep else { return Ok(()) };
    if config.store.expose() == "memory" {
        tracing::warn!("`receipts.keep` needs a store: receipts are kept in memory, the last 10,000");
        return Ok(());
    }
    let host = std::fs::read_to_string(HOST_NAME).unwrap_or_default().trim().to_owned();
    let signer = Arc::new(signing_key(&config.receipts.key)?);
    gateway.keep_receipts(ReceiptKeeping { keep, host, signer });
    Ok(())
}

fn signing_key(path: &Path) -> anyhow::Result<SigningKey> {
    let text = read_or_make(path, "signing key of receipts", || {
        let mut seed = [0; 32];
        aws_lc_rs::rand::fill(&mut seed).context("no random numbers")?;
        Ok(to_hex(&seed))
    })?;
    let key = from_hex(&text).and_then(|seed| Ed25519KeyPair::from_seed_unchecked(&seed).ok());
    let named =
        || format!("the signing key of receipts in `{}` is not 64 hexadecimal digits", path.display());
    key.map(SigningKey).with_context(named)
}

/// The public key of the file beside a configuration; none when there is no such file.
pub(crate) fn trusted_key(path: &Path) -> anyhow::Result<Option<Vec<u8>>> {
    if !path.exists() {
        return Ok(None);
    }
    signing_key(path).map(|key| Some(key.public_key().to_vec()))
}

/// Whether a head is signed by the key that it names, and by one that is trusted, when it is known which.
pub(crate) fn check_head(head: &ReceiptHead, trusted: Option<&[u8]>) -> Result<(), ChainFault> {
    let signed =
        UnparsedPublicKey::new(&ED25519, &head.public_key).verify(head.body.as_bytes(), &head.signature);
    signed.map_err(|_| ChainFault::Signature)?;
    match trusted {
        Some(trusted) if trusted != head.public_key => Err(ChainFault::OtherKey),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_that_was_edited_or_signed_by_another_is_found_out() {
        let folder = tempfile::tempdir().unwrap();
        let (own, other) = (folder.path().join("own.key"), folder.path().join("other.key"));
        let key = signing_key(&own).unwrap();
        let head = ReceiptHead {
            server: "s".to_owned(),
            body: "{}".to_owned(),
            public_key: key.public_key().to_vec(),
            signature: key.sign(b"{}"),
        };
        let trusted = trusted_key(&own).unwrap();
        assert_eq!(check_head(&head, trusted.as_deref()), Ok(()));
        assert_eq!(check_head(&head, None), Ok(()));
        let edited = ReceiptHead { body: "{ }".to_owned(), ..head.clone() };
        assert_eq!(check_head(&edited, trusted.as_deref()), Err(ChainFault::Signature));
        signing_key(&other).unwrap();
        let trusted = trusted_key(&other).unwrap();
        assert_eq!(check_head(&head, trusted.as_deref()), Err(ChainFault::OtherKey));
        assert_eq!(trusted_key(&folder.path().join("none.key")).unwrap(), None);
    }
}
