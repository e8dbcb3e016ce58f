//! An attacker who reads what a server prints, what it answers, or what its processes show, wants secrets.

use std::fs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::process::{ECHO, Serving, folder, stderr, stdout, toolmux, until, write};

const SECRET: &str = "s3cr3t-that-nobody-may-see";

fn bearer(credential: &str) -> String {
    format!("authorization: Bearer {credential}\r\n")
}

/// A configuration with a secret in a place where it does not fit; `§` stands for it.
const MISTAKES: [&str; 16] = [
    "[keys]\nalice = \"§\"\n",
    "jwt = \"§\"\n",
    "[keys.alice]\nkey = [\"x\", \"§\"]\n",
    "[keys.alice]\nkey = { env = \"§\" }\n",
    "[keys.alice]\nkey = { file = \"§\" }\n",
    "[keys.alice]\nkey = \"a key\"\ntoolset = \"§\"\n",
    "[sources.A]\nkind = \"mcp\"\ncomand = [\"server\", \"--token\", \"§\"]\n",
    "[sources.A]\nkind = \"mcp\"\nurl = \"http://127.0.0.1:1\"\nheaders = \"Authorization: Bearer §\"\n",
    "[sources.A]\nkind = \"mcp\"\ncommand = [\n  \"server\",\n  \"§\",\n]\nurl = 5\n",
    "[sources.A]\nkind = \"§\"\n",
    "[sources.A]\nkind = \"mcp\"\nurl = \"§\"\n",
    "listen = \"§\"\n",
    "store = \"§\"\n",
    "[secrets]\nA = \"\"\"\nfirst\n§\"\"\"\nB = 5\n",
    "[limits]\ncall_timeout = \"§\"\n",
    "[keys.alice]\nkey = \"§\nsecond = 1\n",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 2, ..ProptestConfig::default() })]

    #[test]
    fn a_mistake_in_a_configuration_does_not_print_its_secrets(secret in "[A-Za-z0-9]{16,24}") {
        for mistake in MISTAKES {
            let folder = folder(&mistake.replace('§', &secret));
            for command in [&["check"][..], &["doctor", "--json"], &["serve", "--listen", "127.0.0.1:0"], &["tools"]] {
                let output = toolmux(folder.path(), command);
                let told = stdout(&output) + &stderr(&output);
                // A variable that is not set is no fault where nothing is served.
                let code = if command == ["check"] && mistake.contains("env =") { 0 } else { 2 };
                prop_assert_eq!(output.status.code(), Some(code), "{:?} {}: {}", command, mistake, told);
                prop_assert!(!told.contains(&secret), "{:?} {}: {}", command, mistake, told);
            }
        }
    }
}

#[test]
fn a_mistake_at_a_reload_does_not_log_secrets() {
    let folder = folder(ECHO);
    let serving = Serving::start(folder.path());
    for (count, mistake) in MISTAKES.into_iter().enumerate() {
        write(folder.path(), &mistake.replace('§', SECRET));
        let told = until("the reload", || {
            let told = serving.told("serves");
            (told.matches("the new configuration is not used").count() > count).then_some(told)
        });
        assert!(!told.contains(SECRET), "{mistake}: {told}");
        let last = told.lines().rfind(|line| line.contains("not used")).unwrap_or_default();
        assert!(last.contains("toolmux.toml:"), "{mistake}: it says where: {last}");
    }
}

/// A good configuration with a secret wherever a text is free; no source of it answers.
const FULL: &str = r#"
listen = "127.0.0.1:0"
store = "sqlite:records.db"

[sources.Files]
kind = "mcp"
command = ["sh", "-c", "exit 1", "--token", "§"]
env = { TOKEN = "§" }

[sources.Absent]
kind = "mcp"
command = ["§"]

[sources.Far]
kind = "mcp"
url = "http://user:§@127.0.0.1:1/§?key=§"
headers = { Authorization = "Bearer §" }

