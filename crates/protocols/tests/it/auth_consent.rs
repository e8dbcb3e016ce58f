//! The page that says who asks, who may go on from it, and where a provider's answer has to arrive.

use std::collections::HashMap;
use std::sync::Arc;

use http::StatusCode;
use serde_json::json;
use toolmux_broker::{Base, OAuthBroker, SealingKey};
use toolmux_core::memory::MemoryStore;
use toolmux_core::message::Message;
use toolmux_core::ports::broker::{
    Broker, ChallengeStatus, ConsentRequest, Finished, OAuthCallback, Proof, StartFrom, Started, TokenReply,
    TokenRequest,
};
use toolmux_core::requirements::{Authorization, TokenServer};
use url::Url;

use crate::auth::{Stage, get, go_on, location, open, stage, url};
use crate::auth_provider::Provider;
use crate::mcp_protected::Protected;

#[tokio::test]
async fn a_link_says_who_asks_for_what_and_leads_nowhere() {
    let stage = stage().await;
    let challenge = stage.challenge("alice", Some("<b>ann")).await;
    let start = url(&challenge, "url");
    let (status, headers, page) = get(&start, None).await;
    assert_eq!((status, headers.get("location")), (StatusCode::OK, None));
    for told in
        ["alice", "&lt;b&gt;ann", "Kit.Needy", "github (127.0.0.1)", "<li>repo</li>", "offline_access"]
    {
        assert!(page.contains(told), "{told} is not in {page}");
    }
    assert!(!page.contains("<b>") && !page.contains("type=\"password\""), "{page}");
    for (name, value) in [
        ("referrer-policy", "same-origin"),
        ("cache-control", "no-store"),
        ("x-frame-options", "DENY"),
        ("x-content-type-options", "nosniff"),
    ] {
        assert_eq!(headers[name], value);
    }
    let policy = headers["content-security-policy"].to_str().expect("text");
    assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
    assert!(policy.ends_with("base-uri 'none'; frame-ancestors 'none'"), "{policy}");
    let cookie = headers["set-cookie"].to_str().expect("text");
    assert!(cookie.contains("; HttpOnly; SameSite=Strict"), "{cookie}");
    assert_eq!(stage.status(&challenge).await, "pending");
    assert_eq!(stage.provider.seen(|seen| seen.clients.len()), 0);
}

#[tokio::test]
async fn a_form_is_good_once_and_only_from_the_page_it_is_of() {
    let stage = stage().await;
    let (alice, bob) = (stage.challenge("alice", None).await, stage.challenge("bob", None).await);
    let (alice, bob) = (url(&alice, "url"), url(&bob, "url"));
    let mut shown = open(&alice).await;
    let elsewhere = open(&alice).await;
    shown.cookie.clone_from(&elsewhere.cookie);
    assert_eq!(go_on(&alice, &shown, "").await.0, StatusCode::BAD_REQUEST, "of another browser");
    assert_eq!(go_on(&bob, &elsewhere, "").await.0, StatusCode::BAD_REQUEST, "of another link");
    assert_eq!(go_on(&alice, &elsewhere, "").await.0, StatusCode::BAD_REQUEST, "it is used up by that");
    let shown = open(&alice).await;
    let (status, headers, _) = go_on(&alice, &shown, "").await;
    assert_eq!(status, StatusCode::SEE_OTHER);
    assert!(location(&headers).starts_with(&stage.provider.base));
    assert!(headers["set-cookie"].to_str().expect("text").contains("HttpOnly; SameSite=Lax"));
    assert_eq!(go_on(&alice, &shown, "").await.0, StatusCode::BAD_REQUEST, "a second time");
}

#[tokio::test]
async fn ids_of_challenges_are_kept_as_digests() {
    let stage = stage().await;
    let start = url(&stage.challenge("alice", None).await, "url");
    let shown = open(&start).await;
    let id = start.rsplit('/').next().expect("an id");
    for kind in ["challenge", "challenge_decision", "challenge_of", "form"] {
        let names = stage.store.sealed_list(kind).await.unwrap_or_default();
        assert_eq!(names.len(), 1, "{kind}");
        assert!(!names[0].contains(id) && !names[0].contains(&shown.form), "{kind}: {names:?}");
    }
}

