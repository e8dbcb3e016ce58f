//! Tokens that a source turns down: the broker is asked for another, and the call is sent once more at most.

use std::sync::{Arc, Mutex};

use serde_json::json;
use toolmux_core::BoxFuture;
use toolmux_core::broker::{
    Broker, Brokered, CameBack, ChallengeStatus, Finished, StartFrom, Started, Wanted,
};
use toolmux_core::gateway::Settings;
use toolmux_core::message::Message;
use toolmux_core::progress::Progress;
use toolmux_core::refusal::{Challenge, Refusal};
use toolmux_core::secret::Secret;

use crate::fixture::{Fixture, anyone, gateway, line, request, tool};

/// Gives tokens in this order, the first last; without any it asks the user.
#[derive(Debug)]
struct Tokens(Mutex<Vec<&'static str>>);

impl Broker for Tokens {
    fn token<'a>(&'a self, wanted: &'a Wanted<'a>) -> BoxFuture<'a, Result<Brokered, Refusal>> {
        assert_eq!(
            (wanted.needed.id.as_str(), &wanted.needed.scopes[..]),
            ("github", &["more".to_owned()][..])
        );
        let given = self.0.lock().expect("not poisoned").pop();
        let url = Some("https://consent.test".to_owned());
        let asked = Challenge { id: "github".to_owned(), url, check_url: None };
        let given = given.map_or(Brokered::Challenge(asked), |token| Brokered::Token(Secret::new(token)));
        Box::pin(std::future::ready(Ok(given)))
    }

    fn start<'a>(&'a self, _: &'a StartFrom<'a>) -> BoxFuture<'a, Result<Started, Message>> {
        unreachable!("nobody opens a link")
    }

    fn finish<'a>(&'a self, _: &'a CameBack<'a>) -> BoxFuture<'a, Result<Finished, Message>> {
        unreachable!("nobody comes back")
    }

    fn status<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<ChallengeStatus, Message>> {
        unreachable!("nobody looks")
    }
}

/// A caller brings a token that the source does not take; what the broker has, the answer, and how often the tool
/// was asked.
async fn check(broker: &[&'static str], expect: &str, runs: usize) {
    let source = Fixture::with(vec![tool("picky")]);
    let broker: Arc<dyn Broker> = Arc::new(Tokens(Mutex::new(broker.to_vec())));
    let gateway = gateway(Settings { broker: Some(broker), ..Settings::default() }, &source).await;
    let mut wish = request("Kit_picky", json!({}));
    wish.grants.authorization.push(("github".into(), Secret::new("old")));
    let answer = line(&gateway.call(&anyone(&gateway), wish, &Progress::unheard()).await);
    assert!(answer.contains(expect), "{answer}");
    assert_eq!(source.ran(), runs, "{answer}");
}

#[tokio::test]
async fn a_call_is_sent_again_with_another_token() {
    check(&["good"], "2", 2).await;
}

#[tokio::test]
async fn a_user_who_can_help_is_asked() {
    check(&[], "https://consent.test", 1).await;
    check(&["bad"], "https://consent.test", 2).await;
}

#[tokio::test]
async fn a_call_is_not_sent_for_ever() {
    let told = "unavailable: The server does not accept the user's token";
    check(&["old"], told, 1).await;
    check(&["worse", "bad"], told, 2).await;
}