[sources.Oxp]
kind = "oxp"
url = "http://user:§@127.0.0.1:1/§"
key = "§"

[sources.Ats]
kind = "ats"
url = "http://user:§@127.0.0.1:1/§"
key = "§"
agent = "§"

[sources.Tool]
kind = "opentool"
url = "http://user:§@127.0.0.1:1/§"
key = "§"

[toolsets.home]
tools = ["§"]

[keys.alice]
key = "§"
toolset = "home"

[jwt]
secret = "§§§"
jwks = "http://user:§@127.0.0.1:1/§"
audience = ["§"]
issuer = "https://§.example.com"
scopes = ["§"]

[secrets]
SHOP = "§"

[auth]
key = "§§§"
[auth.providers.github]
issuer = "https://user:§@127.0.0.1:1/"
client_id = "§"
client_secret = "§"
scopes = ["§"]
parameters = { prompt = "§" }
"#;

#[test]
fn a_server_that_is_full_of_secrets_prints_none() {
    let folder = folder(&FULL.replace('§', SECRET));
    for command in [&["check"][..], &["doctor"], &["tools"], &["db", "status"]] {
        let output = toolmux(folder.path(), command);
        let told = stdout(&output) + &stderr(&output);
        assert!(!told.contains(SECRET), "{command:?}: {told}");
    }
    let serving = Serving::start_with(folder.path(), "RUST_LOG", "debug");
    let told = serving.told("cannot fetch the keys of tokens");
    assert!(!told.contains(SECRET), "{told}");
    serving.signal("HUP");
    let told = serving.told("the configuration was reloaded");
    assert!(!told.contains(SECRET), "{told}");
}

#[test]
fn the_password_in_an_address_is_not_logged() {
    let jwt = format!("[jwt]\njwks = \"http://user:{SECRET}@127.0.0.1:1/jwks\"\naudience = [\"toolmux\"]\n");
    let far = format!("[sources.Far]\nkind = \"oxp\"\nurl = \"http://user:{SECRET}@127.0.0.1:1\"\n");
    let folder = folder(&format!("{ECHO}\n{jwt}\n{far}"));
    let serving = Serving::start(folder.path());
    serving.told("cannot fetch the keys of tokens");
    let told = serving.told("source failed");
    assert!(!told.contains(SECRET), "{told}");
}

#[test]
fn the_password_of_the_store_is_printed_nowhere() {
    let folder = folder(&ECHO.replace("store = \"memory\"", "store = { file = \"store.url\" }"));
    fs::write(folder.path().join("store.url"), format!("postgres://toolmux:{SECRET}@127.0.0.1:1/records"))
        .unwrap();
    for command in [&["serve", "--listen", "127.0.0.1:0"][..], &["doctor"], &["db", "status"]] {
        let output = toolmux(folder.path(), command);
        let told = stdout(&output) + &stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{command:?}: {told}");
        assert!(!told.contains(SECRET), "{command:?}: {told}");
    }
    let output = toolmux(folder.path(), &["check"]);
    assert!(output.status.success(), "{}", stderr(&output));
}

/// An MCP server that prints its own secret and ends.
const TALKATIVE: &str = r#"
[sources.Talk]
kind = "mcp"
command = ["sh", "-c", "echo \"dsn=postgres://u:$TOKEN@db\" >&2; exit 3"]
env = { TOKEN = { file = "token" } }
"#;

