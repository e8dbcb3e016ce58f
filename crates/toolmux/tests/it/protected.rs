//! `/mcp` as a resource that OAuth protects: how strangers learn where to get a token, and where it ends.

use std::io::{BufReader, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::{Value, json};

use crate::http_request::read_request;
use crate::process::{ECHO, Serving, folder, request, until};

const ISSUED: &str = r#"
[toolsets.home]
tools = ["Shell.*"]

[keys.ann]
key = "ann-key"

[jwt]
secret = "a secret that is shared with the issuer"
audience = ["https://tools.example.com"]
toolset = "*"
issuer = "https://login.example.com"
scopes = ["tools:call", "tools:list"]
"#;
const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";
const PING: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

fn token(issuer: &str, scope: &str) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
    let claims = json!({ "sub": "ann", "iss": issuer, "aud": "https://tools.example.com", "scope": scope, "exp": now + 600 });
    let key = EncodingKey::from_secret(b"a secret that is shared with the issuer");
    encode(&Header::new(Algorithm::HS256), &claims, &key).expect("a token")
}

/// The status of a message to an address, and the challenge that came with it.
fn challenge(serving: &Serving, path: &str, credential: &str) -> (u16, Option<String>) {
    let headers = match credential {
        "" => String::new(),
        credential => format!("authorization: Bearer {credential}\r\n"),
    };
    let answer = serving.exchange(&request(&format!("POST {path}"), &headers, PING));
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    let challenge = answer.lines().find_map(|line| line.strip_prefix("www-authenticate: "));
    (status, challenge.map(str::to_owned))
}

#[test]
fn strangers_are_led_to_who_issues_tokens() {
    let public = "[auth]\npublic_url = \"https://tools.example.com/gate/\"\n";
    let folder = folder(&format!("{ECHO}{ISSUED}{public}"));
    let serving = Serving::start(folder.path());
    let scope = r#"scope="tools:call tools:list""#;
    for path in ["/mcp", "/sets/home/mcp"] {
        let at = format!(r#"resource_metadata="https://tools.example.com/gate{WELL_KNOWN}{path}""#);
        let expect = Some(format!("Bearer {at}, {scope}"));
        assert_eq!(challenge(&serving, path, ""), (401, expect));
        let expect = Some(format!(r#"Bearer error="invalid_token", {at}, {scope}"#));
        assert_eq!(challenge(&serving, path, "nonsense"), (401, expect.clone()));
        let other = token("https://other.example.com", "tools:call tools:list");
        assert_eq!(challenge(&serving, path, &other), (401, expect));
        let expect = Some(format!(r#"Bearer error="insufficient_scope", {at}, {scope}"#));
        assert_eq!(
            challenge(&serving, path, &token("https://login.example.com", "tools:call")),
            (403, expect)
        );
        let good = token("https://login.example.com", "tools:list tools:call more");
        assert_eq!(challenge(&serving, path, &good), (200, None));
        assert_eq!(challenge(&serving, path, "ann-key"), (200, None));
    }
    for (path, resource) in [("/messages", "/sse"), ("/sets/home/messages", "/sets/home/sse")] {
        let at = format!(r#"resource_metadata="https://tools.example.com/gate{WELL_KNOWN}{resource}""#);
        assert_eq!(challenge(&serving, path, ""), (401, Some(format!("Bearer {at}, {scope}"))));
    }
}

#[test]
fn documents_name_the_resource_as_its_callers_do() {
    let check = |public: &str, base: &str| {
        let folder = folder(&format!("{ECHO}{ISSUED}{public}"));
        let serving = Serving::start(folder.path());
        for path in ["", "/mcp", "/sets/home/mcp", "/sse", "/sets/home/sse"] {
            let (status, body) = serving.get(&format!("{WELL_KNOWN}{path}"), "");
            let document: Value = serde_json::from_str(&body).expect("a document");
            let expect = json!({ "resource": format!("{base}{path}"),
                "authorization_servers": ["https://login.example.com"], "bearer_methods_supported": ["header"],
                "resource_name": "toolmux", "scopes_supported": ["tools:call", "tools:list"] });
            assert_eq!((status, document), (200, expect));
        }
    };
    check("[auth]\npublic_url = \"https://tools.example.com\"\n", "https://tools.example.com");
    check("", "http://localhost");
}

#[test]
fn where_keys_alone_open_nothing_is_documented() {
    let folder = folder(&format!("{ECHO}\n[keys.ann]\nkey = \"ann-key\"\n"));
    let serving = Serving::start(folder.path());
    assert_eq!(serving.get(&format!("{WELL_KNOWN}/mcp"), "").0, 404);
    assert_eq!(challenge(&serving, "/mcp", ""), (401, Some("Bearer".to_owned())));
}

/// A modern MCP server that remembers every request it got; it ends with the test's process.
fn upstream() -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hearing = Arc::clone(&heard);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let hearing = Arc::clone(&hearing);
            std::thread::spawn(move || {
                let mut reader = BufReader::new(stream);
                while let Some((head, body)) = read_request(&mut reader) {
                    hearing.lock().expect("no panic").push(format!("{head}{body}"));
                    let answer = answer(&serde_json::from_str(&body).unwrap_or_default()).to_string();
                    let length = answer.len();
                    let head = format!(
                        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}"
                    );
                    reader.get_mut().write_all(format!("{head}\r\n\r\n{answer}").as_bytes()).ok();
                }
            });
        }
    });
    (url, heard)
}

fn answer(asked: &Value) -> Value {
    let result = match asked["method"].as_str() {
        Some("server/discover") => {
            json!({ "supportedVersions": ["2026-07-28"], "capabilities": { "tools": {} } })
        }
        Some("tools/list") => json!({ "tools": [{ "name": "hear", "inputSchema": { "type": "object" } }] }),
        _ => json!({ "content": [{ "type": "text", "text": "heard" }] }),
    };
    json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result })
}