/// The id of the challenge that a caller by token gets.
async fn challenge(broker: &OAuthBroker, subject: &str, needed: &Authorization) -> String {
    let caller = format!("jwt:{subject}");
    let wanted = TokenRequest {
        caller: &caller,
        subject: Some(subject),
        needed_by: "Kit.Needy",
        user: subject,
        needed,
    };
    match broker.token(&wanted).await {
        Ok(TokenReply::Challenge(challenge)) => {
            challenge.url.expect("a link").rsplit('/').next().expect("an id").to_owned()
        }
        other => panic!("{other:?}"),
    }
}

/// Goes on from a page, with what the user proved.
async fn start(broker: &OAuthBroker, id: &str, proof: Proof<'_>) -> Result<Started, Message> {
    let ConsentRequest { form_token, browser, subject, .. } = broker.show(id).await.expect("a page");
    assert!(subject.is_some(), "the page asks who it is");
    let from = StartFrom {
        challenge: id,
        form_token: form_token.expose(),
        form_browser: Some(browser.expose()),
        browser: None,
        proof,
    };
    broker.start(&from).await
}

/// Comes back with the provider's answer, which says whose account it is.
async fn come_back(stage: &Stage, started: &Started, account: &str) -> Result<Finished, Message> {
    stage.provider.seen(|seen| seen.account = Some(account.to_owned()));
    let (_, headers, _) = get(&started.url, None).await;
    let back: Url = location(&headers).parse().expect("an address");
    let parameters: Vec<(String, String)> = back.query_pairs().into_owned().collect();
    let browser = Some(started.browser.expose());
    stage.broker.finish(&OAuthCallback { callback: "github", parameters: &parameters, browser }).await
}

/// The same; whether that was the end of it, and what became of the challenge.
async fn finish(stage: &Stage, id: &str, started: &Started, account: &str) -> (bool, ChallengeStatus) {
    let finished = come_back(stage, started, account).await;
    let completed = matches!(finished, Ok(Finished::Completed { .. }));
    (completed, stage.broker.status(id).await.expect("a status"))
}

#[tokio::test]
async fn who_cannot_prove_to_be_the_subject_does_not_go_on() {
    let stage = stage().await;
    let needed = Authorization::new("github", vec!["repo".into()]);
    let id = challenge(&stage.broker, "ann", &needed).await;
    for proof in [Proof::Nothing, Proof::Token(""), Proof::Token("eve"), Proof::Token("jwt:ann")] {
        assert!(start(&stage.broker, &id, proof).await.is_err(), "{proof:?}");
    }
    let started = start(&stage.broker, &id, Proof::Token("ann")).await.expect("it is ann");
    assert_eq!(finish(&stage, &id, &started, "ann").await, (true, ChallengeStatus::Completed));
}

#[tokio::test]
async fn an_account_of_somebody_else_is_not_taken() {
    let stage = stage().await;
    let needed = Authorization::new("github", vec!["repo".into()]);
    let id = challenge(&stage.broker, "ann", &needed).await;
    let started = start(&stage.broker, &id, Proof::Token("ann")).await.expect("it is ann");
    assert_eq!(finish(&stage, &id, &started, "eve").await, (false, ChallengeStatus::Failed));
    assert_eq!(stage.broker.owners().await.map_or(1, |owners| owners.len()), 0);
    assert_eq!(stage.provider.seen(|seen| seen.revoked.clone()), ["access1"], "nobody here may use it");
}

