//! Servers that say themselves whose tokens they take: toolmux finds the provider, registers itself there, and sends
//! the tokens it gets to that server alone.

use std::collections::HashMap;
use std::sync::Arc;

use http::StatusCode;
use serde_json::{Value, json};
use toolmux_core::memory::MemoryStore;
use toolmux_core::ports::store::Store;

use crate::auth::{complete, get};
use crate::auth_provider::Provider;
use crate::mcp_fixture::Served;
use crate::mcp_protected::{Protected, alice, alice_calls, allow, fronted, link, until_said};

async fn behind(protected: &Protected, store: &Arc<dyn Store>) -> Served {
    fronted(protected, HashMap::new(), json!({}), Arc::clone(store)).await
}

fn store() -> Arc<dyn Store> {
    Arc::new(MemoryStore::default())
}

/// The user allows a token, after which the tools are there.
async fn authorized(served: &Served) {
    allow(&alice_calls(served, "Up_authorize").await).await;
    let given = alice_calls(served, "Up_authorize").await;
    assert!(given.contains("2 tools can be called now"), "{given}");
    until_said("Up_read", async || alice(served, "tools/list", json!({})).await).await;
}

#[tokio::test]
async fn the_provider_that_a_server_names_knows_us_by_a_registration_of_our_own() {
    let provider = Provider::start().await;
    let protected = Protected::start(&provider.base).await;
    let store = store();
    let served = behind(&protected, &store).await;
    authorized(&served).await;
    assert!(alice_calls(&served, "Up_read").await.contains("did read"));
    let base = served.url.trim_end_matches("/mcp");
    let registered = provider.seen(|seen| seen.registered.clone());
    let [registered] = &registered[..] else { panic!("registered once: {registered:?}") };
    let redirect_uri = registered["redirect_uris"][0].as_str().expect("an address");
    let last = redirect_uri.strip_prefix(&format!("{base}/auth/callback/")).expect("ours");
    assert!(last.len() == 32 && last.bytes().all(|digit| digit.is_ascii_hexdigit()), "{last}");
    assert_eq!(registered["grant_types"], json!(["authorization_code", "refresh_token"]));
    assert_eq!(
        (&registered["token_endpoint_auth_method"], &registered["application_type"]),
        (&json!("client_secret_basic"), &json!("native"))
    );
    let resource = format!("{}/mcp", protected.base);
    assert_eq!(provider.seen(|seen| seen.resources.clone()), [resource.as_str(), resource.as_str()]);
    assert_eq!(provider.seen(|seen| seen.scopes_asked.clone()), ["read"], "what the server asked for");
    allow(&alice_calls(&served, "Up_write").await).await;
    assert!(alice_calls(&served, "Up_write").await.contains("did write"));
    assert_eq!(provider.seen(|seen| seen.scopes_asked.clone()), ["read", "read write"]);
    assert_eq!(provider.seen(|seen| seen.registered.len()), 1, "who we are is kept");
}

#[tokio::test]
async fn a_token_that_the_server_no_longer_takes_is_renewed_and_then_asked_for_anew() {
    let provider = Provider::start().await;
    let protected = Protected::start(&provider.base).await;
    let served = behind(&protected, &store()).await;
    authorized(&served).await;
    protected.seen(|seen| seen.rejects.push("Bearer access1".to_owned()));
    assert!(alice_calls(&served, "Up_read").await.contains("did read"));
    assert_eq!(provider.seen(|seen| (seen.refreshed, seen.scopes_asked.len())), (1, 1), "nobody was asked");
    protected.seen(|seen| seen.rejects.push("Bearer access2".to_owned()));
    let challenged = alice_calls(&served, "Up_read").await;
    assert_eq!(provider.seen(|seen| seen.refreshed), 1, "renewing what was just renewed helps nobody");
    allow(&challenged).await;
    assert!(alice_calls(&served, "Up_read").await.contains("did read"));
}

#[tokio::test]
async fn a_server_that_changes_its_provider_is_followed_and_the_old_one_is_not_mixed_up_with_the_new() {
    let (old, new) = (Provider::start().await, Provider::start().await);
    let protected = Protected::start(&old.base).await;
    let served = behind(&protected, &store()).await;
    authorized(&served).await;
    protected.seen(|seen| {
        seen.issuer.clone_from(&new.base);
        seen.rejects.extend(["Bearer access1".to_owned(), "Bearer access2".to_owned()]);
    });
    // Tokens of the new provider are told from those of the old by number.
    new.seen(|seen| seen.skip(2));
    allow(&alice_calls(&served, "Up_read").await).await;
    assert!(alice_calls(&served, "Up_read").await.contains("did read"));
    assert_eq!((old.seen(|seen| seen.registered.len()), new.seen(|seen| seen.registered.len())), (1, 1));
}