#[test]
fn the_callers_token_goes_no_further() {
    let (url, heard) = upstream();
    let folder = folder(&format!("{ECHO}{ISSUED}\n[sources.Up]\nkind = \"mcp\"\nurl = \"{url}\"\n"));
    let serving = Serving::start(folder.path());
    let token = token("https://login.example.com", "tools:call tools:list");
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "Up_hear" } });
    let headers = format!("authorization: Bearer {token}\r\n");
    let answer = until("the source to be there", || {
        let (_, body) = serving.post("/mcp", &headers, call.to_string().as_bytes());
        body.contains("heard").then_some(body)
    });
    assert!(answer.contains(r#""text":"heard""#), "{answer}");
    let heard = heard.lock().expect("no panic");
    assert!(heard.iter().any(|request| request.contains("tools/call")), "{heard:?}");
    for request in heard.iter() {
        assert!(!request.contains(&token), "{request}");
        assert!(!request.to_ascii_lowercase().contains("authorization"), "{request}");
    }
}

#[test]
fn a_source_asks_users_for_tokens_although_no_provider_is_configured() {
    let (url, heard) = upstream();
    let source = format!("\n[sources.Up]\nkind = \"mcp\"\nurl = \"{url}\"\nauthorization = {{}}\n");
    let folder = folder(&format!("{ECHO}{source}"));
    let serving = Serving::start(folder.path());
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "Up_hear" } });
    let answer = until("the source to be there", || {
        let (_, body) = serving.post("/mcp", "", call.to_string().as_bytes());
        (!body.contains("was not found")).then_some(body)
    });
    assert!(answer.contains("/auth/start/"), "{answer}");
    let heard = heard.lock().expect("no panic");
    assert!(!heard.iter().any(|request| request.contains("tools/call")), "{heard:?}");
}
