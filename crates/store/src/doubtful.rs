//! Claims of calls whose answer was lost: nobody runs them here, so they are taken back.

use std::sync::PoisonError;

use crate::database::Database;
use crate::sql::sql;
use crate::write::{RecordId, call_bell};

/// How many such claims are remembered; more than that are let go by our end only.
const MOST_DOUBTFUL: usize = 65_536;

/// A claim that may have been written, and its turn.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Doubtful {
    /// Of an id nobody had: its tool did not run.
    Fresh(RecordId, i64),
    /// Of an id whose server died: its tool may have run, and whoever asks next must hear that.
    TakenOver(RecordId, i64),
}

impl Database {
    pub(crate) fn doubt_call(&self, claim: Doubtful) {
        self.doubtful_calls(|claims| {
            if claims.len() < MOST_DOUBTFUL {
                claims.push(claim);
            } else {
                tracing::warn!("too many claims of calls are in doubt; one is held until this server stops");
            }
        });
    }

    /// Takes back all claims that are in doubt; those that cannot be now are tried again later.
    pub(crate) async fn take_back_calls(&self) -> Result<(), sqlx::Error> {
        while let Some(claim) = self.doubtful_calls(|claims| claims.last().copied()) {
            let (Doubtful::Fresh(id, turn) | Doubtful::TakenOver(id, turn)) = claim;
            let back = sqlx::query(claim.statement()).bind(id.to_vec()).bind(self.holder.as_str()).bind(turn);
            self.execute(back).await?;
            self.doubtful_calls(|claims| claims.retain(|other| other.turn() != turn));
            self.ring(&[call_bell(&id)]).await?;
        }
        Ok(())
    }

    fn doubtful_calls<T>(&self, read: impl FnOnce(&mut Vec<Doubtful>) -> T) -> T {
        read(&mut self.doubtful_calls.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Doubtful {
    fn turn(&self) -> i64 {
        match self {
            Doubtful::Fresh(_, turn) | Doubtful::TakenOver(_, turn) => *turn,
        }
    }

    fn statement(&self) -> &'static str {
        match self {
            Doubtful::Fresh(..) => sql!("call_forget_turn"),
            Doubtful::TakenOver(..) => sql!("call_release"),
        }
    }
}

#[cfg(test)]
mod tests {
    use toolmux_core::store::{Begun, CallKey};

    use super::*;
    use crate::calls::record_id;
    use crate::{SqlStore, StoreSettings};

    async fn check(claim: fn(RecordId, i64) -> Doubtful, expect: &str) {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("records.db").display());
        let store = SqlStore::open(&url, StoreSettings::default()).await.unwrap();
        let key = CallKey { caller: "a".into(), id: "x".into() };
        let turn = store.database.next_turn() + 1;
        assert!(matches!(store.begin_call(&key, &[0; 32]).await, Ok(Begun::Fresh)));
        store.database.doubt_call(claim(record_id(&key), turn - 1));
        store.database.take_back_calls().await.unwrap();
        assert!(matches!(store.begin_call(&key, &[0; 32]).await, Ok(Begun::Running)), "of another turn");
        store.database.doubt_call(claim(record_id(&key), turn));
        store.database.take_back_calls().await.unwrap();
        assert_eq!(format!("{:?}", store.begin_call(&key, &[0; 32]).await.unwrap()), expect);
    }

    #[tokio::test]
    async fn a_claim_whose_answer_was_lost_is_taken_back() {
        check(Doubtful::Fresh, "Fresh").await;
        check(Doubtful::TakenOver, "Abandoned").await;
    }
}
