//! Definitions of tools that sources listed, kept for the next start.

use sqlx::Row;
use toolmux_core::ports::store::{DefinitionsKey, StoreError};

use crate::calls::plain;
use crate::database::failed;
use crate::sql::sql;
use crate::store::SqlStore;

impl SqlStore {
    pub(crate) async fn put_definitions(&self, key: &DefinitionsKey, text: &str) -> Result<(), StoreError> {
        let put = sqlx::query(sql!("definitions_put")).bind(plain(&key.source)).bind(key.digest.as_str());
        let put = put.bind(text.to_owned()).bind(self.database.now());
        self.database.execute(put).await.map(drop).map_err(failed)
    }

    pub(crate) async fn find_definitions(&self, key: &DefinitionsKey) -> Result<Option<String>, StoreError> {
        let find = sqlx::query(sql!("definitions_find")).bind(plain(&key.source)).bind(key.digest.as_str());
        let found = self.database.find(find).await;
        found.and_then(|row| row.map(|row| row.try_get(0)).transpose()).map_err(failed)
    }
}