#[tokio::test]
async fn signing_in_at_who_issues_tokens_proves_who_it_is() {
    let stage = stage().await;
    let needed = Authorization::new("github", vec!["repo".into()]);
    let id = challenge(&stage.broker, "ann", &needed).await;
    let shown = stage.broker.show(&id).await.expect("a page");
    assert_eq!(shown.sign_in_host.as_deref(), Some("127.0.0.1"));
    let started = start(&stage.broker, &id, Proof::SignIn).await.expect("a place to sign in at");
    assert!(come_back(&stage, &started, "eve").await.is_err(), "somebody else signed in");
    let started = start(&stage.broker, &id, Proof::SignIn).await.expect("a place to sign in at");
    let Ok(Finished::SignedIn(led)) = come_back(&stage, &started, "ann").await else { panic!("it is ann") };
    assert_eq!(stage.broker.status(&id).await, Ok(ChallengeStatus::Pending), "nothing is allowed by that");
    assert_eq!(stage.broker.owners().await.map_or(1, |owners| owners.len()), 0);
    assert_eq!(finish(&stage, &id, &led, "ann").await, (true, ChallengeStatus::Completed));
    assert_eq!(
        stage.provider.seen(|seen| seen.scopes_asked.clone()),
        ["openid", "openid", "repo offline_access"]
    );
}

#[tokio::test]
async fn without_a_place_to_sign_in_at_a_token_is_asked_for() {
    let protected = Protected::start("https://issuer.example").await;
    let base = Base::default();
    base.set("http://127.0.0.1:1".to_owned()).expect("set once");
    let provider = Provider::start().await;
    protected.seen(|seen| seen.issuer.clone_from(&provider.base));
    let broker =
        OAuthBroker::new(HashMap::new(), Arc::new(MemoryStore::default()), SealingKey::new([1; 32]), base)
            .with_token_issuer(Some(provider.base.clone()));
    let mut needed = Authorization::new("Up", Vec::new());
    needed.server = Some(Arc::new(TokenServer::new(format!("{}/mcp", protected.base))));
    let id = challenge(&broker, "ann", &needed).await;
    assert_eq!(broker.show(&id).await.expect("a page").sign_in_host, None);
    assert!(start(&broker, &id, Proof::SignIn).await.is_err(), "a server's own provider signs nobody in");
}

/// How toolmux makes itself known to a provider that a server names: the client and the redirect URI.
async fn known_as(says: serde_json::Value, public_url: &str) -> (String, String) {
    let provider = Provider::start().await;
    provider.seen(|seen| seen.says = says);
    let protected = Protected::start(&provider.base).await;
    let base = Base::default();
    base.set(public_url.to_owned()).expect("set once");
    let broker =
        OAuthBroker::new(HashMap::new(), Arc::new(MemoryStore::default()), SealingKey::new([1; 32]), base);
    let mut needed = Authorization::new("Up", Vec::new());
    needed.server = Some(Arc::new(TokenServer::new(format!("{}/mcp", protected.base))));
    let id = challenge(&broker, "ann", &needed).await;
    let started = start(&broker, &id, Proof::Token("ann")).await.expect("the provider is good");
    get(&started.url, None).await;
    provider.seen(|seen| (seen.clients.remove(0), seen.redirect_uris.remove(0)))
}

#[tokio::test]
async fn a_document_about_us_is_shown_only_to_providers_that_name_themselves() {
    let (names, documents) =
        ("authorization_response_iss_parameter_supported", "client_id_metadata_document_supported");
    let document = known_as(json!({ documents: true, names: true }), "https://tools.test").await;
    assert_eq!(
        document,
        (
            "https://tools.test/auth/client.json".to_owned(),
            "https://tools.test/auth/callback/client.json".to_owned()
        )
    );
    for (says, public_url) in [
        (json!({ documents: true }), "https://tools.test"),
        (json!({ documents: true, names: true }), "http://127.0.0.1:1"),
    ] {
        let (client, redirect_uri) = known_as(says, public_url).await;
        assert_eq!(client, "toolmux", "it registers itself");
        let last = redirect_uri.strip_prefix(&format!("{public_url}/auth/callback/")).expect("ours");
        assert!(last.len() == 32 && last != "client.json", "one of its own: {last}");
    }
}