#[test]
fn what_a_child_prints_of_its_secrets_is_not_passed_on() {
    let failing = r#"
[sources.Shell.tools.fail]
description = "Fails with a secret"
command = ["sh", "-c", "echo the token is $TOKEN >&2; exit 1"]
[tools."Shell.fail"]
requires = { secrets = ["TOKEN"] }
deliver = [{ secret = "TOKEN", env = "TOKEN" }]
[secrets]
TOKEN = { file = "token" }
"#;
    let folder = folder(&format!("{ECHO}{failing}{TALKATIVE}"));
    fs::write(folder.path().join("token"), SECRET).unwrap();
    let serving = Serving::start(folder.path());
    let told = serving.told("source failed");
    assert!(told.contains("dsn=postgres://u:[redacted]@db") && !told.contains(SECRET), "{told}");
    let (_, answer) = serving.post("/tools/call", "", br#"{"tool_id":"Shell.fail","input":{}}"#);
    assert!(answer.contains("the token is [redacted]"), "{answer}");
    let doctor = toolmux(folder.path(), &["doctor"]);
    let told = stdout(&doctor) + &stderr(&doctor);
    assert!(told.contains("[redacted]") && !told.contains(SECRET), "{told}");
}

#[test]
fn developer_messages_reach_only_those_who_are_configured() {
    let keys = "[keys.ann]\nkey = \"ann-key\"\n[keys.dev]\nkey = \"dev-key\"\n";
    let folder = folder(&format!("developers = [\"dev\"]\n{ECHO}\n{keys}"));
    let serving = Serving::start(folder.path());
    let ask = |key: &str| {
        let call = br#"{"tool_id":"Shell.echo@9.0.0","input":{"text":"x"}}"#;
        serving.post("/tools/call", &bearer(key), call).1
    };
    assert!(ask("dev-key").contains("developer_message"), "{}", ask("dev-key"));
    assert!(!ask("ann-key").contains("developer_message"), "{}", ask("ann-key"));
    assert!(ask("ann-key").contains("was not found"));
}

const JWT_SECRET: &str = "a secret of at least thirty-two bytes";

fn token(claims: &Value) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
    let mut claims = claims.clone();
    claims["exp"] = json!(now + 600);
    let key = EncodingKey::from_secret(JWT_SECRET.as_bytes());
    encode(&Header::new(Algorithm::HS256), &claims, &key).expect("a token")
}

fn with_jwt(more: &str) -> String {
    let home = "[toolsets.home]\ntools = [\"Shell.*\"]\n";
    format!("{ECHO}\n{home}[jwt]\nsecret = \"{JWT_SECRET}\"\naudience = [\"toolmux\"]\n{more}")
}

#[test]
fn a_token_for_another_server_or_for_nobody_opens_nothing() {
    let folder = folder(&with_jwt("toolset = \"*\"\n"));
    let serving = Serving::start(folder.path());
    let tools = |claims: Value| serving.get("/tools", &bearer(&token(&claims)));
    let (status, listed) = tools(json!({ "sub": "ann", "aud": "toolmux" }));
    assert!(status == 200 && listed.contains("Shell.echo"), "{status} {listed}");
    for claims in [
        json!({ "sub": "ann" }),
        json!({ "sub": "ann", "aud": "other" }),
        json!({ "aud": "toolmux" }),
        json!({ "sub": "", "aud": "toolmux" }),
    ] {
        let (status, answer) = tools(claims.clone());
        assert_eq!(status, 401, "{claims}");
        assert!(!answer.contains("developer_message"), "a stranger does not learn why: {answer}");
        assert!(answer.contains("neither a known key nor a valid token"), "{answer}");
    }
}

#[test]
fn a_token_that_names_no_toolset_opens_what_is_configured() {
    let ann = token(&json!({ "sub": "ann", "aud": "toolmux" }));
    let bob = token(&json!({ "sub": "bob", "aud": "toolmux", "toolset": "home" }));
    for (more, opens) in [("", false), ("toolset = \"*\"\n", true), ("toolset = \"home\"\n", true)] {
        let folder = folder(&with_jwt(more));
        let serving = Serving::start(folder.path());
        let listed = |token: &str| serving.get("/tools", &bearer(token)).1.contains("Shell.echo");
        assert_eq!((listed(&ann), listed(&bob)), (opens, true), "{more}");
        let call = br#"{"tool_id":"Shell.echo","input":{"text":"ran"}}"#;
        let (_, answer) = serving.post("/tools/call", &bearer(&ann), call);
        assert_eq!(answer.contains("\"ran\""), opens, "{more}: {answer}");
    }
}

