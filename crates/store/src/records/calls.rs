//! Calls: claimed once over all servers, waited for, taken over from the dead.

use std::time::Duration;

use sha2::{Digest, Sha256};
use tokio::time::timeout;
use toolmux_core::outcome::Outcome;
use toolmux_core::ports::store::{Begun, CallDigest, CallKey, CallStore, StoreError, StoreFuture};

use crate::background::uncertain_claims::UncertainClaim;
use crate::connections::database::{ClaimNumber, failed};
use crate::group_commit::write::{CallBegin, CallFinish, RecordId, SingleWrite, Write, call_notifier};
use crate::records::standing::Standing;
use crate::records::stored::write_outcome;
use crate::sql::sql;
use crate::sql_store::SqlStore;

impl CallStore for SqlStore {
    fn call_begin<'a>(&'a self, key: &'a CallKey, digest: &'a CallDigest) -> StoreFuture<'a, Begun> {
        let (id, claim) = (record_id(key), self.database.next_claim());
        Box::pin(self.begin(CallBegin { id, caller: plain(&key.caller), digest: *digest, claim }))
    }

    fn call_kept_for(&self) -> Duration {
        self.database.settings.retention.calls_for
    }

    fn call_finish<'a>(&'a self, key: &'a CallKey, outcome: &'a Outcome) -> StoreFuture<'a, bool> {
        let outcome = write_outcome(outcome);
        Box::pin(self.writer.write(Write::CallFinish(CallFinish { id: record_id(key), outcome })))
    }

    fn call_forget<'a>(&'a self, key: &'a CallKey) -> StoreFuture<'a, ()> {
        let forget = Write::Single(SingleWrite::CallForget { id: record_id(key) });
        Box::pin(async move { self.writer.write(forget).await.map(drop) })
    }

    fn call_wait<'a>(&'a self, key: &'a CallKey) -> StoreFuture<'a, Option<Outcome>> {
        Box::pin(async move {
            let id = record_id(key);
            // Subscribed before the first look: an end that comes between a look and the wait is notified all the same.
            let mut notifier = self.database.notifiers.listen(&call_notifier(&id));
            loop {
                self.await_call(&id).await?;
                match self.database.standing(&id, None, None).await? {
                    Some(Standing::Ended(outcome, _)) => return Ok(Some(outcome)),
                    Some(Standing::Running | Standing::Ours) => {}
                    None | Some(Standing::Abandoned(..) | Standing::Task(_) | Standing::Conflict) => {
                        return Ok(None);
                    }
                }
                // A server that died notifies nobody, so its calls are looked at again once per lease.
                timeout(self.database.settings.lease, notifier.changed()).await.ok();
            }
        })
    }
}

impl SqlStore {
    /// Notes in the row of a call that somebody waits for it, so that whoever ends it tells other servers; before each
    /// look. Both are writes to one row: either the call ends after this and is announced, or the look finds its end. A
    /// call that was forgotten and begun again has a new row.
    async fn await_call(&self, id: &RecordId) -> Result<(), StoreError> {
        if self.database.engine.announce.is_some() {
            let mark = sqlx::query(sql!("call_await")).bind(id.to_vec()).bind(self.database.holder.as_str());
            self.database.execute(mark).await.map_err(failed)?;
        }
        Ok(())
    }

    /// An error does not say whether the claim was written. The caller is refused, and an id must not be held that nobody
    /// runs: the claim is remembered and taken back in the background.
    async fn begin(&self, begin: CallBegin) -> Result<Begun, StoreError> {
        let CallBegin { id, digest, claim, .. } = begin;
        let uncertain = |_: &StoreError| self.database.claim_uncertain(UncertainClaim::FreshCall(id, claim));
        loop {
            if self.writer.write(Write::CallBegin(begin.clone())).await.inspect_err(uncertain)? {
                return Ok(Begun::Fresh);
            }
            let standing = self.database.standing(&id, Some(&digest), Some(claim)).await;
            match standing.inspect_err(uncertain)? {
                // Forgotten or pruned between the two statements: the id is free again.
                None => {}
                Some(Standing::Ended(outcome, until)) => return Ok(Begun::Ended(outcome, until)),
                Some(Standing::Running) => return Ok(Begun::Running),
                Some(Standing::Conflict) => return Ok(Begun::Conflict),
                Some(Standing::Task(task)) => return Ok(Begun::Task(task)),
                // The answer to the first attempt of this claim was lost, the write was not.
                Some(Standing::Ours) => return Ok(Begun::Fresh),
                Some(Standing::Abandoned(holder, old)) => {
                    let taken = self.take_over(id, claim, &holder, old).await?;
                    if taken {
                        return Ok(Begun::Abandoned);
                    }
                }
            }
        }
    }

    /// Of many who find the same dead holder one takes over: the statement names the holder and the claim that were found,
    /// and whoever comes later finds others.
    async fn take_over(
        &self,
        id: RecordId,
        claim: ClaimNumber,
        holder: &str,
        old: ClaimNumber,
    ) -> Result<bool, StoreError> {
        let take = sqlx::query(sql!("call_take_over")).bind(self.database.holder.as_str()).bind(claim);
        let taken = self.database.execute(take.bind(id.to_vec()).bind(holder).bind(old)).await;
        // Not as a fresh claim: giving that back would remove the row, and with it that the tool may have run.
        taken
            .map(|taken| taken > 0)
            .inspect_err(|_| self.database.claim_uncertain(UncertainClaim::TakenOverCall(id, claim)))
            .map_err(failed)
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
