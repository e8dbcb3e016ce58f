//! Sealed records: bytes under a name, until they expire.

use std::time::SystemTime;

use sqlx::Row;
use toolmux_core::store::{SealedKey, StoreError};

use crate::database::{failed, millis};
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
        let put = put.bind(bytes.to_vec()).bind(expires.map(millis));
        put.execute(&self.database.write).await.map(drop).map_err(failed)
    }

    pub(crate) async fn find_sealed(&self, key: &SealedKey) -> Result<Option<Vec<u8>>, StoreError> {
        let find = sqlx::query(sql!("sealed_find")).bind(key.kind.as_str()).bind(key.name.as_str());
        let found = find.bind(millis(SystemTime::now())).fetch_optional(&self.database.read).await;
        found.and_then(|row| row.map(|row| row.try_get(0)).transpose()).map_err(failed)
    }

    pub(crate) async fn take_sealed(&self, key: &SealedKey) -> Result<Option<Vec<u8>>, StoreError> {
        let take = sqlx::query(sql!("sealed_take")).bind(key.kind.as_str()).bind(key.name.as_str());
        let taken = take.fetch_optional(&self.database.write).await.map_err(failed)?;
        let Some(row) = taken else { return Ok(None) };
        let expires: Option<i64> = row.try_get(1).map_err(failed)?;
        if expires.is_some_and(|expires| expires <= millis(SystemTime::now())) {
            return Ok(None);
        }
        row.try_get(0).map(Some).map_err(failed)
    }

    pub(crate) async fn list_sealed(&self, kind: &str) -> Result<Vec<String>, StoreError> {
        let list = sqlx::query(sql!("sealed_list")).bind(kind).bind(millis(SystemTime::now()));
        let rows = list.fetch_all(&self.database.read).await.map_err(failed)?;
        rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>().map_err(failed)
    }
}
