//! Access to somebody else's account, by a link that its owner is made to open.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::{Value, json};

use super::upstream::{Answer, Heard, Upstream};
use crate::process::{Serving, folder, request};

/// A provider that knows the app already: it asks the user nothing, and whoever brings a code gets a token.
fn provider(heard: &Heard) -> Answer {
    assert!(heard.head.starts_with("POST /token"), "{heard:?}");
    Answer::good(json!({ "access_token": "TOKEN-OF-VICTIM", "token_type": "Bearer" }))
}

fn config(provider: &Upstream, callers: &str) -> String {
    format!(
        r#"
store = "memory"
{callers}
[auth]
key = "a key of at least thirty-two characters"
[auth.providers.mail]
authorize_url = "{0}/authorize"
token_url = "{0}/token"
client_id = "toolmux"
[auth.providers.honest]
authorize_url = "{0}/authorize"
token_url = "{0}/token"
client_id = "toolmux"

[sources.Mail]
kind = "command"
[sources.Mail.tools.read]
description = "Shows the token it got"
command = ["sh", "-c", "printf %s $TOKEN"]
[tools."Mail.read"]
requires = {{ authorization = [{{ id = "mail", scopes = ["inbox"] }}] }}
deliver = [{{ token = "mail", env = "TOKEN" }}]
"#,
        provider.base
    )
}

const KEYS: &str = "[keys.mallory]\nkey = \"the key of mallory\"\n";
const TOKENS: &str = "[jwt]\nsecret = \"a secret that is shared, and long enough\"\ntoolset = \"*\"\n";

fn token(subject: &str) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
    let claims = json!({ "sub": subject, "exp": now + 600 });
    let key = EncodingKey::from_secret(b"a secret that is shared, and long enough");
    encode(&Header::new(Algorithm::HS256), &claims, &key).expect("a token")
}

