//! How a call stands: who has its id, and what came of it.

use std::time::SystemTime;

use sqlx::Row;
use sqlx::any::AnyRow;
use toolmux_core::outcome::Outcome;
use toolmux_core::ports::store::{CallDigest, StoreError};
use toolmux_core::task::TaskId;

use crate::connections::database::{ClaimNumber, Database, failed, time};
use crate::group_commit::write::{RecordId, holding_task};
use crate::records::stored::read_outcome;
use crate::sql::sql;

pub(crate) enum Standing {
    /// It ended, and its record is kept until then at the latest.
    Ended(Outcome, SystemTime),
    Running,
    /// Its server is gone: who held it, and by which claim.
    Abandoned(String, ClaimNumber),
    /// It is held by the claim that was asked about.
    Ours,
    /// It was submitted as this task.
    Task(TaskId),
    Conflict,
}

/// A row of `calls`, with the lease of its holder.
struct CallRow {
    digest: Vec<u8>,
    holder: String,
    claim: ClaimNumber,
    began: i64,
    outcome: Option<String>,
    /// When the lease of its holder ends; absent when there is no such server any more.
    until: Option<i64>,
}

impl CallRow {
    fn read(row: &AnyRow) -> Result<Self, sqlx::Error> {
        Ok(CallRow {
            digest: row.try_get("digest")?,
            holder: row.try_get("holder")?,
            claim: row.try_get("turn")?,
            began: row.try_get("began")?,
            outcome: row.try_get("outcome")?,
            until: row.try_get("until")?,
        })
    }
}

impl Database {
    /// `None` when nobody has the id, or a task had it whose time is over.
    pub(crate) async fn standing(
        &self,
        id: &RecordId,
        digest: Option<&CallDigest>,
        claim: Option<ClaimNumber>,
    ) -> Result<Option<Standing>, StoreError> {
        let find = sqlx::query(sql!("call_find")).bind(id.to_vec());
        let row = self.find(find).await.map_err(failed)?;
        let Some(row) = row.as_ref().map(CallRow::read).transpose().map_err(failed)? else { return Ok(None) };
        let task = holding_task(&row.holder);
        if task.is_some() && !self.task_has_key(id).await.map_err(failed)? {
            return Ok(None);
        }
        if digest.is_some_and(|digest| *digest != *row.digest) {
            return Ok(Some(Standing::Conflict));
        }
        if let Some(outcome) = row.outcome {
            let until = time(row.began) + self.settings.retention.calls_for;
            return read_outcome(&outcome).map(|outcome| Some(Standing::Ended(outcome, until)));
        }
        if let Some(task) = task {
            return Ok(Some(Standing::Task(task)));
        }
        // Whoever held it may still be alive and only unable to reach the database: it is taken over when its lease has
        // ended, and what it records later is refused, because the row names another holder then.
        let alive = row.until.is_some_and(|until| until >= self.dead_before());
        Ok(Some(match row.holder == self.holder {
            true if Some(row.claim) == claim => Standing::Ours,
            true => Standing::Running,
            false if alive => Standing::Running,
            false => Standing::Abandoned(row.holder, row.claim),
        }))
    }

    /// Whether a task answers for an id; one whose time is over, or that gave the id back, does not, and then
    /// the id is anybody's.
    async fn task_has_key(&self, id: &RecordId) -> Result<bool, sqlx::Error> {
        let now = self.now();
        let task = sqlx::query(sql!("task_of_key")).bind(id.to_vec()).bind(now);
        if self.find(task).await?.is_some() {
            return Ok(true);
        }
        // In this order: the second statement removes the row only when no task points to it. A crash in between leaves
        // a row that the next who asks for the id removes.
        let free = sqlx::query(sql!("task_free_key")).bind(id.to_vec()).bind(now);
        self.execute(free).await?;
        self.execute(sqlx::query(sql!("call_free_key")).bind(id.to_vec())).await?;
        Ok(false)
    }
}
