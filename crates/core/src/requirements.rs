//! What a tool needs besides its arguments, and the grants that meet it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::delivery::GrantName;
use crate::secret::Secret;

/// How many tokens that a server turned down are remembered.
const MOST_REJECTED: usize = 256;

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
    #[serde(default, skip_serializing_if = "AskedBy::is_somebody")]
    pub asked_by: AskedBy,
    /// Other sets, each of which is enough in place of this one. Configuration decides which one holds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alternatives: Vec<Requirements>,
}

/// Who asks the user for what a request does not bring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskedBy {
    /// The gateway; a request without it never reaches the tool.
    #[default]
    Gateway,
    /// The source, for whatever the gateway has no way to obtain.
    Source,
    /// Nobody: a tool is served only where configuration names what it needs.
    Nobody,
}

impl AskedBy {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
    fn is_somebody(&self) -> bool {
        *self != AskedBy::Nobody
    }
}

impl Requirements {
    /// True when a call needs nothing but its arguments.
    pub fn is_empty(&self) -> bool {
        self.authorization.is_empty() && self.secrets.is_empty() && !self.user_id
    }

    /// True when this set or one of its alternatives needs nothing.
    pub fn can_be_empty(&self) -> bool {
        self.is_empty() || self.alternatives.iter().any(Requirements::is_empty)
    }

    /// The first of this set and its alternatives that a configuration names; this set where callers can be asked for the
    /// rest. The error says what the configuration would have to name.
    pub fn chosen(&self, named: &GrantAllowlist) -> Result<Requirements, String> {
        if self.asked_by != AskedBy::Nobody && self.alternatives.is_empty() {
            return Ok(self.clone());
        }
        let sets = || std::iter::once(self).chain(&self.alternatives);
        let named = sets().find(|set| named.has_all(set));
        let named = named.or((self.asked_by != AskedBy::Nobody).then_some(self));
        let alone = |set: &Requirements| {
            let asked_by = if self.asked_by == AskedBy::Nobody { AskedBy::Gateway } else { self.asked_by };
            Requirements { asked_by, alternatives: Vec::new(), ..set.clone() }
        };
        named.map(alone).ok_or_else(|| {
            format!("it needs {}, and configuration does not name that for this source", self.in_words())
        })
    }

    /// This set and its alternatives, in words.
    pub fn in_words(&self) -> String {
        let sets = std::iter::once(self).chain(&self.alternatives);
        sets.map(|set| set.names().join(" and ")).collect::<Vec<_>>().join(", or ")
    }

    /// What is needed, in words.
    fn names(&self) -> Vec<String> {
        let secrets = self.secrets.iter().map(|id| format!("the secret `{id}`"));
        let tokens =
            self.authorization.iter().map(|needed| format!("a token of the provider `{}`", needed.id));
        secrets.chain(tokens).collect()
    }
}

/// A token of one provider, with the scopes the tool needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Authorization {
    /// The name of the provider.
    pub id: String,
    /// Scopes the token must have.
    #[serde(default)]
    pub scopes: Vec<String>,
    /// The server that the token is for, when the tool's source knows of one that can be asked whose tokens it takes.
    #[serde(skip)]
    pub server: Option<Arc<TokenServer>>,
}

impl Authorization {
    /// A token of this provider.
    pub fn new(id: impl Into<String>, scopes: Vec<String>) -> Self {
        Authorization { id: id.into(), scopes, server: None }
    }
}

/// A server that takes tokens of users, and what its source has learned of it.
#[derive(Debug)]
pub struct TokenServer {
    /// The address of the server.
    pub url: String,
    learned: Mutex<Learned>,
}

#[derive(Debug, Default)]
struct Learned {
    metadata: Option<String>,
    rejected: VecDeque<[u8; 32]>,
}

impl TokenServer {
    /// A server of which nothing is known yet.
    pub fn new(url: impl Into<String>) -> Self {
        TokenServer { url: url.into(), learned: Mutex::default() }
    }

