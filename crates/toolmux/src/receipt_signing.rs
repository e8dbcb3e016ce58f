//! The Ed25519 key that heads of receipt chains are signed with. It is not in the store: whoever can change the store must
//! not be able to sign what it then says.

use std::sync::Arc;

use anyhow::Context;
use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use toolmux_core::gateway::{ChainAnchor, Gateway, ReceiptKeeping, ReceiptSigner};
use toolmux_core::hex::{from_hex, to_hex};
use toolmux_core::ports::store::ReceiptHead;
use toolmux_core::receipt::ChainFault;

use crate::config::{Config, ReceiptsConfig};
use crate::key_file::read_or_make;
use crate::receipt_anchors::AnchorFolder;

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
    let signer = Arc::new(signing_key(&config.receipts)?);
    let anchor = AnchorFolder::open(&config.receipts.anchors);
    let anchor = anchor.inspect_err(|error| {
        let folder = config.receipts.anchors.display();
        tracing::warn!(%error, "the heads of receipts are not noted in `{folder}`: set `receipts.folder`");
    });
    let anchor = anchor.ok().map(|anchor| Arc::new(anchor) as Arc<dyn ChainAnchor>);
    gateway.stored_receipts().keep(ReceiptKeeping { keep, host, signer, anchor });
    Ok(())
}

/// The key of the configuration, or the one of this server, which is made when it is not there.
fn signing_key(config: &ReceiptsConfig) -> anyhow::Result<SigningKey> {
    if let Some(key) = &config.key {
        return read_key(key.expose()).context("`receipts.key` is not 64 hexadecimal digits");
    }
    let path = &config.key_file;
    let text = read_or_make(path, "signing key of receipts", || {
        let mut seed = [0; 32];
        aws_lc_rs::rand::fill(&mut seed).context("no random numbers")?;
        Ok(to_hex(&seed))
    });
    let text =
        text.context("cannot keep the signing key of receipts: set `receipts.key` or `receipts.folder`")?;
    let named =
        || format!("the signing key of receipts in `{}` is not 64 hexadecimal digits", path.display());
    read_key(&text).with_context(named)
}

fn read_key(text: &str) -> Option<SigningKey> {
    from_hex(text).and_then(|seed| Ed25519KeyPair::from_seed_unchecked(&seed).ok()).map(SigningKey)
}

/// Public keys that a reader of receipts knows.
#[derive(Debug, Default)]
pub(crate) struct KnownKeys {
    /// That of this configuration, or of the server whose file is here.
    own: Option<Vec<u8>>,
    trusted: Vec<Vec<u8>>,
    /// Every other key is a fault.
    only_these: bool,
}

impl KnownKeys {
    pub(crate) fn of(config: &ReceiptsConfig) -> anyhow::Result<Self> {
        let is_there = config.key.is_some() || config.key_file.exists();
        let own = is_there.then(|| signing_key(config)).transpose()?.map(|key| key.public_key().to_vec());
        let only_these = config.key.is_some() || !config.trusted.is_empty();
        Ok(KnownKeys { own, trusted: config.trusted.clone(), only_these })
    }

    /// What is known of a key, in words.
    pub(crate) fn describe(&self, key: &[u8]) -> &'static str {
        if self.own.as_deref() == Some(key) {
            "of this configuration"
        } else if self.trusted.iter().any(|trusted| trusted == key) {
            "trusted"
        } else if self.only_these {
            "not trusted"
        } else {
            "accepted: `[receipts] trusted` names the keys that are"
        }
    }

    /// Whether a head is signed by the key that it names, and by one that is accepted.
    pub(crate) fn check(&self, head: &ReceiptHead) -> Result<(), ChainFault> {
        let signed =
            UnparsedPublicKey::new(&ED25519, &head.public_key).verify(head.body.as_bytes(), &head.signature);
        signed.map_err(|_| ChainFault::Signature)?;
        let is_known = || self.own.iter().chain(&self.trusted).any(|known| *known == head.public_key);
        if self.only_these && !is_known() { Err(ChainFault::OtherKey) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use toolmux_core::secret::Secret;

    use super::*;

    fn config(folder: &std::path::Path, key: Option<&str>, trusted: &[&[u8]]) -> ReceiptsConfig {
        ReceiptsConfig {
            keep: Some(Duration::from_hours(1)),
            arguments: false,
            log: false,
            key: key.map(Secret::new),
            key_file: folder.join("own.key"),
            anchors: folder.join("anchors"),
            trusted: trusted.iter().map(|key| key.to_vec()).collect(),
        }
    }

    #[test]
    fn a_head_that_was_edited_or_signed_by_another_is_found_out() {
        let folder = tempfile::tempdir().unwrap();
        let own = config(folder.path(), None, &[]);
        let key = signing_key(&own).unwrap();
        let head = ReceiptHead {
            server: "s".to_owned(),
            body: "{}".to_owned(),
            public_key: key.public_key().to_vec(),
            signature: key.sign(b"{}"),
        };
        let check = |config: &ReceiptsConfig, head: &ReceiptHead| KnownKeys::of(config).unwrap().check(head);
        let edited = ReceiptHead { body: "{ }".to_owned(), ..head.clone() };
        assert_eq!(check(&own, &edited), Err(ChainFault::Signature));
        let (elsewhere, shared) = (tempfile::tempdir().unwrap(), "07".repeat(32));
        let accepted: &[&[u8]] = &[key.public_key()];
        for (config, expect) in [
            (config(folder.path(), None, &[]), Ok(())),
            (config(elsewhere.path(), None, &[]), Ok(())),
            (config(elsewhere.path(), Some(&shared), &[]), Err(ChainFault::OtherKey)),
            (config(elsewhere.path(), Some(&shared), accepted), Ok(())),
            (config(elsewhere.path(), None, &[&[1; 32]]), Err(ChainFault::OtherKey)),
        ] {
            assert_eq!(check(&config, &head), expect, "{config:?}");
        }
    }
}
