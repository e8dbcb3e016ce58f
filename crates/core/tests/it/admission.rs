//! Who may ask.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use arc_swap::ArcSwap;
use jsonwebtoken::jwk::JwkSet;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::{Value, json};
use toolmux_core::gateway::{Admission, ApiKey, Credential, Gateway, JwtRules, Settings, TokenToolset};
use toolmux_core::memory::MemoryStore;
use toolmux_core::progress::Progress;
use toolmux_core::secret::Secret;
use toolmux_core::toolset::{Pattern, Toolset};

use crate::fixture::{Fixture, gateway, line, request, tool};

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs()
}

fn with_tokens(jwt: JwtRules) -> Arc<Gateway> {
    let admission = Admission { keys: Vec::new(), jwt: Some(jwt) };
    Gateway::new(Settings { admission, ..Settings::default() }, Arc::new(MemoryStore::default()))
}

fn no_keys() -> Arc<ArcSwap<JwkSet>> {
    Arc::new(ArcSwap::from_pointee(JwkSet { keys: Vec::new() }))
}

fn secret_rules() -> JwtRules {
    JwtRules {
        secret: Some(Secret::new("right")),
        keys: no_keys(),
        audience: vec![],
        issuer: None,
        scopes: vec![],
        toolset: TokenToolset::Everything,
    }
}

fn hs256(claims: &Value, secret: &str) -> String {
    encode(&Header::new(Algorithm::HS256), claims, &EncodingKey::from_secret(secret.as_bytes()))
        .expect("a token")
}

fn check_token(claims: Value, secret: &str, expect: Option<&str>) {
    let rules = JwtRules { audience: vec!["toolmux".into()], ..secret_rules() };
    let token = hs256(&claims, secret);
    let caller = with_tokens(rules).admit(Credential::Bearer(&token), None);
    assert_eq!(caller.ok().map(|caller| caller.name().to_owned()).as_deref(), expect, "{claims}");
}

#[test]
fn tokens_need_a_good_signature_an_end_and_the_right_audience() {
    let soon = now() + 600;
    let aud = "toolmux";
    check_token(json!({ "sub": "ann", "exp": soon, "aud": aud }), "right", Some("jwt:ann"));
    check_token(json!({ "sub": "ann", "exp": soon, "aud": ["x", aud] }), "right", Some("jwt:ann"));
    check_token(json!({ "sub": "ann", "exp": soon }), "right", None);
    check_token(json!({ "exp": soon, "aud": aud }), "right", None);
    check_token(json!({ "sub": "", "exp": soon, "aud": aud }), "right", None);
    check_token(json!({ "sub": "ann", "exp": soon, "aud": aud }), "wrong", None);
    check_token(json!({ "sub": "ann", "aud": aud }), "right", None);
    check_token(json!({ "sub": "ann", "exp": now() - 1, "aud": aud }), "right", None);
    check_token(json!({ "sub": "ann", "exp": soon, "nbf": soon, "aud": aud }), "right", None);
    check_token(json!({ "sub": "ann", "exp": soon, "aud": "other" }), "right", None);
}

#[test]
fn a_token_that_names_no_toolset_opens_what_the_rules_say() {
    let check = |toolset: TokenToolset, claims: Value, expect: &[&str]| {
        let gateway = with_tokens(JwtRules { toolset, ..secret_rules() });
        let token = hs256(&claims, "right");
        let caller = gateway.admit(Credential::Bearer(&token), None).expect("a good token");
        let toolsets: Vec<&str> = caller.toolsets().map(|name| &**name).collect();
        assert_eq!(toolsets, expect, "{claims}");
    };
    let claims = json!({ "sub": "ann", "exp": now() + 600 });
    let named = json!({ "sub": "ann", "exp": now() + 600, "toolset": "home" });
    check(TokenToolset::Everything, claims.clone(), &[]);
    check(TokenToolset::Named("work".into()), claims.clone(), &["work"]);
    // No toolset has an empty name, so none of its tools is there.
    check(TokenToolset::Nothing, claims, &[""]);
    check(TokenToolset::Nothing, named.clone(), &["home"]);
    check(TokenToolset::Everything, named, &["home"]);
}

#[test]
fn whoever_shows_a_bad_token_does_not_learn_why_it_is_bad() {
    let token = hs256(&json!({ "sub": "ann", "exp": now() - 1 }), "right");
    let refusal = with_tokens(secret_rules()).admit(Credential::Bearer(&token), None);
    let message = refusal.expect_err("it is over").message();
    assert_eq!(message.developer, None);
    assert_eq!(message.public, "The credential is neither a known key nor a valid token");
}

#[test]
fn tokens_of_another_issuer_or_with_too_few_scopes_are_refused() {
    let check = |claims: Value, expect: (bool, bool)| {
        let issuer = Some("https://issuer.example".to_owned());
        let gateway = with_tokens(JwtRules { issuer, scopes: vec!["tools".into()], ..secret_rules() });
        let token = hs256(&claims, "right");
        let shown = Credential::Bearer(&token);
        assert_eq!(
            (gateway.admit(shown, None).is_ok(), gateway.admission().lacks_scope(shown)),
            expect,
            "{claims}"
        );
    };
    let exp = now() + 600;
    check(
        json!({ "sub": "ann", "iss": "https://issuer.example", "scope": "a tools", "exp": exp }),
        (true, false),
    );
    check(
        json!({ "sub": "ann", "iss": "https://issuer.example", "scope": "toolsmith", "exp": exp }),
        (false, true),
    );
    check(
        json!({ "sub": "ann", "iss": "https://other.example", "scope": "tools", "exp": exp }),
        (false, false),
    );
    check(json!({ "sub": "ann", "scope": "tools", "exp": exp }), (false, false));
}

