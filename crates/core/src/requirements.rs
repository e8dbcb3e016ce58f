//! What a tool needs beside its arguments, and the grants that meet it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

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
    /// Its address.
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