#[tokio::test]
async fn a_token_goes_to_no_other_server_than_the_one_it_was_asked_for() {
    let provider = Provider::start().await;
    let (first, second) = (Protected::start(&provider.base).await, Protected::start(&provider.base).await);
    let store = store();
    authorized(&behind(&first, &store).await).await;
    // The same name in the configuration, another address.
    let served = behind(&second, &store).await;
    let said = alice_calls(&served, "Up_authorize").await;
    assert!(said.contains("/auth/start/"), "{said}");
    assert_eq!(second.seen(|seen| seen.tokens.clone()), Vec::<String>::new());
}

/// The page that a user sees who is sent to a provider that cannot be trusted.
async fn refused(provider: &Provider, protected: &Protected, expect: &str) {
    let served = behind(protected, &store()).await;
    let said = alice_calls(&served, "Up_authorize").await;
    let (status, _, page) = get(link(&said), None).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{page}");
    assert!(page.contains(expect), "{page}");
    assert_eq!(provider.seen(|seen| seen.scopes_asked.clone()), Vec::<String>::new());
}

#[tokio::test]
async fn nobody_is_sent_to_a_provider_that_cannot_be_trusted() {
    let no_token = "gave no token";
    for says in [
        json!({ "issuer": "https://attacker.test" }),
        json!({ "code_challenge_methods_supported": ["plain"] }),
        json!({ "code_challenge_methods_supported": [] }),
        json!({ "registration_endpoint": null }),
        json!({ "token_endpoint": "http://elsewhere.test/token" }),
    ] {
        let provider = Provider::start().await;
        provider.seen(|seen| seen.says = says);
        refused(&provider, &Protected::start(&provider.base).await, no_token).await;
    }
    let provider = Provider::start().await;
    let protected = Protected::start(&provider.base).await;
    protected.seen(|seen| seen.resource = Some("https://evil.test/mcp".to_owned()));
    refused(&provider, &protected, no_token).await;
}

/// Whether a user comes through when the provider says of itself, and calls itself, like this.
async fn check_issuer(says: Value, iss: impl Fn(&str) -> Option<String>, expect: StatusCode) {
    let provider = Provider::start().await;
    let iss = iss(&provider.base);
    provider.seen(|seen| (seen.says, seen.iss) = (says, iss.clone()));
    let protected = Protected::start(&provider.base).await;
    let served = behind(&protected, &store()).await;
    let (status, page) = complete(link(&alice_calls(&served, "Up_authorize").await)).await;
    assert_eq!(status, expect, "{iss:?}: {page}");
}

#[tokio::test]
async fn an_answer_is_of_the_provider_that_was_asked() {
    let says = || json!({ "authorization_response_iss_parameter_supported": true });
    check_issuer(json!({}), |_| None, StatusCode::OK).await;
    check_issuer(says(), |base| Some(base.to_owned()), StatusCode::OK).await;
    check_issuer(says(), |_| None, StatusCode::BAD_REQUEST).await;
    check_issuer(says(), |base| Some(format!("{base}/")), StatusCode::BAD_REQUEST).await;
    check_issuer(json!({}), |_| Some("https://evil.test".to_owned()), StatusCode::BAD_REQUEST).await;
}

#[tokio::test]
async fn leave_to_renew_is_asked_for_where_the_provider_knows_it() {
    let provider = Provider::start().await;
    provider.seen(|seen| seen.says = json!({ "scopes_supported": ["read", "offline_access"] }));
    let protected = Protected::start(&provider.base).await;
    authorized(&behind(&protected, &store()).await).await;
    assert_eq!(provider.seen(|seen| seen.scopes_asked.clone()), ["read offline_access"]);
}

#[tokio::test]
async fn providers_can_read_who_we_are() {
    let provider = Provider::start().await;
    let served = behind(&Protected::start(&provider.base).await, &store()).await;
    let base = served.url.trim_end_matches("/mcp");
    let (status, _, document) = get(&format!("{base}/auth/client.json"), None).await;
    let document: Value = serde_json::from_str(&document).expect("JSON");
    assert_eq!(
        (status, &document["client_id"]),
        (StatusCode::OK, &json!(format!("{base}/auth/client.json")))
    );
    assert_eq!(document["redirect_uris"], json!([format!("{base}/auth/callback/client.json")]));
}
