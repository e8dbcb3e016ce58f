//! Definitions of tools that sources listed, kept for the next start.

use sqlx::Row;
use toolmux_core::ports::store::{DefinitionStore, DefinitionsKey, StoreFuture};

use crate::connections::database::failed;
use crate::records::calls::plain;
use crate::sql::sql;
use crate::sql_store::SqlStore;

impl DefinitionStore for SqlStore {
    fn definitions_put<'a>(&'a self, key: &'a DefinitionsKey, text: &'a str) -> StoreFuture<'a, ()> {
        Box::pin(async move {
            let put = sqlx::query(sql!("definitions_put")).bind(plain(&key.source)).bind(key.digest.as_str());
            let put = put.bind(text).bind(self.database.now());
            self.database.execute(put).await.map(drop).map_err(failed)
        })
    }

    fn definitions_find<'a>(&'a self, key: &'a DefinitionsKey) -> StoreFuture<'a, Option<String>> {
        Box::pin(async move {
            let find = sqlx::query(sql!("definitions_find"));
            let find = find.bind(plain(&key.source)).bind(key.digest.as_str());
            let found = self.database.find(find).await;
            found.and_then(|row| row.map(|row| row.try_get("body")).transpose()).map_err(failed)
        })
    }
}
