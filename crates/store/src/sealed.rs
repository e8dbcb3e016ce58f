//! Sealed records: bytes under a name, until they expire.

use std::time::SystemTime;

use sqlx::Row;
use toolmux_core::ports::store::{Sealed, SealedKey, StoreError};

use crate::database::failed;
use crate::sql::sql;
use crate::store::SqlStore;

impl SqlStore {
    pub(crate) async fn put_sealed(
        &self,
        key: &SealedKey,
        bytes: &[u8],
        expires: Option<SystemTime>,
    ) -> Result<(), StoreError> {
        let put = sqlx::query(sql!("sealed_put")).bind(key.kind.as_str()).bind(key.name.as_str());
        let put = put.bind(bytes.to_vec()).bind(expires.map(|at| self.database.at(at)));
        self.database.execute(put).await.map(drop).map_err(failed)
    }

    pub(crate) async fn find_sealed(&self, key: &SealedKey) -> Result<Option<Vec<u8>>, StoreError> {
        let find = sqlx::query(sql!("sealed_find")).bind(key.kind.as_str()).bind(key.name.as_str());
        let found = self.database.find(find.bind(self.database.now())).await;
        found.and_then(|row| row.map(|row| row.try_get(0)).transpose()).map_err(failed)
    }

    pub(crate) async fn take_sealed(&self, key: &SealedKey) -> Result<Option<Vec<u8>>, StoreError> {
        let take = sqlx::query(sql!("sealed_take")).bind(key.kind.as_str()).bind(key.name.as_str());
        let taken = self.database.fetch(take).await.map_err(failed)?;
        let Some(row) = taken.first() else { return Ok(None) };
        let expires: Option<i64> = row.try_get(1).map_err(failed)?;
        if expires.is_some_and(|expires| expires <= self.database.now()) {
            return Ok(None);
        }
        row.try_get(0).map(Some).map_err(failed)
    }

    pub(crate) async fn swap_sealed(
        &self,
        key: &SealedKey,
        old: Option<&[u8]>,
        new: Option<Sealed<'_>>,
    ) -> Result<bool, StoreError> {
        let (kind, name, now) = (key.kind.as_str(), key.name.as_str(), self.database.now());
        let expires = new.and_then(|new| new.expires).map(|at| self.database.at(at));
        let swap = match (old, new) {
            (None, None) => return self.find_sealed(key).await.map(|kept| kept.is_none()),
            (None, Some(new)) => {
                let claim = sqlx::query(sql!("sealed_claim")).bind(kind).bind(name).bind(new.bytes.to_vec());
                claim.bind(expires).bind(now)
            }
            (Some(old), Some(new)) => {
                let swap = sqlx::query(sql!("sealed_swap")).bind(new.bytes.to_vec()).bind(expires);
                swap.bind(kind).bind(name).bind(old.to_vec()).bind(now)
            }
            (Some(old), None) => {
                sqlx::query(sql!("sealed_drop")).bind(kind).bind(name).bind(old.to_vec()).bind(now)
            }
        };
        self.database.execute(swap).await.map(|rows| rows > 0).map_err(failed)
    }

    pub(crate) async fn list_sealed(&self, kind: &str) -> Result<Vec<String>, StoreError> {
        let list = sqlx::query(sql!("sealed_list")).bind(kind).bind(self.database.now());
        let rows = self.database.list(list).await.map_err(failed)?;
        rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>().map_err(failed)
    }
}