    /// Where the server says that it describes itself.
    pub fn metadata(&self) -> Option<String> {
        self.learned(|learned| learned.metadata.clone())
    }

    /// The server says where it describes itself.
    pub fn describes_itself_at(&self, metadata: String) {
        self.learned(|learned| learned.metadata = Some(metadata));
    }

    /// The server did not take this token.
    pub fn reject(&self, token: &Secret) {
        let digest = token.sha256();
        self.learned(|learned| {
            if !learned.rejected.contains(&digest) {
                learned.rejected.push_back(digest);
            }
            if learned.rejected.len() > MOST_REJECTED {
                learned.rejected.pop_front();
            }
        });
    }

    /// True when the server did not take this token.
    pub fn has_rejected(&self, token: &Secret) -> bool {
        let digest = token.sha256();
        self.learned(|learned| learned.rejected.contains(&digest))
    }

    fn learned<T>(&self, read: impl FnOnce(&mut Learned) -> T) -> T {
        read(&mut self.learned.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What is learned of a server does not make it another.
impl PartialEq for TokenServer {
    fn eq(&self, other: &Self) -> bool {
        self.url == other.url
    }
}

impl Eq for TokenServer {}

/// What this server may give to a source, or to one tool, out of its own secrets and the tokens of users that it
/// keeps. Nothing unless configuration names it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GrantAllowlist {
    /// Names of secrets.
    pub secrets: Vec<String>,
    /// Providers whose tokens of users.
    pub providers: Vec<String>,
}

impl GrantAllowlist {
    /// True when the secret is named.
    pub fn has_secret(&self, id: &str) -> bool {
        self.secrets.iter().any(|named| named == id)
    }

    /// True when the provider is named.
    pub fn has_provider(&self, id: &str) -> bool {
        self.providers.iter().any(|named| named == id)
    }

    /// True when everything that is required is named.
    fn has_all(&self, required: &Requirements) -> bool {
        required.secrets.iter().all(|id| self.has_secret(id))
            && required.authorization.iter().all(|needed| self.has_provider(&needed.id))
    }
}

/// Credentials for a tool: what came with the request, and what this server added to it.
#[derive(Clone, Debug, Default)]
pub struct Grants {
    /// Tokens by provider.
    pub authorization: Vec<(String, Secret)>,
    /// Secrets by name.
    pub secrets: Vec<(String, Secret)>,
    /// For whom the tool acts.
    pub user_id: Option<String>,
    /// Which of them this server added from its own secrets and the tokens that it keeps; the others came with the
    /// request.
    pub supplied: Vec<GrantName>,
}

impl Grants {
    /// Adds a secret of this server.
    pub(crate) fn supply_secret(&mut self, id: &str, secret: Secret) {
        self.secrets.push((id.to_owned(), secret));
        self.supplied.push(GrantName::Secret(id.to_owned()));
    }

    /// Adds a token that this server keeps, in place of one that there may be.
    pub(crate) fn supply_token(&mut self, provider: &str, token: Secret) {
        self.authorization.retain(|(id, _)| id != provider);
        self.authorization.push((provider.to_owned(), token));
        if !self.has_supplied_token(provider) {
            self.supplied.push(GrantName::Token(provider.to_owned()));
        }
    }

    /// True when the token of a provider is one that this server keeps, and did not come with the request.
    pub fn has_supplied_token(&self, provider: &str) -> bool {
        self.supplied.iter().any(|name| matches!(name, GrantName::Token(id) if id == provider))
    }

    /// Removes what this server added. What was added for one tool must not reach another by a call that the
    /// first one makes.
    pub(crate) fn remove_supplied(&mut self) {
        for name in std::mem::take(&mut self.supplied) {
            match name {
                GrantName::Token(provider) => self.authorization.retain(|(id, _)| *id != provider),
                GrantName::Secret(secret) => self.secrets.retain(|(id, _)| *id != secret),
                GrantName::User => {}
            }
        }
    }

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