fn call(serving: &Serving, credential: &str) -> (u16, String) {
    let headers = format!("authorization: Bearer {credential}\r\n");
    serving.post("/tools/call", &headers, br#"{"tool_id":"Mail.read","input":{}}"#)
}

/// The path of the link that a call is refused with.
fn link(serving: &Serving, credential: &str) -> String {
    let (status, refused) = call(serving, credential);
    assert_eq!(status, 400, "{refused}");
    let refused: Value = serde_json::from_str(&refused).expect("JSON");
    let url = refused["missing_requirements"]["authorization"][0]["url"].as_str().expect("a link").to_owned();
    url[url.find("/auth/").expect("ours")..].to_owned()
}

/// A browser that remembers cookies by their names.
#[derive(Default)]
struct Browser(Vec<(String, String)>);

impl Browser {
    /// Status, `Location` and body of an answer.
    fn ask(&mut self, serving: &Serving, line: &str, headers: &str, body: &str) -> (u16, String, String) {
        let cookies: Vec<String> = self.0.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let headers = format!("cookie: {}\r\n{headers}", cookies.join("; "));
        let answer = serving.exchange(&request(line, &headers, body.as_bytes()));
        let (head, body) = answer.split_once("\r\n\r\n").expect("an answer");
        let header = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
        if let Some((name, value)) =
            header("set-cookie: ").split(';').next().and_then(|pair| pair.split_once('='))
        {
            self.0.retain(|(known, _)| known != name);
            self.0.push((name.to_owned(), value.to_owned()));
        }
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        (status, header("location: ").to_owned(), body.to_owned())
    }

    /// Opens a link; gives the value of the form and the page.
    fn open(&mut self, serving: &Serving, link: &str) -> (String, String) {
        let headers = "sec-fetch-site: cross-site\r\nsec-fetch-mode: navigate\r\n";
        let (status, location, page) = self.ask(serving, &format!("GET {link}"), headers, "");
        assert_eq!((status, location.as_str()), (200, ""), "a link leads nowhere by itself: {page}");
        let form = page.split("name=\"form\" value=\"").nth(1).and_then(|rest| rest.split('"').next());
        (form.expect("a form").to_owned(), page)
    }

    /// Goes on by the page's form; gives the address of the provider, if it was led there.
    fn go_on(&mut self, serving: &Serving, link: &str, form: &str, token: &str) -> Option<String> {
        let headers = format!("origin: http://localhost\r\nsec-fetch-site: same-origin\r\n{FORM}");
        let body = format!("form={form}&token={token}");
        let (status, location, page) = self.ask(serving, &format!("POST {link}"), &headers, &body);
        assert!(status == 303 || status == 400, "{status} {page}");
        (status == 303).then_some(location)
    }

    /// Comes back from a provider that asks nothing.
    fn come_back(&mut self, serving: &Serving, provider: &str, callback: &str) -> u16 {
        let state = provider.split("state=").nth(1).and_then(|rest| rest.split('&').next()).expect("a state");
        let line = format!("GET /auth/callback/{callback}?state={state}&code=code");
        self.ask(serving, &line, "sec-fetch-site: cross-site\r\nsec-fetch-mode: navigate\r\n", "").0
    }
}

const FORM: &str = "content-type: application/x-www-form-urlencoded\r\n";

#[test]
fn a_link_that_another_user_opens_gives_nothing() {
    let provider = Upstream::start(provider);
    let folder = folder(&config(&provider, KEYS));
    let serving = Serving::start(folder.path());
    let link = link(&serving, "the key of mallory");
    let mut victim = Browser::default();
    let (form, page) = victim.open(&serving, &link);
    for told in ["mallory", "Mail.read", "mail", "127.0.0.1", "inbox", "only if you asked for this yourself"]
    {
        assert!(page.contains(told), "{told} is not in {page}");
    }
    // A page of mallory's cannot go on for the victim: neither across sites nor with `Origin: null`.
    let body = format!("form={form}");
    for headers in [
        "origin: https://evil.example\r\nsec-fetch-site: cross-site\r\n",
        "origin: null\r\nsec-fetch-site: cross-site\r\n",
        "origin: null\r\n",
        "origin: http://localhost:1\r\nsec-fetch-site: same-site\r\n",
    ] {
        let (status, ..) = victim.ask(&serving, &format!("POST {link}"), &format!("{headers}{FORM}"), &body);
        assert_eq!(status, 403, "{headers}");
    }
    // Mallory goes on herself, and sends the victim the provider's address.
    let mut mallory = Browser::default();
    let (her_form, _) = mallory.open(&serving, &link);
    let at_provider = mallory.go_on(&serving, &link, &her_form, "").expect("she may");
    assert_eq!(victim.come_back(&serving, &at_provider, "mail"), 400, "only in the browser that went on");
    // Her own form in the victim's browser, and the victim's in hers.
    let (her_form, _) = mallory.open(&serving, &link);
    assert_eq!(victim.go_on(&serving, &link, &her_form, ""), None);
    assert_eq!(mallory.go_on(&serving, &link, &form, ""), None);
    assert_eq!(call(&serving, "the key of mallory").0, 400);
    assert_eq!(provider.heard().len(), 0, "no code was exchanged");
    // Somebody who asked and goes on is let through, once.
    let (form, _) = mallory.open(&serving, &link);
    let at_provider = mallory.go_on(&serving, &link, &form, "").expect("the form is good");
    assert_eq!(mallory.go_on(&serving, &link, &form, ""), None, "and good once");
    assert_eq!(mallory.come_back(&serving, &at_provider, "mail"), 200);
    assert!(call(&serving, "the key of mallory").1.contains("TOKEN-OF-VICTIM"));
}

#[test]
fn another_subject_does_not_allow_what_a_token_caller_asked_for() {
    let provider = Upstream::start(provider);
    let folder = folder(&config(&provider, &format!("{TOKENS}{KEYS}")));
    let serving = Serving::start(folder.path());
    let link = link(&serving, &token("mallory"));
    let mut victim = Browser::default();
    let expired = {
        let claims = json!({ "sub": "mallory", "exp": 1 });
        let key = EncodingKey::from_secret(b"a secret that is shared, and long enough");
        encode(&Header::new(Algorithm::HS256), &claims, &key).expect("a token")
    };
    for shown in ["", "nonsense", "the+key+of+mallory", &token("victim"), &expired] {
        let (form, page) = victim.open(&serving, &link);
        assert!(page.contains("type=\"password\""), "it asks for a token: {page}");
        assert_eq!(victim.go_on(&serving, &link, &form, shown), None, "{shown}");
    }
    assert_eq!(call(&serving, &token("mallory")).0, 400);
    let (form, _) = victim.open(&serving, &link);
    let at_provider = victim.go_on(&serving, &link, &form, &token("mallory")).expect("the same subject");
    assert_eq!(victim.come_back(&serving, &at_provider, "mail"), 200);
    assert_eq!(call(&serving, &token("mallory")).0, 200);
}

#[test]
fn an_answer_for_one_provider_is_not_taken_for_another() {
    let provider = Upstream::start(provider);
    let folder = folder(&config(&provider, KEYS));
    let serving = Serving::start(folder.path());
    let link = link(&serving, "the key of mallory");
    let mut browser = Browser::default();
    for callback in ["honest", "unknown", "client.json"] {
        let (form, _) = browser.open(&serving, &link);
        let at_provider = browser.go_on(&serving, &link, &form, "").expect("the form is good");
        assert!(at_provider.contains("%2Fauth%2Fcallback%2Fmail&"), "{at_provider}");
        assert_eq!(browser.come_back(&serving, &at_provider, callback), 400, "{callback}");
    }
    let (form, _) = browser.open(&serving, &link);
    let at_provider = browser.go_on(&serving, &link, &form, "").expect("the form is good");
    let old = format!("GET /auth/callback?{}", at_provider.split('?').nth(1).expect("a query"));
    assert_eq!(browser.ask(&serving, &old, "", "").0, 401, "there is no address for all of them");
    assert_eq!(provider.heard().len(), 0, "no code was sent anywhere");
}

#[test]
fn a_reader_of_the_store_opens_no_link() {
    let provider = Upstream::start(provider);
    let text = config(&provider, KEYS).replace("store = \"memory\"", "store = \"sqlite:records.db\"");
    let folder = folder(&text);
    let serving = Serving::start(folder.path());
    let link = link(&serving, "the key of mallory");
    let id = link.rsplit('/').next().expect("an id");
    assert_eq!(records_with(folder.path(), id), Vec::<PathBuf>::new());
    let (form, _) = Browser::default().open(&serving, &link);
    assert_eq!(records_with(folder.path(), &form), Vec::<PathBuf>::new());
}

/// The files of the store that hold a text.
fn records_with(folder: &Path, text: &str) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder).expect("a folder").map(|file| file.expect("a file").path());
    let records: Vec<_> = files.filter(|file| file.to_string_lossy().contains("records.db")).collect();
    assert!(!records.is_empty());
    let holds = |file: &PathBuf| {
        let bytes = std::fs::read(file).expect("readable");
        bytes.windows(text.len()).any(|bytes| bytes == text.as_bytes())
    };
    records.into_iter().filter(holds).collect()
}
