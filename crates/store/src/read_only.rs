//! A store that is only read: its tables stay as they are, nobody is taken over, and nobody counts us.

use sqlx::Row;
use toolmux_core::audit::AuditRecord;
use toolmux_core::ports::store::{ReceiptReader, StoreError, StoreStatus, TaskOfCaller};
use toolmux_core::task::TaskStatus;

use crate::connections::database::{Database, failed};
use crate::connections::hosts::without_password;
use crate::engines::migrations;
use crate::open::{StoreOpenError, engine};
use crate::records::audit;
use crate::records::tasks::list_all;
use crate::settings::StoreSettings;
use crate::sql::sql;
use crate::status;

/// The records of a database, read-only.
pub struct ReadOnlyStore(Database);

impl ReadOnlyStore {
    /// Connects to a database whose tables are those of this program.
    pub async fn at(url: &str) -> Result<Self, StoreOpenError> {
        let (engine, url) =
            engine(url, "ro").ok_or_else(|| StoreOpenError::Unknown(without_password(url)))?;
        let database = Database::open_read_only(&url, engine, StoreSettings::default()).await?;
        let version = database.find_one(sqlx::query(sql!("schema_version"))).await;
        let found: Option<i64> =
            version.and_then(|row| row.try_get("version")).map_err(|_| StoreOpenError::NoTables)?;
        let (found, wanted) = (found.unwrap_or_default(), migrations::VERSION);
        if found != wanted {
            return Err(StoreOpenError::OtherTables { found, wanted });
        }
        Ok(ReadOnlyStore(database))
    }

    /// What is kept now.
    pub async fn status(&self) -> Result<StoreStatus, StoreError> {
        status::status(&self.0).await.map_err(failed)
    }

    /// The receipts of calls.
    pub fn receipts(&self) -> &dyn ReceiptReader {
        &self.0
    }

    /// What was done, newest first.
    pub async fn audit_list(&self, most: usize) -> Result<Vec<AuditRecord>, StoreError> {
        audit::list(&self.0, most).await
    }

    /// The tasks of every caller, newest first, of one state or all.
    pub async fn task_list(
        &self,
        status: Option<TaskStatus>,
        most: usize,
    ) -> Result<Vec<TaskOfCaller>, StoreError> {
        list_all(&self.0, status, most).await
    }
}
