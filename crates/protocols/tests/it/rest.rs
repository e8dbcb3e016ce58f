//! REST: values as they are, one document for all tools of a caller, and a page that runs nothing.

use std::sync::Arc;

use http::{Method, StatusCode};
use serde_json::{Value, json};
use toolmux_core::BoxFuture;
use toolmux_core::call::Call;
use toolmux_core::gateway::{Admission, ApiKey, Settings};
use toolmux_core::outcome::{Outcome, Output};
use toolmux_core::ports::source::{Listing, Source, SourceError};
use toolmux_core::progress::Progress;
use toolmux_core::schema::Schema;
use toolmux_core::secret::Secret;
use toolmux_core::tool::{Returns, Tool};
use toolmux_core::toolset::{Pattern, Toolset};

use crate::opentool::send;
use crate::oxp::Server;
use crate::scripted_source::{Scripted, raw};

const KEY: &str = "0123456789abcdef0123456789abcdef";
const FENCED: &str = "fencedfencedfencedfencedfencedfe";

fn closed() -> Settings {
    let key = |name: &str, key: &str, toolset: Option<&str>| ApiKey {
        name: name.into(),
        sha256: Secret::new(key).sha256(),
        toolset: toolset.map(Into::into),
    };
    Settings {
        admission: Admission {
            keys: vec![key("alice", KEY, None), key("fenced", FENCED, Some("few"))],
            jwt: None,
        },
        toolsets: vec![Toolset { name: "few".into(), tools: vec![Pattern::new("Kit.Add")] }],
        ..Settings::default()
    }
}

async fn document(server: &Server, key: Option<&str>) -> Value {
    let bearer = key.map(|key| format!("Bearer {key}")).unwrap_or_default();
    let headers = [("authorization", bearer.as_str())];
    let headers = if key.is_some() { &headers[..] } else { &[] };
    let (status, _, document) = server.ask(Method::GET, "/rest/openapi.json", headers, "").await;
    assert_eq!(status, StatusCode::OK, "{document}");
    document
}

/// The status and the body of a call, byte for byte.
async fn call(server: &Server, tool: &str, body: &str) -> (u16, String) {
    let answer = send(&server.base, Method::POST, &format!("/rest/{tool}"), &[], body).await;
    let status = answer.status().as_u16();
    let body = answer.body().await.expect("a body").to_vec();
    (status, String::from_utf8(body).expect("text"))
}

