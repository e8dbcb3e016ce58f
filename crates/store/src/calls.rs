//! Calls: claimed once over all servers, waited for, taken over from the dead.

use sha2::{Digest, Sha256};
use sqlx::Row;
use toolmux_core::outcome::Outcome;
use toolmux_core::ports::store::{Begun, CallDigest, CallKey, StoreError};
use toolmux_core::task::TaskId;

use crate::database::failed;
use crate::sql::sql;
use crate::store::{SqlStore, read_outcome, write_outcome};
use crate::uncertain_claims::UncertainClaim;
use crate::write::{RecordId, Write, call_notifier, holding_task};

/// How a call stands.
pub(crate) enum Standing {
    Ended(Outcome),
    Running,
    /// Its server is gone: who held it, and by which turn.
    Abandoned(String, i64),
    Ours,
    /// It was submitted as this task.
    Task(TaskId),
    Conflict,
}

impl SqlStore {
    /// An error does not say whether the claim was written, so the claim is taken back: an id must not be
    /// held that nobody runs.
    pub(crate) async fn begin_call(&self, key: &CallKey, digest: &CallDigest) -> Result<Begun, StoreError> {
        let (id, turn) = (record_id(key), self.database.next_turn());
        loop {
            let begin = Write::CallBegin { id, caller: plain(&key.caller), digest: digest.to_vec(), turn };
            let written = self.writer.write(begin).await;
            if written.inspect_err(|_| self.database.claim_uncertain(UncertainClaim::Fresh(id, turn)))? {
                return Ok(Begun::Fresh);
            }
            let standing = self.standing(&id, Some(digest), turn).await;
            match standing.inspect_err(|_| self.database.claim_uncertain(UncertainClaim::Fresh(id, turn)))? {
                // Forgotten or pruned in between.
                None => {}
                Some(Standing::Ended(outcome)) => return Ok(Begun::Ended(outcome)),
                Some(Standing::Running) => return Ok(Begun::Running),
                Some(Standing::Conflict) => return Ok(Begun::Conflict),
                Some(Standing::Task(task)) => return Ok(Begun::Task(task)),
                // The first answer was lost, the write was not.
                Some(Standing::Ours) => return Ok(Begun::Fresh),
                Some(Standing::Abandoned(holder, old)) => {
                    let taken = self.take_over(&id, turn, (&holder, old)).await?;
                    if taken {
                        return Ok(Begun::Abandoned);
                    }
                }
            }
        }
    }

    async fn take_over(&self, id: &RecordId, turn: i64, old: (&str, i64)) -> Result<bool, StoreError> {
        let take = sqlx::query(sql!("call_take_over")).bind(self.database.holder.as_str()).bind(turn);
        let take = take.bind(id.to_vec()).bind(old.0).bind(old.1);
        match self.database.execute(take).await {
            Ok(taken) => Ok(taken > 0),
            Err(error) => {
                self.database.claim_uncertain(UncertainClaim::TakenOver(*id, turn));
                Err(failed(error))
            }
        }
    }

    pub(crate) async fn finish_call(&self, key: &CallKey, outcome: &Outcome) -> Result<bool, StoreError> {
        let outcome = write_outcome(outcome);
        self.database.calls_written.add(1, outcome.len());
        let finish = Write::CallFinish { id: record_id(key), outcome };
        self.writer.write(finish).await
    }

    pub(crate) async fn forget_call(&self, key: &CallKey) -> Result<(), StoreError> {
        self.writer.write(Write::CallForget { id: record_id(key) }).await.map(drop)
    }

    pub(crate) async fn wait_call(&self, key: &CallKey) -> Result<Option<Outcome>, StoreError> {
        let id = record_id(key);
        let mut notifier = self.database.notifiers.listen(&call_notifier(&id));
        loop {
            match self.standing(&id, None, 0).await? {
                Some(Standing::Ended(outcome)) => return Ok(Some(outcome)),
                Some(Standing::Running | Standing::Ours) => {}
                None | Some(Standing::Abandoned(..) | Standing::Task(_) | Standing::Conflict) => {
                    return Ok(None);
                }
            }
            // The dead notify nobody.
            tokio::time::timeout(self.database.settings.lease, notifier.changed()).await.ok();
        }
    }

    /// `None` when nobody has the id, or a task had it whose time is over.
    pub(crate) async fn standing(
        &self,
        id: &RecordId,
        digest: Option<&CallDigest>,
        turn: i64,
    ) -> Result<Option<Standing>, StoreError> {
        let find = sqlx::query(sql!("call_find")).bind(id.to_vec());
        let Some(row) = self.database.find(find).await.map_err(failed)? else {
            return Ok(None);
        };
        let read = || -> Result<_, sqlx::Error> {
            let known: Vec<u8> = row.try_get(0)?;
            let (holder, held): (String, i64) = (row.try_get(1)?, row.try_get(2)?);
            let (outcome, until): (Option<String>, Option<i64>) = (row.try_get(3)?, row.try_get(4)?);
            Ok((known, holder, held, outcome, until))
        };
        let (known, holder, held, outcome, until) = read().map_err(failed)?;
        let task = holding_task(&holder);
        if task.is_some() && !self.has_key(id).await.map_err(failed)? {
            return Ok(None);
        }
        if digest.is_some_and(|digest| *digest != *known) {
            return Ok(Some(Standing::Conflict));
        }
        if let Some(outcome) = outcome {
            return read_outcome(&outcome).map(|outcome| Some(Standing::Ended(outcome)));
        }
        if let Some(task) = task {
            return Ok(Some(Standing::Task(task)));
        }
        let alive = until.is_some_and(|until| until >= self.database.dead_before());
        Ok(Some(match holder == self.database.holder {
            true if held == turn => Standing::Ours,
            true => Standing::Running,
            false if alive => Standing::Running,
            false => Standing::Abandoned(holder, held),
        }))
    }
}

impl SqlStore {
    /// Whether a task answers for an id; one whose time is over, or that gave the id back, does not, and then
    /// the id is anybody's.
    async fn has_key(&self, id: &RecordId) -> Result<bool, sqlx::Error> {
        let now = self.database.now();
        let task = sqlx::query(sql!("task_of_key")).bind(id.to_vec()).bind(now);
        if self.database.find(task).await?.is_some() {
            return Ok(true);
        }
        let free = sqlx::query(sql!("task_free_key")).bind(id.to_vec()).bind(now);
        self.database.execute(free).await?;
        self.database.execute(sqlx::query(sql!("call_free_key")).bind(id.to_vec())).await?;
        Ok(false)
    }
}

/// Names of callers and their ids are theirs to choose, so they are kept as a digest of fixed size.
pub(crate) fn record_id(key: &CallKey) -> RecordId {
    let mut hash = Sha256::new();
    hash.update(key.caller.len().to_le_bytes());
    hash.update(key.caller.as_bytes());
    hash.update(key.id.as_bytes());
    hash.finalize().into()
}

/// A name for people to read: PostgreSQL keeps no NUL in a text.
pub(crate) fn plain(name: &str) -> String {
    name.replace('\0', "\u{fffd}")
}
