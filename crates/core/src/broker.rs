//! The port that tokens of users come in by: who keeps them, and how a user allows a new one.

use std::fmt;

use crate::BoxFuture;
use crate::message::Message;
use crate::refusal::{Challenge, Refusal};
use crate::requirements::Authorization;
use crate::secret::Secret;

/// Keeps tokens of users and asks users for new ones. It knows the web; the gateway does not.
pub trait Broker: Send + Sync + fmt::Debug {
    /// The token a tool needs, or where the user can allow it.
    fn token<'a>(&'a self, wanted: &'a Wanted<'a>) -> BoxFuture<'a, Result<Brokered, Refusal>>;

    /// The user opens a challenge: where the provider asks for consent.
    fn start<'a>(&'a self, from: &'a StartFrom<'a>) -> BoxFuture<'a, Result<Started, Message>>;

    /// The user comes back from the provider.
    fn finish<'a>(&'a self, came_back: &'a CameBack<'a>) -> BoxFuture<'a, Result<Finished, Message>>;

    /// What providers that know clients by a document about them are told of us, as JSON.
    fn about_us(&self) -> Option<String> {
        None
    }

    /// How a challenge stands. One that is unknown or has expired has failed.
    fn status<'a>(&'a self, challenge: &'a str) -> BoxFuture<'a, Result<ChallengeStatus, Message>>;
}

/// Which token is wanted.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// Who asks. Tokens obtained through one caller are never given to another.
    pub caller: &'a str,
    /// For whom; empty when the caller acts for itself.
    pub user: &'a str,
    /// Provider and scopes.
    pub needed: &'a Authorization,
}

/// What a broker has to offer.
#[derive(Clone, Debug)]
pub enum Brokered {
    /// A token that is good now.
    Token(Secret),
    /// The user must allow it first.
    Challenge(Challenge),
    /// No provider of that name is known.
    UnknownProvider,
}

/// A user's browser opens a challenge.
#[derive(Clone, Copy, Debug)]
pub struct StartFrom<'a> {
    /// Which.
    pub challenge: &'a str,
    /// What the browser was given by an earlier start.
    pub browser: Option<&'a str>,
}

/// A challenge that the user has opened.
#[derive(Clone, Debug)]
pub struct Started {
    /// Where the provider asks for consent.
    pub url: String,
    /// What the user's browser must show when it comes back.
    pub browser: Secret,
}

/// What a browser brings back from a provider.
#[derive(Clone, Debug)]
pub struct CameBack<'a> {
    /// Parameters of the address.
    pub parameters: &'a [(String, String)],
    /// What the browser was given at the start.
    pub browser: Option<&'a str>,
}

/// A challenge that the user has completed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// The provider whose token is there now.
    pub provider: String,
}

/// How a challenge stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChallengeStatus {
    /// The user has not come back yet.
    Pending,
    /// The token is there.
    Completed,
    /// It will not be.
    Failed,
}
