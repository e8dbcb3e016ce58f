//! Audit records: added, and read newest first.

use sqlx::any::AnyRow;
use sqlx::{AnyConnection, Row};
use toolmux_core::audit::{AuditAction, AuditRecord};
use toolmux_core::ports::store::{AuditStore, StoreError, StoreFuture};

use crate::connections::database::{Database, failed, millis, time};
use crate::records::calls::plain;
use crate::records::stored::unreadable;
use crate::sql::sql;
use crate::sql_store::SqlStore;

impl AuditStore for SqlStore {
    fn audit_add<'a>(&'a self, records: &'a [AuditRecord]) -> StoreFuture<'a, ()> {
        Box::pin(async move { add(&self.database, records).await.map_err(failed) })
    }

    fn audit_list(&self, most: usize) -> StoreFuture<'_, Vec<AuditRecord>> {
        Box::pin(list(&self.database, most))
    }
}

async fn add(database: &Database, records: &[AuditRecord]) -> Result<(), sqlx::Error> {
    let added = async |connection: &mut AnyConnection| {
        for record in records {
            let add = sqlx::query(sql!("audit_add")).bind(millis(record.at));
            let add = add.bind(uuid::Uuid::now_v7().to_string()).bind(plain(&record.caller));
            let add = add.bind(record.action.as_str()).bind(plain(&record.subject));
            add.execute(&mut *connection).await?;
        }
        Ok(())
    };
    database.transaction(added).await
}

pub(crate) async fn list(database: &Database, most: usize) -> Result<Vec<AuditRecord>, StoreError> {
    let list = sqlx::query(sql!("audit_list")).bind(i64::try_from(most).unwrap_or(i64::MAX));
    database.list(list).await.map_err(failed)?.iter().map(read).collect()
}

fn read(row: &AnyRow) -> Result<AuditRecord, StoreError> {
    let text = |column| row.try_get::<String, _>(column).map_err(failed);
    let action = text("action")?;
    let unknown = || unreadable(&std::io::Error::other(format!("no such action: `{action}`")));
    Ok(AuditRecord {
        at: time(row.try_get("at").map_err(failed)?),
        caller: text("caller")?.into(),
        action: AuditAction::read(&action).ok_or_else(unknown)?,
        subject: text("subject")?.into(),
    })
}
