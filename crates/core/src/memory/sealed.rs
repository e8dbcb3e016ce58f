//! Sealed bytes in memory. What expired is gone for every reader, removed or not.

use std::collections::BTreeMap;
use std::time::SystemTime;

use super::store::{MemoryStore, ready};
use crate::ports::store::{Sealed, SealedKey, SealedStore, StoreFuture};

#[derive(Debug, Default)]
pub(super) struct SealedRecords(BTreeMap<SealedKey, KeptBytes>);

#[derive(Debug)]
struct KeptBytes {
    bytes: Vec<u8>,
    expires: Option<SystemTime>,
}

impl KeptBytes {
    fn is_expired(&self) -> bool {
        self.expires.is_some_and(|expires| expires <= SystemTime::now())
    }
}

impl From<Sealed<'_>> for KeptBytes {
    fn from(sealed: Sealed<'_>) -> Self {
        KeptBytes { bytes: sealed.bytes.to_vec(), expires: sealed.expires }
    }
}

impl SealedRecords {
    pub(super) fn len(&self) -> u64 {
        self.0.len() as u64
    }

    pub(super) fn prune(&mut self) -> u64 {
        let before = self.0.len();
        self.0.retain(|_, kept| !kept.is_expired());
        (before - self.0.len()) as u64
    }

    fn find(&self, key: &SealedKey) -> Option<&[u8]> {
        self.0.get(key).filter(|kept| !kept.is_expired()).map(|kept| kept.bytes.as_slice())
    }

    fn swap(&mut self, key: &SealedKey, old: Option<&[u8]>, new: Option<Sealed<'_>>) -> bool {
        if self.find(key) != old {
            return false;
        }
        match new {
            Some(new) => self.0.insert(key.clone(), new.into()),
            None => self.0.remove(key),
        };
        true
    }

    fn names(&self, kind: &str) -> Vec<String> {
        let of_kind = self.0.iter().filter(|(key, kept)| key.kind == kind && !kept.is_expired());
        of_kind.map(|(key, _)| key.name.clone()).collect()
    }
}

impl SealedStore for MemoryStore {
    fn sealed_put<'a>(
        &'a self,
        key: &'a SealedKey,
        bytes: &'a [u8],
        expires: Option<SystemTime>,
    ) -> StoreFuture<'a, ()> {
        let kept = KeptBytes::from(Sealed { bytes, expires });
        self.records(|records| records.sealed.0.insert(key.clone(), kept));
        ready(())
    }

    fn sealed_find<'a>(&'a self, key: &'a SealedKey) -> StoreFuture<'a, Option<Vec<u8>>> {
        ready(self.records(|records| {
            records.sealed.prune();
            records.sealed.find(key).map(<[u8]>::to_vec)
        }))
    }

    fn sealed_take<'a>(&'a self, key: &'a SealedKey) -> StoreFuture<'a, Option<Vec<u8>>> {
        let taken = self.records(|records| records.sealed.0.remove(key));
        ready(taken.filter(|kept| !kept.is_expired()).map(|kept| kept.bytes))
    }

    fn sealed_swap<'a>(
        &'a self,
        key: &'a SealedKey,
        old: Option<&'a [u8]>,
        new: Option<Sealed<'a>>,
    ) -> StoreFuture<'a, bool> {
        ready(self.records(|records| records.sealed.swap(key, old, new)))
    }

    fn sealed_list<'a>(&'a self, kind: &'a str) -> StoreFuture<'a, Vec<String>> {
        ready(self.records(|records| records.sealed.names(kind)))
    }
}
