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
    fn token<'a>(&'a self, wanted: &'a TokenRequest<'a>) -> BoxFuture<'a, Result<TokenReply, Refusal>>;

    /// A browser opens a challenge: what its user is told before anything happens.
    fn show<'a>(&'a self, challenge: &'a str) -> BoxFuture<'a, Result<ConsentRequest, Message>>;

    /// The user goes on from there: where the provider asks for consent.
    fn start<'a>(&'a self, from: &'a StartFrom<'a>) -> BoxFuture<'a, Result<Started, Message>>;

    /// The user comes back from the provider.
    fn finish<'a>(&'a self, came_back: &'a OAuthCallback<'a>) -> BoxFuture<'a, Result<Finished, Message>>;

    /// What providers that know clients by a document about them are told of this server, as JSON.
    fn about_us(&self) -> Option<String> {
        None
    }

    /// How a challenge stands. One that is unknown or has expired has failed.
    fn status<'a>(&'a self, challenge: &'a str) -> BoxFuture<'a, Result<ChallengeStatus, Message>>;
}

/// Which token is wanted.
#[derive(Clone, Copy, Debug)]
pub struct TokenRequest<'a> {
    /// Who asks. Tokens obtained through one caller are never given to another.
    pub caller: &'a str,
    /// The subject of the token that the caller showed. Only this subject, or the user it acts for, may allow a token.
    pub subject: Option<&'a str>,
    /// The tool, or the source, that needs it.
    pub needed_by: &'a str,
    /// For whom; empty when the caller acts for itself.
    pub user: &'a str,
    /// Provider and scopes.
    pub needed: &'a Authorization,
}

/// What a broker has to offer.
#[derive(Clone, Debug)]
pub enum TokenReply {
    /// A token that is good now.
    Token(Secret),
    /// The user must allow it first.
    Challenge(Challenge),
    /// No provider of that name is known.
    UnknownProvider,
}

/// What a user is told before a provider is asked for anything, and what the page that tells it must send back.
#[derive(Clone, Debug)]
pub struct ConsentRequest {
    /// The name of the caller that asks for the token.
    pub caller: String,
    /// Whom the user must prove to be. Absent where callers show no tokens.
    pub subject: Option<String>,
    /// The host where the subject can sign in to prove it; otherwise it takes a token that is good here.
    pub sign_in_host: Option<String>,
    /// For whom; empty when the caller acts for itself.
    pub user: String,
    /// The tool, or the source, that needs the token.
    pub needed_by: String,
    /// The provider's name.
    pub provider: String,
    /// The host where the provider asks for consent.
    pub provider_host: String,
    /// What the token would allow.
    pub scopes: Vec<String>,
    /// Sent back by the page's form. Good once, and only from the browser that the page was shown in.
    pub form_token: Secret,
    /// What that browser must show together with it.
    pub browser: Secret,
}

/// A user goes on to the provider.
#[derive(Clone, Copy, Debug)]
pub struct StartFrom<'a> {
    /// The challenge that the page was shown for.
    pub challenge: &'a str,
    /// What the page's form sends back.
    pub form_token: &'a str,
    /// What the browser was given with the page.
    pub form_browser: Option<&'a str>,
    /// What the browser was given by an earlier start.
    pub browser: Option<&'a str>,
    /// How the user proves who it is.
    pub proof: Proof<'a>,
}

/// How a user proves to be the subject that asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof<'a> {
    /// Not at all.
    Nothing,
    /// By a token that is good here, of this subject.
    Token(&'a str),
    /// By signing in at who issues such tokens, which comes first then.
    SignIn,
}

/// A user on the way to the provider.
#[derive(Clone, Debug)]
pub struct Started {
    /// Where the provider asks for consent.
    pub url: String,
    /// What the user's browser must show when it comes back.
    pub browser: Secret,
}

/// What a browser brings back from a provider.
#[derive(Clone, Debug)]
pub struct OAuthCallback<'a> {
    /// The last part of the redirect URI that it came to. Each provider has its own.
    pub callback: &'a str,
    /// Parameters of the address.
    pub parameters: &'a [(String, String)],
    /// What the browser was given at the start.
    pub browser: Option<&'a str>,
}

/// What became of a user who came back.
#[derive(Clone, Debug)]
pub enum Finished {
    /// The challenge is completed.
    Completed {
        /// The provider whose token is there now.
        provider: String,
    },
    /// The user has signed in as the subject that asked, and goes on to the provider.
    SignedIn(Started),
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