#[tokio::test]
async fn a_value_comes_as_the_tool_wrote_it() {
    let server = Server::start(Settings::default(), Scripted::new()).await;
    for (tool, body, expect) in [
        ("Kit_Add", r#"{"a":1,"b":2}"#, "3.0"),
        ("Kit.Add@1.0.0", r#"{"a":1,"b":2}"#, "3.0"),
        ("Kit_Echo", r#"{"x":12345678901234567890123}"#, r#"{"x":12345678901234567890123}"#),
        ("Kit_Exact", "", r#"{"big":123456789012345678901234567890,"spaced" : [1.50, 1e400]}"#),
        ("Kit_Text", "{}", r#""plain""#),
        ("Kit_Nothing", "", "null"),
    ] {
        assert_eq!(call(&server, tool, body).await, (200, expect.to_owned()), "{tool}");
    }
    assert_eq!(call(&server, "Kit_Nothing", "null").await.0, 400);
}

#[tokio::test]
async fn each_tool_of_a_caller_is_an_operation() {
    let server = Server::start(closed(), Scripted::new()).await;
    let described = document(&server, Some(KEY)).await;
    let add = &described["paths"]["/Kit_Add"]["post"];
    assert_eq!(add["operationId"], "Kit_Add");
    assert_eq!(add["x-tool-id"], "Kit.Add@1.2.0", "the newest version");
    let input = &add["requestBody"]["content"]["application/json"]["schema"];
    assert_eq!(input["properties"]["a"]["$ref"], "#/components/schemas/Kit_Add.input.n");
    assert_eq!(described["components"]["schemas"]["Kit_Add.input.n"], json!({ "type": "number" }));
    assert_eq!(add["responses"]["200"]["content"]["application/json"]["schema"], json!({ "type": "number" }));
    assert_eq!(described["paths"].as_object().map(serde_json::Map::len), Some(23));
    assert_eq!(described["security"], json!([{ "key": [] }]));
    let few = document(&server, Some(FENCED)).await;
    let paths: Vec<&String> = few["paths"].as_object().expect("an object").keys().collect();
    assert_eq!(paths, ["/Kit_Add"], "a toolset limits it");
    let open = Server::start(Settings::default(), Scripted::new()).await;
    assert_eq!(document(&open, None).await.get("security"), None, "nobody is asked for a key");
}

#[tokio::test]
async fn a_document_that_a_client_has_is_not_sent_again() {
    let server = Server::start(Settings::default(), Scripted::new()).await;
    let ask = async |headers: &[(&str, &str)]| {
        let answer = send(&server.base, Method::GET, "/rest/openapi.json", headers, "").await;
        let tag = answer.headers()["etag"].to_str().expect("text").to_owned();
        (answer.status().as_u16(), tag, answer.body().await.expect("a body").len())
    };
    let (status, tag, length) = ask(&[]).await;
    assert!(status == 200 && length > 1_000);
    assert_eq!(ask(&[("if-none-match", &tag)]).await, (304, tag.clone(), 0));
    assert_eq!(ask(&[("if-none-match", "\"other\"")]).await, (200, tag, length));
}

#[tokio::test]
async fn the_document_is_that_of_the_address() {
    let server = Server::start(Settings::default(), Scripted::new()).await;
    assert_eq!(document(&server, None).await["servers"], json!([{ "url": "/rest" }]));
    let settings = Settings { public_url: Some("https://tools.example/".into()), ..Settings::default() };
    let server = Server::start(settings, Scripted::new()).await;
    assert_eq!(document(&server, None).await["servers"], json!([{ "url": "https://tools.example/rest" }]));
}

/// One tool with a name and a description that try to be markup, and schemas that readers refuse.
struct Hostile;

impl Source for Hostile {
    fn tools(&self) -> BoxFuture<'_, Result<Listing, SourceError>> {
        let input = json!({ "type": "object", "properties": { "a</pre><b>": { "type": "string" } },
            "required": ["a</pre><b>"] });
        let mut tool = Tool::new("t", "<script>alert(1)</script>\n\u{202e}x", Schema::new(input));
        tool.returns =
            Returns::Matching(Schema::new(json!({ "type": "wibble", "items": [1], "$ref": "#/none" })));
        Box::pin(std::future::ready(Ok(vec![tool].into())))
    }

    fn call<'a>(&'a self, _: &'a Call, _: &'a Progress) -> BoxFuture<'a, Result<Outcome, SourceError>> {
        Box::pin(std::future::ready(Ok(Outcome::Returned(Output::value(raw("1"))))))
    }
}

#[tokio::test]
async fn the_page_runs_nothing_and_shows_text_as_text() {
    let server = Server::start(Settings::default(), Arc::new(Hostile)).await;
    let answer = send(&server.base, Method::GET, "/rest", &[], "").await;
    let policy = answer.headers()["content-security-policy"].to_str().expect("text").to_owned();
    assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
    let page = answer.body().await.expect("a body").to_vec();
    let page = String::from_utf8(page).expect("text");
    assert!(page.contains("&lt;script&gt;") && page.contains("<h2>Kit_t</h2>"), "{page}");
    for bad in ["<script", "<b>", "\u{202e}", "onload"] {
        assert!(!page.contains(bad), "{bad}: {page}");
    }
}

#[tokio::test]
async fn a_schema_that_nobody_can_read_does_not_spoil_the_document() {
    let server = Server::start(Settings::default(), Arc::new(Hostile)).await;
    let described = document(&server, None).await;
    let output = &described["paths"]["/Kit_t"]["post"]["responses"]["200"]["content"]["application/json"];
    assert_eq!(output["schema"], json!({}));
}
