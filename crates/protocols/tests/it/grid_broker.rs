//! A broker that answers as the name of the provider says. What it refuses is refused before a call is taken, so that
//! protocols whose calls are tasks have to say it by a status.

use std::time::Duration;

use toolmux_core::BoxFuture;
use toolmux_core::message::Message;
use toolmux_core::ports::broker::{
    Broker, ChallengeStatus, ConsentRequest, Finished, OAuthCallback, StartFrom, Started, TokenReply,
    TokenRequest,
};
use toolmux_core::refusal::{Challenge, Refusal};

/// Providers, each with the tool of the toolkit `Gate` that needs it.
pub(crate) const PROVIDERS: [(&str, &str); 4] = [
    ("consent", "Gate.Challenge"),
    ("busy", "Gate.Busy"),
    ("unavailable", "Gate.Closed"),
    ("internal", "Gate.Broken"),
];

#[derive(Debug)]
pub(crate) struct ScriptedBroker;

impl Broker for ScriptedBroker {
    fn token<'a>(&'a self, wanted: &'a TokenRequest<'a>) -> BoxFuture<'a, Result<TokenReply, Refusal>> {
        let retry_after = Duration::from_millis(1_500);
        let message = |text: &str| Message::public(text);
        let answer = match wanted.needed.id.as_str() {
            "consent" => Ok(TokenReply::Challenge(Challenge {
                id: "consent".into(),
                url: Some("https://allow.example/2".into()),
                check_url: Some("https://allow.example/2/check".into()),
            })),
            "busy" => Err(Refusal::Busy { message: message("Too many renewals at once"), retry_after }),
            "unavailable" => Err(Refusal::Unavailable {
                message: message("The provider is closed"),
                retry_after: Some(retry_after),
            }),
            "internal" => Err(Refusal::Internal(message("A token cannot be read").developer("bad seal"))),
            _ => Ok(TokenReply::UnknownProvider),
        };
        Box::pin(std::future::ready(answer))
    }

    fn show<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<ConsentRequest, Message>> {
        nobody_comes()
    }

    fn start<'a>(&'a self, _: &'a StartFrom<'a>) -> BoxFuture<'a, Result<Started, Message>> {
        nobody_comes()
    }

    fn finish<'a>(&'a self, _: &'a OAuthCallback<'a>) -> BoxFuture<'a, Result<Finished, Message>> {
        nobody_comes()
    }

    fn status<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<ChallengeStatus, Message>> {
        nobody_comes()
    }
}

fn nobody_comes<'a, T: Send + 'a>() -> BoxFuture<'a, Result<T, Message>> {
    Box::pin(std::future::ready(Err(Message::public("Nobody comes here"))))
}
