//! Tokens that a source turns down: the broker is asked for another, and the call is sent once more at most.

use std::sync::{Arc, Mutex};

use serde_json::json;
use toolmux_core::BoxFuture;
use toolmux_core::delivery::{Delivery, GrantName, Place};
use toolmux_core::gateway::Settings;
use toolmux_core::message::Message;
use toolmux_core::ports::broker::{
    Broker, ChallengeStatus, ConsentRequest, Finished, OAuthCallback, StartFrom, Started, TokenReply,
    TokenRequest,
};
use toolmux_core::progress::Progress;
use toolmux_core::refusal::{Challenge, Refusal};
use toolmux_core::requirements::{Authorization, Requirements};
use toolmux_core::secret::Secret;
use toolmux_core::sources::ToolSettings;
use toolmux_core::toolset::Pattern;

use crate::fixture::{Fixture, anyone, gateway, line, request, tool};

/// Gives tokens in this order, the first last; without any it asks the user.
#[derive(Debug)]
struct Tokens(Mutex<Vec<&'static str>>);

impl Broker for Tokens {
    fn token<'a>(&'a self, wanted: &'a TokenRequest<'a>) -> BoxFuture<'a, Result<TokenReply, Refusal>> {
        assert_eq!(
            (wanted.needed.id.as_str(), &wanted.needed.scopes[..]),
            ("github", &["more".to_owned()][..])
        );
        let given = self.0.lock().expect("not poisoned").pop();
        let url = Some("https://consent.test".to_owned());
        let asked = Challenge { id: "github".to_owned(), url, check_url: None };
        let given = given.map_or(TokenReply::Challenge(asked), |token| TokenReply::Token(Secret::new(token)));
        Box::pin(std::future::ready(Ok(given)))
    }

    fn show<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<ConsentRequest, Message>> {
        unreachable!("nobody opens a link")
    }

    fn start<'a>(&'a self, _: &'a StartFrom<'a>) -> BoxFuture<'a, Result<Started, Message>> {
        unreachable!("nobody goes on")
    }

    fn finish<'a>(&'a self, _: &'a OAuthCallback<'a>) -> BoxFuture<'a, Result<Finished, Message>> {
        unreachable!("nobody comes back")
    }

    fn status<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<ChallengeStatus, Message>> {
        unreachable!("nobody looks")
    }
}

/// What configuration says of a tool that may have a token of the provider.
fn named() -> ToolSettings {
    let authorization = vec![Authorization::new("github", Vec::new())];
    let requires = Requirements { authorization, ..Requirements::default() };
    ToolSettings { requires: Some(requires), ..ToolSettings::default() }
}

/// A caller brings a token that the source does not take; gives the answer and how often the tool was asked.
async fn ask(tool_name: &str, broker: &[&'static str], own: ToolSettings) -> (String, usize) {
    let source = Fixture::with(vec![tool(tool_name)]);
    let broker: Arc<dyn Broker> = Arc::new(Tokens(Mutex::new(broker.to_vec())));
    let tools = vec![(Pattern::new("Kit.*"), own)];
    let gateway = gateway(Settings { broker: Some(broker), tools, ..Settings::default() }, &source).await;
    let mut wish = request(&format!("Kit_{tool_name}"), json!({}));
    wish.grants.authorization.push(("github".into(), Secret::new("old")));
    let answer = line(&gateway.call(&anyone(&gateway), wish, &Progress::unheard()).await);
    (answer, source.ran())
}

/// What the broker has, the answer, and how often the tool was asked.
async fn check(broker: &[&'static str], expect: &str, runs: usize) {
    let (answer, ran) = ask("picky", broker, named()).await;
    assert!(answer.contains(expect), "{answer}");
    assert_eq!(ran, runs, "{answer}");
}

#[tokio::test]
async fn a_source_is_not_given_another_token_that_configuration_does_not_name_for_it() {
    let (answer, ran) = ask("picky", &["good"], ToolSettings::default()).await;
    assert_eq!((answer.as_str(), ran), ("challenged: The tool needs a token of `github`", 1));
}

#[tokio::test]
async fn a_renewed_token_that_is_delivered_as_an_argument_is_the_new_one() {
    let grant = GrantName::Token("github".into());
    let deliver = vec![Delivery { grant, place: Place::Argument("token".into()) }];
    let (answer, ran) = ask("picky_arguments", &["good"], ToolSettings { deliver, ..named() }).await;
    assert_eq!((answer.as_str(), ran), (r#"{"token":"good"}"#, 2));
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
