//! What a tool needs beside its arguments, and the grants that meet it.

use serde::{Deserialize, Serialize};

use crate::secret::Secret;

/// What a call must bring: tokens of a user, secrets, a user id.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requirements {
    /// Providers whose token of the user the tool needs.
    pub authorization: Vec<Authorization>,
    /// Names of secrets that the tool needs.
    pub secrets: Vec<String>,
    /// The tool acts for a user and must know which.
    pub user_id: bool,
    /// Who asks for what is missing.
    #[serde(skip)]
    pub asked_by: AskedBy,
}

/// Who asks the user for what a request does not bring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AskedBy {
    /// The gateway; a request without it never reaches the tool.
    #[default]
    Gateway,
    /// The source, for whatever the gateway has no way to obtain.
    Source,
}

impl Requirements {
    /// True when a call needs nothing but its arguments.
    pub fn is_empty(&self) -> bool {
        self.authorization.is_empty() && self.secrets.is_empty() && !self.user_id
    }
}

/// A token of one provider, with the scopes the tool needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Authorization {
    /// The provider.
    pub id: String,
    /// Scopes the token must have.
    #[serde(default)]
    pub scopes: Vec<String>,
}

/// Credentials that come with a request, for the tool and not for us.
#[derive(Clone, Debug, Default)]
pub struct Grants {
    /// Tokens by provider.
    pub authorization: Vec<(String, Secret)>,
    /// Secrets by name.
    pub secrets: Vec<(String, Secret)>,
    /// For whom the tool acts.
    pub user_id: Option<String>,
}

impl Grants {
    /// The token of a provider.
    pub fn token(&self, provider: &str) -> Option<&Secret> {
        find(&self.authorization, provider)
    }

    /// A secret by its name.
    pub fn secret(&self, id: &str) -> Option<&Secret> {
        find(&self.secrets, id)
    }
}

fn find<'a>(list: &'a [(String, Secret)], id: &str) -> Option<&'a Secret> {
    list.iter().find(|(name, _)| name == id).map(|(_, secret)| secret)
}
