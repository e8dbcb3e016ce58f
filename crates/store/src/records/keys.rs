//! API keys: added, revoked and listed.

use std::time::SystemTime;

use sqlx::Row;
use sqlx::any::AnyRow;
use toolmux_core::ports::store::{KeyStore, Listener, StoreError, StoreFuture, StoredKey};

use crate::connections::database::{failed, millis, time};
use crate::sql::sql;
use crate::sql_store::SqlStore;

/// The notifier of whoever follows keys.
const CHANGED: &str = "k";

impl KeyStore for SqlStore {
    fn key_add<'a>(&'a self, key: &'a StoredKey) -> StoreFuture<'a, bool> {
        Box::pin(async move {
            let add = sqlx::query(sql!("key_add")).bind(key.name.as_str()).bind(key.sha256.to_vec());
            let add = add.bind(key.toolset.clone()).bind(i64::from(key.operator)).bind(millis(key.created));
            let added = self.database.execute(add).await.map_err(failed)? > 0;
            self.keys_changed().await.map(|()| added)
        })
    }

    fn key_revoke<'a>(&'a self, name: &'a str) -> StoreFuture<'a, bool> {
        Box::pin(async move {
            let revoke = sqlx::query(sql!("key_revoke")).bind(name).bind(millis(SystemTime::now()));
            let revoked = self.database.execute(revoke).await.map_err(failed)? > 0;
            self.keys_changed().await.map(|()| revoked)
        })
    }

    fn key_note_use<'a>(&'a self, names: &'a [String]) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            for name in names {
                let used = sqlx::query(sql!("key_note_use")).bind(name.as_str());
                self.database.execute(used.bind(millis(SystemTime::now()))).await.map_err(failed)?;
            }
            Ok(())
        })
    }

    fn key_list(&self) -> StoreFuture<'_, Vec<StoredKey>> {
        Box::pin(async move {
            let rows = self.database.list(sqlx::query(sql!("key_list"))).await.map_err(failed)?;
            rows.iter().map(|row| read(row).map_err(failed)).collect()
        })
    }

    fn key_notifier(&self) -> Listener {
        self.database.notifiers.listen(CHANGED)
    }
}

impl SqlStore {
    async fn keys_changed(&self) -> Result<(), StoreError> {
        self.database.notify(&[CHANGED.to_owned()]).await.map_err(failed)
    }
}

fn read(row: &AnyRow) -> Result<StoredKey, sqlx::Error> {
    let at = |column| row.try_get::<Option<i64>, _>(column).map(|millis| millis.map(time));
    let sha256: Vec<u8> = row.try_get("sha256")?;
    Ok(StoredKey {
        name: row.try_get("name")?,
        sha256: sha256.try_into().map_err(|_| sqlx::Error::ColumnDecode {
            index: "sha256".to_owned(),
            source: "it is not 32 bytes long".into(),
        })?,
        toolset: row.try_get("toolset")?,
        operator: row.try_get::<i64, _>("operator")? != 0,
        created: time(row.try_get("created")?),
        used: at("used")?,
        revoked: at("revoked")?,
    })
}
