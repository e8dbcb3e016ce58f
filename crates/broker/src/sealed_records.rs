//! What the broker keeps, and how: each record as JSON, sealed for its place.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use toolmux_core::ports::store::{Sealed, SealedKey, Store, StoreError};
use toolmux_core::secret::Secret;

use crate::endpoint::TokenResponse;
use crate::resolved_provider::Issued;
use crate::seal::SealingKey;

/// How long before its end a token is renewed, at most.
const EARLY: Duration = Duration::from_mins(1);

/// Sealed records in a store.
pub(crate) struct SealedRecords {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) key: SealingKey,
}

impl SealedRecords {
    /// Keeps a record until `expires`.
    pub(crate) async fn put<T: Serialize>(
        &self,
        place: &SealedKey,
        record: &T,
        expires: Option<SystemTime>,
    ) -> Result<(), StoreError> {
        let plain = serde_json::to_vec(record).expect("records are plain data");
        self.store.sealed_put(place, &self.key.seal(place, &plain), expires).await
    }

    /// A record. One that was sealed with another key is as good as none.
    pub(crate) async fn find<T: DeserializeOwned>(&self, place: &SealedKey) -> Result<Option<T>, StoreError> {
        Ok(self.store.sealed_find(place).await?.and_then(|sealed| self.read(place, &sealed)))
    }

    /// A record together with what it is sealed as, which differs each time it is written.
    pub(crate) async fn look<T: DeserializeOwned>(
        &self,
        place: &SealedKey,
    ) -> Result<Option<(Vec<u8>, T)>, StoreError> {
        let sealed = self.store.sealed_find(place).await?;
        Ok(sealed.and_then(|sealed| self.read(place, &sealed).map(|record| (sealed, record))))
    }

    /// Keeps a record in the place of one that was looked at, unless somebody changed that since.
    pub(crate) async fn replace<T: Serialize>(
        &self,
        place: &SealedKey,
        seen: &[u8],
        record: &T,
    ) -> Result<bool, StoreError> {
        let plain = serde_json::to_vec(record).expect("records are plain data");
        let bytes = &self.key.seal(place, &plain);
        self.store.sealed_swap(place, Some(seen), Some(Sealed { bytes, expires: None })).await
    }

    /// The same, and removes it: of many who ask at once exactly one gets it.
    pub(crate) async fn take<T: DeserializeOwned>(&self, place: &SealedKey) -> Result<Option<T>, StoreError> {
        Ok(self.store.sealed_take(place).await?.and_then(|sealed| self.read(place, &sealed)))
    }

    fn read<T: DeserializeOwned>(&self, place: &SealedKey, sealed: &[u8]) -> Option<T> {
        serde_json::from_slice(&self.key.open(place, sealed)?).ok()
    }
}

/// A token of a user. Times are seconds since 1970.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct KeptToken {
    pub(crate) access: String,
    pub(crate) refresh: Option<String>,
    pub(crate) scopes: Vec<String>,
    obtained: u64,
    expires: Option<u64>,
    /// It came for a refresh token, not from the user.
    #[serde(default)]
    renewed: bool,
    /// What it is bound to, when a server named its provider.
    #[serde(default)]
    pub(crate) issued: Option<Issued>,
}

impl KeptToken {
    /// What a provider gave; absent scopes mean those that were asked for.
    pub(crate) fn new(given: TokenResponse, asked: &[String], issued: Option<Issued>) -> Self {
        let scopes = match &given.scope {
            // One large provider separates by commas.
            Some(scopes) => scopes.split([' ', ',']).filter(|s| !s.is_empty()).map(str::to_owned).collect(),
            None => asked.to_vec(),
        };
        let obtained = now();
        KeptToken {
            access: given.access_token,
            refresh: given.refresh_token,
            scopes,
            obtained,
            expires: given.expires_in.map(|seconds| obtained.saturating_add(seconds)),
            renewed: false,
            issued,
        }
    }

    /// A renewed token keeps what the provider did not say again.
    pub(crate) fn renewed(&self, given: TokenResponse) -> Self {
        let mut token = KeptToken::new(given, &self.scopes, self.issued.clone());
        token.renewed = true;
        token.refresh = token.refresh.or_else(|| self.refresh.clone());
        token
    }

    /// True for the token that was rejected, if any was.
    pub(crate) fn is(&self, rejected: Option<&Secret>) -> bool {
        rejected.is_some_and(|rejected| rejected.expose() == self.access)
    }

    /// Good for a while yet.
    pub(crate) fn is_fresh(&self) -> bool {
        self.expires.is_none_or(|expires| {
            let early = EARLY.as_secs().min((expires - self.obtained) / 4);
            now() + early < expires
        })
    }

    /// Good at this moment.
    pub(crate) fn is_alive(&self) -> bool {
        self.expires.is_none_or(|expires| now() < expires)
    }

    /// True for one that was renewed a moment ago: renewing it again helps nobody.
    pub(crate) fn is_just_renewed(&self) -> bool {
        self.renewed && now() < self.obtained + EARLY.as_secs()
    }

    pub(crate) fn covers(&self, scopes: &[String]) -> bool {
        scopes.iter().all(|scope| self.scopes.contains(scope))
    }
}

/// Seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(expires_in: Option<u64>, expect: (bool, bool)) {
        let given = TokenResponse {
            access_token: "t".into(),
            refresh_token: None,
            expires_in,
            scope: Some("a,b c".into()),
            id_token: None,
        };
        let token = KeptToken::new(given, &[], None);
        assert_eq!((token.is_fresh(), token.is_alive()), expect, "{expires_in:?}");
        assert!(token.covers(&["a".into(), "c".into()]) && !token.covers(&["d".into()]));
    }

    #[test]
    fn tokens_are_renewed_before_they_end() {
        check(None, (true, true));
        check(Some(3_600), (true, true));
        check(Some(10), (true, true));
        check(Some(0), (false, false));
        let given = TokenResponse {
            access_token: "t".into(),
            refresh_token: None,
            expires_in: Some(600),
            scope: None,
            id_token: None,
        };
        let mut token = KeptToken::new(given, &[], None);
        token.obtained -= 550;
        token.expires = token.expires.map(|expires| expires - 550);
        assert!(!token.is_fresh() && token.is_alive());
    }
}
