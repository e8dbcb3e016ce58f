//! The right to renew a token: one server has it at a time. A refresh token is often good once, and a provider
//! that sees it twice may take back all that came of it.

use std::time::Duration;

use toolmux_core::store::{Sealed, SealedKey, StoreError};

use crate::broker::Owner;
use crate::challenge::after;
use crate::renewal::PATIENCE;
use crate::seal::random_text;
use crate::sealed_records::SealedRecords;

/// How long a server that died on the way keeps others from trying, at most.
const LONGEST: Duration = PATIENCE.saturating_add(Duration::from_secs(15));

/// The right to renew the token of one owner, which one server at a time has.
pub(crate) struct Lease {
    place: SealedKey,
    /// Tells ours from that of others.
    mark: String,
}

impl Lease {
    pub(crate) fn of(owner: &Owner) -> Self {
        let place = SealedKey { kind: "renewal".to_owned(), name: owner.place().name };
        Lease { place, mark: random_text() }
    }

    /// False when another server has it.
    pub(crate) async fn take(&self, kept: &SealedRecords) -> Result<bool, StoreError> {
        let ours = Sealed { bytes: self.mark.as_bytes(), expires: after(LONGEST) };
        kept.store.sealed_swap(&self.place, None, Some(ours)).await
    }

    /// Lets others have it. If that fails, it ends by itself.
    pub(crate) async fn give_back(&self, kept: &SealedRecords) {
        if let Err(error) = kept.store.sealed_swap(&self.place, Some(self.mark.as_bytes()), None).await {
            tracing::debug!(
                developer = error.message.developer,
                "the right to renew a token is kept until it ends"
            );
        }
    }
}
