//! Claims whose answer was lost. Whether they were written is unknown, so this server may hold what it does not run, and
//! nobody else would take it as long as this server lives. Each is remembered until the database answers again: a claim of
//! a call is taken back, because its caller was refused; a claim of tasks is looked up and its tasks are run, because a task
//! that was accepted must run anyway.

use std::sync::{Mutex, PoisonError};

use crate::connections::database::{ClaimNumber, Database};
use crate::group_commit::write::{RecordId, call_notifier};
use crate::sql::sql;

/// How many such claims are remembered; more than that are let go by our end only.
const MOST_UNCERTAIN: usize = 65_536;

/// A claim that may have been written, and its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UncertainClaim {
    /// Of an id nobody had: its tool did not run.
    FreshCall(RecordId, ClaimNumber),
    /// Of an id whose server died: its tool may have run, and whoever asks next must be told so.
    TakenOverCall(RecordId, ClaimNumber),
    /// Of whatever tasks were taken under this number.
    Tasks(ClaimNumber),
}

/// The lock is held for reads and changes of the list only, never while the database is asked.
#[derive(Debug, Default)]
pub(crate) struct UncertainClaims(Mutex<Vec<UncertainClaim>>);

impl UncertainClaims {
    fn add(&self, claim: UncertainClaim) {
        self.claims(|claims| {
            if claims.len() < MOST_UNCERTAIN {
                claims.push(claim);
            } else {
                tracing::warn!("too many claims are uncertain; one is held until this server stops");
            }
        });
    }

    /// A call whose claim is to be taken back, and the statement that does it. It stays in the list until that is done.
    fn last_call(&self) -> Option<(UncertainClaim, RecordId, &'static str)> {
        self.claims(|claims| {
            claims.iter().rev().find_map(|claim| match claim {
                UncertainClaim::FreshCall(id, _) => Some((*claim, *id, sql!("call_forget_turn"))),
                UncertainClaim::TakenOverCall(id, _) => Some((*claim, *id, sql!("call_release"))),
                UncertainClaim::Tasks(_) => None,
            })
        })
    }

    fn claims<T>(&self, read: impl FnOnce(&mut Vec<UncertainClaim>) -> T) -> T {
        read(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl UncertainClaim {
    fn number(self) -> ClaimNumber {
        match self {
            UncertainClaim::FreshCall(_, number)
            | UncertainClaim::TakenOverCall(_, number)
            | UncertainClaim::Tasks(number) => number,
        }
    }
}

impl Database {
    pub(crate) fn claim_uncertain(&self, claim: UncertainClaim) {
        self.uncertain_claims.add(claim);
    }

    /// Removes the claims of tasks from the list; whoever takes them adds those back that it could not look up.
    pub(crate) fn take_uncertain_tasks(&self) -> Vec<ClaimNumber> {
        let is_of_tasks = |claim: &mut UncertainClaim| matches!(claim, UncertainClaim::Tasks(_));
        self.uncertain_claims
            .claims(|claims| claims.extract_if(.., is_of_tasks).map(UncertainClaim::number).collect())
    }

    /// Takes back the claims of calls; those that cannot be now are tried again later. The statements name our holder and
    /// the number of the claim, so that a claim of the same id which is good is left alone.
    pub(crate) async fn take_back_calls(&self) -> Result<(), sqlx::Error> {
        while let Some((claim, id, statement)) = self.uncertain_claims.last_call() {
            let back = sqlx::query(statement).bind(id.to_vec()).bind(self.holder.as_str());
            self.execute(back.bind(claim.number())).await?;
            // Only now: had it been taken out before the statement, a connection that breaks here would leave a claim
            // that nobody remembers. Taking a claim back twice changes nothing.
            self.uncertain_claims.claims(|claims| claims.retain(|other| *other != claim));
            // After the row is free: whoever waits for the call begins it again as soon as it is notified.
            self.notify(&[call_notifier(&id)]).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tempfile::TempDir;
    use toolmux_core::ports::store::{Begun, CallKey, CallStore, NewTask, TaskStore};
    use toolmux_core::task::TaskId;

    use super::*;
    use crate::records::calls::record_id;
    use crate::{SqlStore, StoreSettings};

    async fn store() -> (SqlStore, TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("records.db").display());
        (SqlStore::open(&url, StoreSettings::default()).await.unwrap(), folder)
    }

    async fn check(claim: fn(RecordId, ClaimNumber) -> UncertainClaim, expect: &str) {
        let (store, _folder) = store().await;
        let key = CallKey { caller: "a".into(), id: "x".into() };
        let number = store.database.next_claim() + 1;
        assert!(matches!(store.call_begin(&key, &[0; 32]).await, Ok(Begun::Fresh)));
        store.database.claim_uncertain(claim(record_id(&key), number - 1));
        store.database.take_back_calls().await.unwrap();
        assert!(matches!(store.call_begin(&key, &[0; 32]).await, Ok(Begun::Running)), "of another claim");
        store.database.claim_uncertain(claim(record_id(&key), number));
        store.database.take_back_calls().await.unwrap();
        assert_eq!(format!("{:?}", store.call_begin(&key, &[0; 32]).await.unwrap()), expect);
    }

    #[tokio::test]
    async fn a_claim_whose_answer_was_lost_is_taken_back() {
        check(UncertainClaim::FreshCall, "Fresh").await;
        check(UncertainClaim::TakenOverCall, "Abandoned").await;
    }

    #[tokio::test]
    async fn tasks_whose_claim_was_lost_are_found_by_the_next_one() {
        let (store, _folder) = store().await;
        let mut ids = Vec::new();
        for _ in 0..70 {
            let id = TaskId::random();
            let (caller, tool, request) = ("a".into(), "t".into(), "{}".into());
            let (repeatable, portable, key, keep) = (false, true, None, Duration::from_mins(5));
            let task = NewTask { id: id.clone(), caller, tool, request, repeatable, portable, key, keep };
            store.task_submit(&task).await.unwrap();
            let number = store.database.next_claim() + 1;
            assert!(store.task_start(&id).await.unwrap());
            store.database.claim_uncertain(UncertainClaim::Tasks(number));
            ids.push(id);
        }
        let claimed = store.task_claim(1).await.unwrap();
        let mut found: Vec<TaskId> = claimed.into_iter().map(|task| task.id).collect();
        ids.sort();
        found.sort();
        assert_eq!(found, ids);
        assert!(store.task_claim(1).await.unwrap().is_empty(), "each is found once");
        store.database.take_back_calls().await.unwrap();
        assert!(store.task_is_ours(&ids[0]).await.unwrap(), "only claims of calls are taken back");
    }
}
