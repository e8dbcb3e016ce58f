//! The right to renew a token: one server has it at a time. A refresh token is often good once, and a provider
//! that sees it twice may take back all that came of it.
//!
//! Who has the lease reads the token again before it renews it: another server may have renewed it between the moment
//! the token was found to be old and the moment the lease was free.

use std::time::Duration;

use toolmux_core::ports::store::{Sealed, SealedKey, StoreError};

use crate::challenge::after;
use crate::owner::Owner;
use crate::seal::random_text;
use crate::sealed_records::SealedRecords;

/// How long a provider is waited for while a token is renewed.
pub(crate) const PROVIDER_TIMEOUT: Duration = Duration::from_secs(30);
/// When a lease ends by itself. Longer than a provider is waited for, so that it cannot end while its holder still waits
/// for an answer; the rest is for reading and writing the store. A server that dies keeps others from renewing for this long.
const LONGEST: Duration = PROVIDER_TIMEOUT.saturating_add(Duration::from_secs(15));

/// The right to renew the token of one owner, which one server at a time has.
pub(crate) struct Lease {
    place: SealedKey,
    /// Random, so that a server gives back its own lease only, never the one that another took after it expired.
    mark: String,
}

impl Lease {
    pub(crate) fn of(owner: &Owner) -> Self {
        let place = SealedKey { kind: "renewal".to_owned(), name: owner.place().name };
        Lease { place, mark: random_text() }
    }

    /// False when another server has it. The store compares and writes in one step, so that of two servers that ask at
    /// the same time one gets it.
    pub(crate) async fn take(&self, kept: &SealedRecords) -> Result<bool, StoreError> {
        let ours = Sealed { bytes: self.mark.as_bytes(), expires: after(LONGEST) };
        kept.store.sealed_swap(&self.place, None, Some(ours)).await
    }

    /// Lets others have it. If that fails, it ends by itself. Called after the new token is stored: whoever takes the
    /// lease next must find that token, not the one that was used up.
    pub(crate) async fn give_back(&self, kept: &SealedRecords) {
        if let Err(error) = kept.store.sealed_swap(&self.place, Some(self.mark.as_bytes()), None).await {
            tracing::debug!(
                developer = error.message.developer,
                "the lease to renew a token is kept until it expires"
            );
        }
    }
}
