//! What a database holds, counted.

use sqlx::Row;
use toolmux_core::ports::store::{CallCounts, StoreStatus, TaskCounts};

use crate::connections::database::Database;
use crate::engines::migrations;
use crate::sql::sql;

pub(crate) async fn status(database: &Database) -> Result<StoreStatus, sqlx::Error> {
    let row = database.find_one(sqlx::query(sql!("status_counts")).bind(database.now())).await?;
    let number = |column| row.try_get::<i64, _>(column).map(i64::unsigned_abs);
    let size = database.find_one(sqlx::query(database.engine.bytes)).await?;
    Ok(StoreStatus {
        kind: database.engine.name,
        schema: migrations::VERSION,
        servers: number("servers")?,
        calls: CallCounts { all: number("calls")?, running: number("calls_running")? },
        tasks: TaskCounts {
            pending: number("tasks_pending")?,
            running: number("tasks_running")?,
            ended: number("tasks_ended")?,
        },
        sealed: number("sealed")?,
        audit: number("audit")?,
        bytes: Some(size.try_get::<i64, _>("bytes")?.unsigned_abs()),
    })
}