#[test]
fn a_token_without_signature_is_refused() {
    let rules = secret_rules();
    // {"alg":"none"} . {"sub":"ann","exp":9999999999} .
    let token = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbm4iLCJleHAiOjk5OTk5OTk5OTl9.";
    assert!(with_tokens(rules).admit(Credential::Bearer(token), None).is_err());
}

#[test]
fn a_public_key_opens_tokens_signed_with_its_private_half() {
    let rng = aws_lc_rs::rand::SystemRandom::new();
    let pair = aws_lc_rs::signature::EcdsaKeyPair::generate_pkcs8(
        &aws_lc_rs::signature::ECDSA_P256_SHA256_FIXED_SIGNING,
        &rng,
    )
    .expect("a key");
    let key = EncodingKey::from_ec_der(pair.as_ref());
    let mut jwk = jsonwebtoken::jwk::Jwk::from_encoding_key(&key, Algorithm::ES256).expect("a public half");
    jwk.common.key_id = Some("k1".into());
    let keys = Arc::new(ArcSwap::from_pointee(JwkSet { keys: vec![jwk] }));
    let gateway = with_tokens(JwtRules { secret: None, keys, ..secret_rules() });
    let token = |kid: &str| {
        let header = Header { kid: Some(kid.into()), ..Header::new(Algorithm::ES256) };
        encode(&header, &json!({ "sub": "ann", "exp": now() + 60 }), &key).expect("a token")
    };
    assert!(gateway.admit(Credential::Bearer(&token("k1")), None).is_ok());
    assert!(gateway.admit(Credential::Bearer(&token("k2")), None).is_err());
    let confused = hs256(&json!({ "sub": "ann", "exp": now() + 60 }), "anything");
    assert!(gateway.admit(Credential::Bearer(&confused), None).is_err());
}

#[tokio::test]
async fn a_key_opens_its_toolset_and_nothing_else() {
    let source = Fixture::with(["run", "fail"].map(tool).into());
    let key = |name: &str, toolset: Option<&str>| ApiKey {
        name: name.into(),
        sha256: Secret::new(format!("{name}-key")).sha256(),
        toolset: toolset.map(Arc::from),
    };
    let settings = Settings {
        admission: Admission { keys: vec![key("ann", Some("home")), key("bob", None)], jwt: None },
        toolsets: vec![Toolset { name: "home".into(), tools: vec![Pattern::new("Kit.run")] }],
        ..Settings::default()
    };
    let gateway = gateway(settings, &source).await;
    let answer = async |credential: Credential<'_>, toolset: Option<&str>, tool: &str| match gateway
        .admit(credential, toolset)
    {
        Ok(caller) => line(&gateway.call(&caller, request(tool, json!({})), &Progress::unheard()).await),
        Err(refusal) => refusal.name().to_owned(),
    };
    assert_eq!(answer(Credential::None, None, "Kit_run").await, "unauthenticated");
    assert_eq!(answer(Credential::Key("nobody"), None, "Kit_run").await, "unauthenticated");
    assert_eq!(answer(Credential::Key("ann-key"), None, "Kit_run").await, "1");
    assert_eq!(
        answer(Credential::Bearer("ann-key"), None, "Kit_fail").await,
        "not_permitted: Tool `Kit_fail` was not found"
    );
    assert_eq!(answer(Credential::Bearer("bob-key"), None, "Kit_fail").await, "failed: it failed");
    assert_eq!(
        answer(Credential::Bearer("bob-key"), Some("home"), "Kit_fail").await,
        "not_permitted: Tool `Kit_fail` was not found"
    );
    assert_eq!(
        answer(Credential::Bearer("bob-key"), Some("none"), "Kit_run").await,
        "not_permitted: Tool `Kit_run` was not found"
    );
}

#[tokio::test]
async fn a_token_acts_for_its_subject_and_for_whom_it_names() {
    let source = Fixture::with(vec![tool("run")]);
    let admission = Admission { keys: Vec::new(), jwt: Some(secret_rules()) };
    let gateway = gateway(Settings { admission, ..Settings::default() }, &source).await;
    let check = async |act_as: Value, user: &str, expect: bool| {
        let claims = json!({ "sub": "ann", "exp": now() + 600, "act_as": act_as });
        let token = hs256(&claims, "right");
        let caller = gateway.admit(Credential::Bearer(&token), None).expect("a good token");
        let mut wish = request("Kit_run", json!({}));
        wish.grants.user_id = Some(user.to_owned());
        let answer = line(&gateway.call(&caller, wish, &Progress::unheard()).await);
        assert_eq!(!answer.starts_with("unauthenticated: "), expect, "{act_as} {user}: {answer}");
    };
    check(json!(null), "ann", true).await;
    check(json!(null), "bob", false).await;
    check(json!("bob"), "bob", true).await;
    check(json!(["bob", "eve"]), "eve", true).await;
    check(json!(["bob", "eve"]), "carol", false).await;
    check(json!("*"), "carol", true).await;
    check(json!([]), "bob", false).await;
    check(json!({ "sub": "bob" }), "bob", false).await;
    let nobodys = hs256(&json!({ "exp": now() + 600 }), "right");
    assert!(
        gateway.admit(Credential::Bearer(&nobodys), None).is_err(),
        "a token without a subject stands for nobody"
    );
}
