//! Sealed bytes: what only its owner can read, such as tokens and challenges.

use std::time::SystemTime;

use super::error::StoreFuture;

/// Under what sealed bytes are kept.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SealedKey {
    /// What they are: `token`, `challenge`.
    pub kind: String,
    /// Whose they are.
    pub name: String,
}

/// Sealed bytes to be kept.
#[derive(Clone, Copy, Debug)]
pub struct Sealed<'a> {
    pub bytes: &'a [u8],
    /// Until when; absent means for good.
    pub expires: Option<SystemTime>,
}

/// The sealed records.
pub trait SealedStore: Send + Sync {
    /// Keeps bytes that only their owner can read until `expires`; replaces.
    fn sealed_put<'a>(
        &'a self,
        key: &'a SealedKey,
        bytes: &'a [u8],
        expires: Option<SystemTime>,
    ) -> StoreFuture<'a, ()>;

    /// Bytes kept under a key, unless they expired.
    fn sealed_find<'a>(&'a self, key: &'a SealedKey) -> StoreFuture<'a, Option<Vec<u8>>>;

    /// The same, and removes them: of many who ask at once exactly one gets them.
    fn sealed_take<'a>(&'a self, key: &'a SealedKey) -> StoreFuture<'a, Option<Vec<u8>>>;

    /// Replaces what is kept under a key, only if that is still `old`; `None` is nothing, or what expired. Of
    /// many who ask at once exactly one hears true.
    fn sealed_swap<'a>(
        &'a self,
        key: &'a SealedKey,
        old: Option<&'a [u8]>,
        new: Option<Sealed<'a>>,
    ) -> StoreFuture<'a, bool>;

    /// The names kept of one kind, in order.
    fn sealed_list<'a>(&'a self, kind: &'a str) -> StoreFuture<'a, Vec<String>>;
}
