//! A store that is only looked at: its tables stay as they are, nobody is taken over, and nobody counts us.

use sqlx::Row;
use toolmux_core::audit::AuditRecord;
use toolmux_core::ports::store::{StoreError, StoreStatus};

use crate::database::{Database, failed};
use crate::sql::sql;
use crate::store::engine;
use crate::{OpenError, StoreSettings, without_password};

/// A look at the records of a database.
pub struct ReadOnlyStore(Database);

impl ReadOnlyStore {
    /// Connects to a database whose tables are those of this program.
    pub async fn at(url: &str) -> Result<Self, OpenError> {
        let (engine, url) = engine(url, "ro").ok_or_else(|| OpenError::Unknown(without_password(url)))?;
        let database = Database::open_read_only(&url, engine, StoreSettings::default()).await?;
        let version = database.find_one(sqlx::query(sql!("schema_version"))).await;
        let found: Option<i64> = version.and_then(|row| row.try_get(0)).map_err(|_| OpenError::NoTables)?;
        let (found, wanted) = (found.unwrap_or_default(), engine.version());
        if found != wanted {
            return Err(OpenError::OtherTables { found, wanted });
        }
        Ok(ReadOnlyStore(database))
    }

    /// What is kept now.
    pub async fn status(&self) -> Result<StoreStatus, StoreError> {
        self.0.status().await.map_err(failed)
    }

    /// What was done, newest first.
    pub async fn audit_list(&self, most: usize) -> Result<Vec<AuditRecord>, StoreError> {
        self.0.list_audit(most).await
    }
}

impl Database {
    pub(crate) async fn status(&self) -> Result<StoreStatus, sqlx::Error> {
        let row = self.find_one(sqlx::query(sql!("status_counts")).bind(self.now())).await?;
        let number = |column: usize| row.try_get::<i64, _>(column).map(i64::unsigned_abs);
        let bytes = self.find_one(sqlx::query(self.engine.bytes)).await?;
        Ok(StoreStatus {
            kind: self.engine.name,
            schema: self.engine.version(),
            servers: number(0)?,
            calls: [number(1)?, number(2)?],
            tasks: [number(3)?, number(4)?, number(5)?],
            sealed: number(6)?,
            audit: number(7)?,
            bytes: Some(bytes.try_get::<i64, _>(0)?.unsigned_abs()),
        })
    }
}