#[test]
fn rules_for_tokens_that_let_others_in_are_refused() {
    for (jwt, expect) in [
        ("secret = \"short\"", "at least 32 bytes"),
        ("jwks = \"https://login.example.com/jwks\"", "needs `audience`"),
        (
            "secret = \"a secret of at least thirty-two bytes\"\nissuer = \"https://login.example.com\"",
            "needs `audience`",
        ),
        ("jwks = \"http://login.example.com/jwks\"\naudience = [\"x\"]", "must be an https address"),
        (
            "secret = \"a secret of at least thirty-two bytes\"\ntoolset = \"hom\"",
            "names a toolset that does not exist",
        ),
    ] {
        let folder = folder(&format!("{ECHO}\n[toolsets.home]\ntools = []\n[jwt]\n{jwt}\n"));
        let output = toolmux(folder.path(), &["check"]);
        let told = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{jwt}: {told}");
        assert!(told.contains(expect), "{jwt}: {told}");
    }
}

fn replace(file: &Path, text: &str) {
    let new = file.with_extension("new");
    fs::write(&new, text).unwrap();
    fs::rename(new, file).unwrap();
}

#[test]
fn a_key_that_was_replaced_in_its_file_no_longer_works() {
    let folder = folder(&format!("{ECHO}\n[keys.bob]\nkey = {{ file = \"bob.key\" }}\n"));
    let file = folder.path().join("bob.key");
    replace(&file, "the-old-key-of-bob");
    let serving = Serving::start(folder.path());
    let status = |key: &str| serving.get("/tools", &bearer(key)).0;
    assert_eq!((status("the-old-key-of-bob"), status("the-new-key-of-bob")), (200, 401));
    replace(&file, "the-new-key-of-bob");
    until("the new key", || (status("the-new-key-of-bob") == 200).then_some(()));
    assert_eq!(status("the-old-key-of-bob"), 401);
}

#[test]
fn a_child_cannot_read_the_secrets_of_the_server() {
    let spy = r#"
[sources.Shell.tools.spy]
description = "Reads the environment of the server"
command = ["sh", "-c", "cat /proc/$PPID/environ | tr '\\0' '\\n'; grep -c . /proc/$PPID/maps; true"]
"#;
    let folder = folder(&format!("{ECHO}{spy}\n[secrets]\nA = {{ env = \"TOOLMUX_TEST_SECRET\" }}\n"));
    let serving = Serving::start_with(folder.path(), "TOOLMUX_TEST_SECRET", SECRET);
    let (_, answer) = serving.post("/tools/call", "", br#"{"tool_id":"Shell.spy","input":{}}"#);
    assert!(answer.contains("\"success\":true"), "{answer}");
    assert!(!answer.contains(SECRET) && !answer.contains("TOOLMUX_TEST_SECRET"), "{answer}");
}

#[test]
fn a_caller_cannot_steer_the_terminal_of_who_reads_the_records() {
    let keys = "[toolsets.none]\ntools = []\n[keys.bob]\nkey = \"bob-key\"\ntoolset = \"none\"\n";
    let folder = folder(&format!("{}\n{keys}", ECHO.replace("\"memory\"", "\"sqlite:records.db\"")));
    let serving = Serving::start(folder.path());
    let call =
        "{\"jsonrpc\":\"2.0\",\"method\":\"Shell_echo\\u001b]0;owned\\u0007\",\"params\":{},\"id\":\"1\"}";
    serving.post("/opentool/call", &bearer("bob-key"), call.as_bytes());
    serving.post("/call_tool/Shell_echo", &bearer("bob-key"), br#"{"text":"x"}"#);
    let told = until("the record", || {
        let told = stdout(&toolmux(folder.path(), &["db", "audit"]));
        told.contains("call.refused").then_some(told)
    });
    assert!(!told.contains(['\x1b', '\x07']), "{told:?}");
}
