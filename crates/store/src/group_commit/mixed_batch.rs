//! Calls that begin and calls that end, all in one statement that is its own transaction, where the database knows such a
//! statement: one round trip for a batch, instead of four.

use std::collections::{HashMap, HashSet};

use serde::Serialize;
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, Row};
use toolmux_core::hex::to_hex;

use crate::connections::announcements::Announcements;
use crate::connections::database::{ClaimNumber, Database};
use crate::group_commit::job::{Applied, Job};
use crate::group_commit::write::{CallBegin, CallFinish, RecordId, Write, call_notifier};

#[derive(Serialize)]
struct BeginRow<'a> {
    id: String,
    caller: &'a str,
    digest: String,
    turn: ClaimNumber,
}

#[derive(Serialize)]
struct FinishRow<'a> {
    id: String,
    outcome: &'a str,
}

/// What the statement takes.
#[derive(Default)]
struct Rows<'a> {
    begins: Vec<BeginRow<'a>>,
    finishes: Vec<FinishRow<'a>>,
}

impl<'a> Rows<'a> {
    /// Nothing when the batch holds anything else, or two ends of one call, of which only one can be true.
    fn of(batch: &'a [Job]) -> Option<Self> {
        let (mut rows, mut ended) = (Rows::default(), HashSet::new());
        for job in batch {
            match &job.write {
                Write::CallBegin(CallBegin { id, caller, digest, claim }) => {
                    let (id, digest) = (to_hex(id), to_hex(digest));
                    rows.begins.push(BeginRow { id, caller, digest, turn: *claim });
                }
                Write::CallFinish(CallFinish { id, outcome }) => {
                    if !ended.insert(id) {
                        return None;
                    }
                    rows.finishes.push(FinishRow { id: to_hex(id), outcome });
                }
                Write::Single(_) => return None,
            }
        }
        Some(rows)
    }
}

/// What the statement wrote.
#[derive(Default)]
struct Written {
    /// By whose claim each call begun.
    begun: HashMap<Vec<u8>, ClaimNumber>,
    finished: HashSet<Vec<u8>>,
}

impl Written {
    fn read(
        database: &Database,
        rows: &[AnyRow],
        announcements: &mut Announcements,
    ) -> Result<Self, sqlx::Error> {
        let mut written = Written::default();
        for row in rows {
            let id: Vec<u8> = row.try_get("id")?;
            if let Some(claim) = row.try_get("turn")? {
                written.begun.insert(id, claim);
                continue;
            }
            if let Ok(id) = <&RecordId>::try_from(id.as_slice()) {
                database.tell_waiter(row, call_notifier(id), announcements)?;
            }
            written.finished.insert(id);
        }
        Ok(written)
    }

    fn holds(&self, write: &Write) -> bool {
        match write {
            // The same id may stand twice in one batch, and only one of the two has it.
            Write::CallBegin(CallBegin { id, claim, .. }) => self.begun.get(id.as_slice()) == Some(claim),
            Write::CallFinish(CallFinish { id, .. }) => self.finished.contains(id.as_slice()),
            Write::Single(_) => false,
        }
    }
}

/// Writes a batch, which is committed when this ends well; nothing when it cannot be written in this way.
pub(crate) async fn write_mixed(
    database: &Database,
    connection: &mut AnyConnection,
    batch: &[Job],
    announcements: &mut Announcements,
) -> Result<Option<Vec<Applied>>, sqlx::Error> {
    let Some(statement) = database.engine.mixed_batch else { return Ok(None) };
    let Some(rows) = Rows::of(batch) else { return Ok(None) };
    let json = |error: serde_json::Error| sqlx::Error::Encode(Box::new(error));
    let begins = serde_json::to_string(&rows.begins).map_err(json)?;
    let finishes = serde_json::to_string(&rows.finishes).map_err(json)?;
    let write = sqlx::query(statement).bind(database.holder.as_str()).bind(database.now());
    let rows = write.bind(begins).bind(finishes).fetch_all(connection).await?;
    let written = Written::read(database, &rows, announcements)?;
    let applied = |job: &Job| Applied { write: written.holds(&job.write), start: false };
    Ok(Some(batch.iter().map(applied).collect()))
}
