//! Claims of calls whose answer was lost: nobody runs them here, so they are taken back.

use std::sync::PoisonError;

use crate::database::Database;
use crate::sql::sql;
use crate::write::{RecordId, call_notifier};

/// How many such claims are remembered; more than that are let go by our end only.
const MOST_UNCERTAIN: usize = 65_536;

/// A claim that may have been written, and its turn.
#[derive(Clone, Copy, Debug)]
pub(crate) enum UncertainClaim {
    /// Of an id nobody had: its tool did not run.
    Fresh(RecordId, i64),
    /// Of an id whose server died: its tool may have run, and whoever asks next must hear that.
    TakenOver(RecordId, i64),
}

impl Database {
    pub(crate) fn claim_uncertain(&self, claim: UncertainClaim) {
        self.uncertain_claims(|claims| {
            if claims.len() < MOST_UNCERTAIN {
                claims.push(claim);
            } else {
                tracing::warn!("too many claims of calls are in doubt; one is held until this server stops");
            }
        });
    }

    /// Takes back all claims that are in doubt; those that cannot be now are tried again later.
    pub(crate) async fn take_back_calls(&self) -> Result<(), sqlx::Error> {
        while let Some(claim) = self.uncertain_claims(|claims| claims.last().copied()) {
            let (UncertainClaim::Fresh(id, turn) | UncertainClaim::TakenOver(id, turn)) = claim;
            let back = sqlx::query(claim.statement()).bind(id.to_vec()).bind(self.holder.as_str()).bind(turn);
            self.execute(back).await?;
            self.uncertain_claims(|claims| claims.retain(|other| other.turn() != turn));
            self.notify(&[call_notifier(&id)]).await?;
        }
        Ok(())
    }

    fn uncertain_claims<T>(&self, read: impl FnOnce(&mut Vec<UncertainClaim>) -> T) -> T {
        read(&mut self.uncertain_claims.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl UncertainClaim {
    fn turn(&self) -> i64 {
        match self {
            UncertainClaim::Fresh(_, turn) | UncertainClaim::TakenOver(_, turn) => *turn,
        }
    }

    fn statement(&self) -> &'static str {
        match self {
            UncertainClaim::Fresh(..) => sql!("call_forget_turn"),
            UncertainClaim::TakenOver(..) => sql!("call_release"),
        }
    }
}

#[cfg(test)]
mod tests {
    use toolmux_core::ports::store::{Begun, CallKey};

    use super::*;
    use crate::calls::record_id;
    use crate::{SqlStore, StoreSettings};

    async fn check(claim: fn(RecordId, i64) -> UncertainClaim, expect: &str) {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("records.db").display());
        let store = SqlStore::open(&url, StoreSettings::default()).await.unwrap();
        let key = CallKey { caller: "a".into(), id: "x".into() };
        let turn = store.database.next_turn() + 1;
        assert!(matches!(store.begin_call(&key, &[0; 32]).await, Ok(Begun::Fresh)));
        store.database.claim_uncertain(claim(record_id(&key), turn - 1));
        store.database.take_back_calls().await.unwrap();
        assert!(matches!(store.begin_call(&key, &[0; 32]).await, Ok(Begun::Running)), "of another turn");
        store.database.claim_uncertain(claim(record_id(&key), turn));
        store.database.take_back_calls().await.unwrap();
        assert_eq!(format!("{:?}", store.begin_call(&key, &[0; 32]).await.unwrap()), expect);
    }

    #[tokio::test]
    async fn a_claim_whose_answer_was_lost_is_taken_back() {
        check(UncertainClaim::Fresh, "Fresh").await;
        check(UncertainClaim::TakenOver, "Abandoned").await;
    }
}
