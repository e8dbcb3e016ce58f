//! Audit records: added, and read newest first.

use sqlx::Row;
use sqlx::any::AnyRow;
use toolmux_core::audit::{AuditAction, AuditRecord};
use toolmux_core::ports::store::StoreError;

use crate::calls::plain;
use crate::database::{Database, failed, millis, time};
use crate::sql::sql;
use crate::store::unreadable;

impl Database {
    pub(crate) async fn add_audit(&self, records: &[AuditRecord]) -> Result<(), sqlx::Error> {
        let mut connection = self.writer().await?;
        let mut transaction = connection.begin().await?;
        for record in records {
            let add = sqlx::query(sql!("audit_add")).bind(millis(record.at));
            let add = add.bind(uuid::Uuid::now_v7().to_string()).bind(plain(&record.caller));
            let add = add.bind(record.action.as_str()).bind(plain(&record.subject));
            add.execute(&mut *transaction).await?;
        }
        transaction.commit().await?;
        self.file_is_ours()?;
        connection.release();
        Ok(())
    }

    pub(crate) async fn list_audit(&self, most: usize) -> Result<Vec<AuditRecord>, StoreError> {
        let list = sqlx::query(sql!("audit_list")).bind(i64::try_from(most).unwrap_or(i64::MAX));
        self.list(list).await.map_err(failed)?.iter().map(read).collect()
    }
}

fn read(row: &AnyRow) -> Result<AuditRecord, StoreError> {
    let text = |column: usize| row.try_get::<String, _>(column).map_err(failed);
    let action = text(2)?;
    let unknown = || unreadable(&std::io::Error::other(format!("no such action: `{action}`")));
    Ok(AuditRecord {
        at: time(row.try_get(0).map_err(failed)?),
        caller: text(1)?.into(),
        action: AuditAction::read(&action).ok_or_else(unknown)?,
        subject: text(3)?.into(),
    })
}
