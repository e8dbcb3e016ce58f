//! Whose a token is.

use serde::{Deserialize, Serialize};
use toolmux_core::ports::store::SealedKey;

/// Whose token: tokens obtained through one caller are never given to another.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Owner {
    /// The name of the provider that gave the token.
    pub provider: String,
    /// The caller it was obtained through.
    pub caller: String,
    /// The user it is of; empty when the caller acts for itself.
    pub user: String,
}

impl Owner {
    /// Where the token is kept.
    pub(crate) fn place(&self) -> SealedKey {
        let name = serde_json::json!([self.provider, self.caller, self.user]).to_string();
        SealedKey { kind: "token".to_owned(), name }
    }

    /// The owner whose token is kept under this name.
    pub(crate) fn read(name: &str) -> Option<Self> {
        let [provider, caller, user]: [String; 3] = serde_json::from_str(name).ok()?;
        Some(Owner { provider, caller, user })
    }
}
