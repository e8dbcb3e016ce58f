//! Records of challenges: who is asked for what, and the one-time values of a browser on its way. What a link or a
//! form holds is kept as a digest only, so that a reader of the store can use none of it.

use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use toolmux_core::hex::to_hex;
use toolmux_core::ports::broker::ChallengeStatus;
use toolmux_core::ports::store::SealedKey;
use toolmux_core::secret::Secret;

use crate::owner::Owner;
use crate::resolved_provider::Issued;

/// How long a challenge waits for its user.
pub(crate) const LIFE: Duration = Duration::from_mins(10);
/// How long a decided challenge can still be asked about.
pub(crate) const REMEMBERED: Duration = Duration::from_hours(1);
/// A challenge this near to its end is not handed out again.
pub(crate) const TOO_LATE: Duration = Duration::from_mins(2);

/// Who is asked for what. It names its owner, so that nobody else's token can come of it.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct ChallengeRecord {
    pub(crate) owner: Owner,
    /// The subject of the token that the caller showed.
    pub(crate) subject: Option<String>,
    /// The tool, or the source, that needs the token.
    pub(crate) needed_by: String,
    pub(crate) scopes: Vec<String>,
    pub(crate) status: Status,
    /// The server that the token is for, when it is to be asked whose tokens it takes.
    #[serde(default)]
    pub(crate) server: Option<Server>,
}

/// A server that is asked whose tokens it takes.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Server {
    pub(crate) url: String,
    /// Where it says that it describes itself.
    pub(crate) metadata: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) enum Status {
    Pending,
    Completed,
    Failed,
}

impl From<Status> for ChallengeStatus {
    fn from(status: Status) -> Self {
        match status {
            Status::Pending => ChallengeStatus::Pending,
            Status::Completed => ChallengeStatus::Completed,
            Status::Failed => ChallengeStatus::Failed,
        }
    }
}

/// A challenge as records name it: the digest of its id.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct ChallengeKey(String);

impl ChallengeKey {
    pub(crate) fn of(id: &str) -> Self {
        ChallengeKey(digest(id))
    }

    /// Where a challenge is kept.
    pub(crate) fn place(&self) -> SealedKey {
        SealedKey { kind: "challenge".to_owned(), name: self.0.clone() }
    }

    /// Where the right to decide a challenge is kept: whoever takes it decides.
    pub(crate) fn decision_place(&self) -> SealedKey {
        SealedKey { kind: "challenge_decision".to_owned(), name: self.0.clone() }
    }
}

/// A page that was shown in a browser. Its form is good once.
#[derive(Serialize, Deserialize)]
pub(crate) struct FormRecord {
    pub(crate) challenge: ChallengeKey,
    /// SHA-256 of what the browser must show together with the form.
    pub(crate) browser: [u8; 32],
}

/// What a browser is led to a provider for.
#[derive(Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) enum Step {
    /// So that the user proves to be who asked.
    SignIn,
    /// So that the user allows a token.
    Consent,
}

/// A browser on its way to the provider and back. Good once.
#[derive(Serialize, Deserialize)]
pub(crate) struct StateRecord {
    pub(crate) challenge: ChallengeKey,
    pub(crate) step: Step,
    pub(crate) verifier: String,
    /// SHA-256 of what the browser must show when it comes back.
    pub(crate) browser: [u8; 32],
    /// The scopes that the user is asked for.
    pub(crate) scopes: Vec<String>,
    /// Where the browser was sent, when a server named it.
    pub(crate) issued: Option<Issued>,
    /// The last part of the redirect URI that it must come back to.
    pub(crate) callback: String,
}

/// Where the challenge that waits for one owner and these scopes is found again.
pub(crate) fn waiting_place(owner: &Owner, scopes: &[String]) -> SealedKey {
    let name = serde_json::json!([owner, scopes]).to_string();
    SealedKey { kind: "challenge_of".to_owned(), name }
}

/// Where the page of a form token is kept.
pub(crate) fn form_place(token: &str) -> SealedKey {
    SealedKey { kind: "form".to_owned(), name: digest(token) }
}

/// Where a state is kept.
pub(crate) fn state_place(state: &str) -> SealedKey {
    SealedKey { kind: "state".to_owned(), name: digest(state) }
}

/// A moment from now.
pub(crate) fn after(pause: Duration) -> Option<SystemTime> {
    SystemTime::now().checked_add(pause)
}

fn digest(text: &str) -> String {
    to_hex(&Secret::new(text).sha256())
}
