//! Sealed records: bytes under a name, until they expire.

use std::time::SystemTime;

use sqlx::Row;
use toolmux_core::ports::store::{Sealed, SealedKey, SealedStore, StoreFuture};

use crate::connections::database::failed;
use crate::sql::sql;
use crate::sql_store::SqlStore;

impl SealedStore for SqlStore {
    fn sealed_put<'a>(
        &'a self,
        key: &'a SealedKey,
        bytes: &'a [u8],
        expires: Option<SystemTime>,
    ) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let put = sqlx::query(sql!("sealed_put")).bind(key.kind.as_str()).bind(key.name.as_str());
            let put = put.bind(bytes.to_vec()).bind(expires.map(|at| self.database.at(at)));
            self.database.execute(put).await.map(drop).map_err(failed)
        })
    }

    fn sealed_find<'a>(&'a self, key: &'a SealedKey) -> StoreFuture<'a, Option<Vec<u8>>> {
        Box::pin(async move {
            let find = sqlx::query(sql!("sealed_find")).bind(key.kind.as_str()).bind(key.name.as_str());
            let found = self.database.find(find.bind(self.database.now())).await;
            found.and_then(|row| row.map(|row| row.try_get("bytes")).transpose()).map_err(failed)
        })
    }

    fn sealed_take<'a>(&'a self, key: &'a SealedKey) -> StoreFuture<'a, Option<Vec<u8>>> {
        Box::pin(async move {
            // One statement removes and returns: of two who take at once the database gives the row to one.
            let take = sqlx::query(sql!("sealed_take")).bind(key.kind.as_str()).bind(key.name.as_str());
            let taken = self.database.fetch(take).await.map_err(failed)?;
            let Some(row) = taken.first() else { return Ok(None) };
            let expires: Option<i64> = row.try_get("expires").map_err(failed)?;
            if expires.is_some_and(|expires| expires <= self.database.now()) {
                return Ok(None);
            }
            row.try_get("bytes").map(Some).map_err(failed)
        })
    }

    fn sealed_swap<'a>(
        &'a self,
        key: &'a SealedKey,
        old: Option<&'a [u8]>,
        new: Option<Sealed<'a>>,
    ) -> StoreFuture<'a, bool> {
        Box::pin(async move {
            let (kind, name, now) = (key.kind.as_str(), key.name.as_str(), self.database.now());
            let expires = new.and_then(|new| new.expires).map(|at| self.database.at(at));
            // Each statement compares and writes in one: nobody can come in between.
            let swap = match (old, new) {
                (None, None) => return self.sealed_find(key).await.map(|kept| kept.is_none()),
                (None, Some(new)) => {
                    let claim = sqlx::query(sql!("sealed_claim")).bind(kind).bind(name);
                    claim.bind(new.bytes.to_vec()).bind(expires).bind(now)
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
        })
    }

    fn sealed_list<'a>(&'a self, kind: &'a str) -> StoreFuture<'a, Vec<String>> {
        Box::pin(async move {
            let list = sqlx::query(sql!("sealed_list")).bind(kind).bind(self.database.now());
            let rows = self.database.list(list).await.map_err(failed)?;
            rows.iter().map(|row| row.try_get("name")).collect::<Result<_, _>>().map_err(failed)
        })
    }
}
