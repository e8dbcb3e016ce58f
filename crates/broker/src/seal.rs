//! Encryption at rest: AES-256-GCM with a random nonce, bound to the place where the bytes are kept.

use std::fmt;

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use toolmux_core::hex::{from_hex, to_hex};
use toolmux_core::ports::store::SealedKey;

/// The key that everything the broker keeps is sealed with.
pub struct SealingKey(RandomizedNonceKey);

impl fmt::Debug for SealingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SealingKey(…)")
    }
}

impl SealingKey {
    /// A key of these bytes.
    pub fn new(bytes: [u8; 32]) -> Self {
        SealingKey(RandomizedNonceKey::new(&AES_256_GCM, &bytes).expect("a key of 32 bytes"))
    }

    /// A fresh key as text: 64 hexadecimal digits.
    pub fn new_text() -> String {
        random_text()
    }

    /// The key of such a text.
    pub fn read_text(text: &str) -> Option<Self> {
        from_hex(text)?.try_into().ok().map(SealingKey::new)
    }

    /// Seals bytes for one place; elsewhere they cannot be opened.
    pub(crate) fn seal(&self, place: &SealedKey, plain: &[u8]) -> Vec<u8> {
        let mut sealed = plain.to_vec();
        let nonce = self.0.seal_in_place_append_tag(Aad::from(bound_to(place)), &mut sealed);
        let nonce = nonce.expect("memory holds what is sealed");
        [&nonce.as_ref()[..], &sealed].concat()
    }

    /// Opens what was sealed for this place with this key.
    pub(crate) fn open(&self, place: &SealedKey, sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, rest) = sealed.split_at_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let mut opened = rest.to_vec();
        let length = self.0.open_in_place(nonce, Aad::from(bound_to(place)), &mut opened).ok()?.len();
        opened.truncate(length);
        Some(opened)
    }
}

fn bound_to(place: &SealedKey) -> Vec<u8> {
    [place.kind.as_bytes(), &[0], place.name.as_bytes()].concat()
}

/// Random bytes, in hexadecimal.
pub(crate) fn random_text() -> String {
    let mut bytes = [0; 32];
    aws_lc_rs::rand::fill(&mut bytes).expect("the system gives random bytes");
    to_hex(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(name: &str) -> SealedKey {
        SealedKey { kind: "token".into(), name: name.into() }
    }

    fn check(key: [u8; 32], name: &str, expect: Option<&[u8]>) {
        let sealed = SealingKey::new([7; 32]).seal(&place("alice"), b"hunter2");
        assert!(!sealed.windows(7).any(|bytes| bytes == b"hunter2"));
        assert_eq!(SealingKey::new(key).open(&place(name), &sealed).as_deref(), expect);
    }

    #[test]
    fn only_the_same_key_at_the_same_place_opens() {
        check([7; 32], "alice", Some(b"hunter2"));
        check([7; 32], "bob", None);
        check([8; 32], "alice", None);
    }

    #[test]
    fn short_and_changed_bytes_do_not_open() {
        let key = SealingKey::new([7; 32]);
        let mut sealed = key.seal(&place("alice"), b"x");
        assert_ne!(sealed, key.seal(&place("alice"), b"x"), "nonces differ");
        assert_eq!(key.open(&place("alice"), &sealed[..4]), None);
        sealed[NONCE_LEN] ^= 1;
        assert_eq!(key.open(&place("alice"), &sealed), None);
    }
}
