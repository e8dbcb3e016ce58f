//! Keys of calls, bounded in length.

use std::borrow::Cow;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::hex::to_hex;
use crate::ports::store::CallKey;

/// An id longer than this is kept as a digest: its length is its caller's to choose.
const LONGEST_ID: usize = 64;

/// The key under which a record is kept.
pub(super) fn short(key: &CallKey) -> Cow<'_, CallKey> {
    if key.id.len() <= LONGEST_ID {
        return Cow::Borrowed(key);
    }
    let digest: [u8; 32] = Sha256::digest(key.id.as_bytes()).into();
    Cow::Owned(CallKey { caller: Arc::clone(&key.caller), id: to_hex(&digest).into() })
}
