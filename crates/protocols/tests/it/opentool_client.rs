//! The client: against our own server for every type, and against what public servers really answer.

use std::time::Duration;

use serde_json::{Map, Value, json};
use toolmux_core::gateway::{Admission, ApiKey, Settings};
use toolmux_core::secret::Secret;
use toolmux_http::client::HttpLimits;
use toolmux_protocols::opentool::{Client, ClientError, FunctionCall, StreamEvent, ToolReturn};

use crate::opentool::{Prepared, Server};
use crate::scripted_source::Scripted;

fn function_call(name: &str, arguments: Value) -> FunctionCall {
    let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    FunctionCall::new("id-1", name, arguments)
}

fn client(base: &str) -> Client {
    Client::new(base).expect("an address")
}

/// What the client makes of one prepared answer to a call: its result, or the JSON of its exception.
async fn check(answer: Vec<u8>, expect: Value) {
    let prepared = Prepared::start(vec![answer]).await;
    let told = match client(&prepared.base).call(&function_call("f", json!({}))).await {
        Ok(returned) => returned.to_json(),
        Err(error) => error.to_json().into(),
    };
    assert_eq!(told, expect);
}

#[tokio::test]
async fn every_type_travels_to_our_server_and_back() {
    let server = Server::scripted().await;
    let arguments =
        json!({ "b": true, "i": -7, "n": 1.5, "s": "é\n\"", "a": [1, [2]], "o": { "x": null }, "z": null });
    let returned =
        client(&server.base).call(&function_call("echo", arguments.clone())).await.expect("a return");
    assert_eq!(returned.to_json(), json!({ "id": "id-1", "result": arguments }));
    let sum =
        client(&server.base).call(&function_call("add", json!({ "a": 1, "b": 2 }))).await.expect("a sum");
    assert_eq!(Value::from(sum.result), json!({ "result": 3.0 }));
}

#[tokio::test]
async fn version_load_and_stop_are_answered() {
    let server = Server::scripted().await;
    let client = client(&server.base);
    assert_eq!(client.version().await.expect("a version"), env!("CARGO_PKG_VERSION"));
    assert_eq!(client.load().await.expect("an answer").expect("a document").functions.len(), 23);
    assert!(client.stop().await.expect("an answer"));
    assert!(server.stopped.is_cancelled());
}

#[tokio::test]
async fn a_call_is_followed_to_its_end() {
    let server = Server::scripted().await;
    let mut events =
        client(&server.base).stream_call(&function_call("parts", json!({}))).await.expect("events");
    let mut told = Vec::new();
    while let Some(event) = events.next().await.expect("an event") {
        told.push(event);
        if told.last() == Some(&StreamEvent::Done) {
            break;
        }
    }
    let data = |value: Value| {
        let Value::Object(result) = value else { panic!("an object") };
        StreamEvent::Data(ToolReturn::new("id-1", result))
    };
    let parts = [data(json!({ "n": 1 })), data(json!({ "result": 2 })), data(json!({ "n": 3 }))];
    assert_eq!(told, [&[StreamEvent::Start], &parts[..], &[StreamEvent::Done]].concat());
    let mut events =
        client(&server.base).stream_call(&function_call("fail", json!({}))).await.expect("events");
    assert_eq!(events.next().await.expect("an event"), Some(StreamEvent::Start));
    let error = events.next().await.expect_err("it fails");
    assert_eq!(Value::from(error.to_json()), json!({ "code": 500, "message": "It is not there" }));
}

#[tokio::test]
async fn the_five_exceptions_are_raised_when_the_specification_says() {
    check(Prepared::json(""), json!({ "code": 500, "message": "Response is null" })).await;
    check(
        Prepared::json(r#"{"jsonrpc":"2.0","result":null,"id":"id-1"}"#),
        json!({ "code": 500, "message": "Error is null" }),
    )
    .await;
    let unauthorized = json!({ "code": 401, "message": "Please check API Key is VALID or NOT" });
    for body in [r#"{"error":"Invalid API key"}"#, "Missing or malformed authorization header", ""] {
        check(Prepared::answer("401 Unauthorized", "text/plain", body), unauthorized.clone()).await;
    }
    let no_access = json!({ "code": 404, "message": "Please check OpenTool Server is RUNNING or NOT" });
    check(Prepared::answer("404 Not Found", "text/html", "<pre>Cannot POST</pre>"), no_access.clone()).await;
    let nobody = client("http://127.0.0.1:1").call(&function_call("f", json!({}))).await.expect_err("nobody");
    assert_eq!(Value::from(nobody.to_json()), no_access);
    check(
        Prepared::json(r#"{"jsonrpc":"2.0","result":{},"error":{"code":500,"message":"boom"},"id":"id-1"}"#),
        json!({ "code": 500, "message": "boom" }),
    )
    .await;
}

#[tokio::test]
async fn answers_of_the_public_servers_are_understood() {
    let good = json!({ "id": "id-1", "result": { "count": 0 } });
    let charset = "application/json; charset=utf-8";
    for body in [
        r#"{"jsonrpc":"2.0.0","result":{"count":0},"id":"id-1"}"#,
        r#"{"jsonrpc":"2.0","result":{"count":0},"error":null,"id":"id-1"}"#,
        r#"{"jsonrpc":"2.0","result":{"count":0},"id":null}"#,
        r#"{"result":{"count":0},"id":""}"#,
    ] {
        check(Prepared::answer("200 OK", charset, body), good.clone()).await;
    }
    let typescript = r#"{"jsonrpc":"2.0.0","result":{},"id":"id-1","error":{"code":500,"message":"{\"code\":500,\"message\":\"Error: Fatal\"}"}}"#;
    check(
        Prepared::json(typescript),
        json!({ "code": 500, "message": r#"{"code":500,"message":"Error: Fatal"}"# }),
    )
    .await;
    let java =
        r#"{"jsonrpc":"2.0","result":null,"error":{"code":500,"message":"Internal error: x"},"id":null}"#;
    check(Prepared::json(java), json!({ "code": 500, "message": "Internal error: x" })).await;
    let net8 = r#"{"jsonrpc":"2.0","result":{},"error":{"code":500,"message":"at Tool.Call"},"id":""}"#;
    check(
        Prepared::answer("500 Internal Server Error", charset, net8),
        json!({ "code": 500, "message": "at Tool.Call" }),
    )
    .await;
    check(
        Prepared::answer("503 Service Unavailable", "text/plain", "later"),
        json!({ "code": 503, "message": "HTTP 503: later" }),
    )
    .await;
    check(Prepared::json(r#"{"result":[1]}"#), json!({ "message": "The result is not an object: [1]" }))
        .await;
    check(Prepared::json("nonsense"), json!({ "message": "The answer cannot be read: nonsense" })).await;
}

#[tokio::test]
async fn an_answer_to_another_call_is_none_to_ours() {
    let answered = async |id: &str, body: &str| {
        let prepared = Prepared::start(vec![Prepared::json(body)]).await;
        client(&prepared.base).call(&FunctionCall::new(id, "f", Map::new())).await.map_err(|e| e.message())
    };
    assert!(answered("7", r#"{"result":{},"id":7}"#).await.is_ok(), "a number for a text");
    let foreign = "The answer is to call `8`, which is not the one that was sent";
    for body in [r#"{"result":{},"id":"8"}"#, r#"{"error":{"code":500,"message":"m"},"id":8}"#] {
        assert_eq!(answered("7", body).await, Err(foreign.to_owned()));
    }
}

#[tokio::test]
async fn servers_that_describe_nothing_load_as_nothing() {
    for body in ["{}", "", r#"{"code":404,"message":"Json Parser NOT implement"}"#, "null"] {
        let prepared = Prepared::start(vec![Prepared::json(body)]).await;
        assert_eq!(client(&prepared.base).load().await.expect("an answer"), None, "{body}");
    }
}

#[tokio::test]
async fn documents_of_servers_that_write_nulls_load() {
    let java = r#"{"opentool":"1.0.0","info":{"title":"T","description":null,"version":"1.0.0"},"server":null,
        "functions":[{"name":"f","description":"d","parameters":[{"name":"p","description":null,"required":true,
        "schema":{"type":"integer","description":null,"properties":null,"items":null,"enum":["1","2"],"required":null}}],"return":null}],
        "schemas":null}"#;
    let prepared = Prepared::start(vec![Prepared::json(java)]).await;
    let document = client(&prepared.base).load().await.expect("an answer").expect("a document");
    let schema = serde_json::to_value(&document.functions[0].parameters[0].schema).expect("JSON");
    assert_eq!(schema, json!({ "type": "integer", "enum": [1, 2] }));
}

#[tokio::test]
async fn requests_are_written_as_the_specification_shows_them() {
    let answer = Prepared::json(r#"{"result":{}}"#);
    let prepared = Prepared::start(vec![answer]).await;
    let client = client(&prepared.base).key(&Secret::new("k-1")).expect("a key");
    client.call(&function_call("f", json!({ "a": 1 }))).await.expect("a return");
    let request = prepared.requests().await.remove(0);
    let (head, body) = request.split_once("\r\n\r\n").expect("a body");
    assert!(head.starts_with("POST /opentool/call HTTP/1.1\r\n"), "{head}");
    for header in [
        "content-type: application/json",
        "accept: application/json",
        "authorization: Bearer k-1",
        "accept-encoding: gzip",
    ] {
        assert!(head.lines().any(|line| line == header), "{header} in {head}");
    }
    assert_eq!(body, r#"{"jsonrpc":"2.0","method":"f","params":{"a":1},"id":"id-1"}"#);
}

#[tokio::test]
async fn an_address_may_name_the_prefix_already() {
    for (address, path) in [
        ("", "/opentool/version"),
        ("/", "/opentool/version"),
        ("/opentool/", "/opentool/version"),
        ("/a", "/a/opentool/version"),
    ] {
        let prepared = Prepared::start(vec![Prepared::json(r#"{"versionNumber":"1.2.3"}"#)]).await;
        let version = client(&format!("{}{address}", prepared.base)).version().await.expect("a version");
        assert_eq!(version, "1.2.3");
        assert!(prepared.requests().await[0].starts_with(&format!("GET {path} ")));
    }
    for bad in ["127.0.0.1:9627", "ftp://x", "nonsense"] {
        assert!(matches!(Client::new(bad), Err(ClientError::Unusable(_))), "{bad}");
    }
}

#[tokio::test]
async fn a_server_that_does_not_answer_in_time_is_told_from_one_that_is_not_there() {
    let tcp = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let base = format!("http://{}", tcp.local_addr().expect("bound"));
    let limits = HttpLimits { timeout: Duration::from_millis(50), ..HttpLimits::default() };
    let error = client(&base).limits(limits).version().await.expect_err("silence");
    assert_eq!(
        Value::from(error.to_json()),
        json!({ "code": 408, "message": "The server did not answer in time" })
    );
}

#[tokio::test]
async fn a_server_without_tls_is_told_by_what_tls_says() {
    let server = Server::scripted().await;
    let error = client(&server.base.replace("http:", "https:")).version().await.expect_err("no TLS");
    let ClientError::Tls { what, .. } = &error else { panic!("{error:?}") };
    assert!(what.contains("InvalidContentType"), "{what}");
}

#[tokio::test]
async fn compressed_answers_are_read() {
    // `{"version":"9.9.9"}` by gzip.
    const GZIP: &[u8] = include_bytes!("opentool_documents/version.json.gz");
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        GZIP.len()
    );
    let prepared = Prepared::start(vec![[head.as_bytes(), GZIP].concat()]).await;
    assert_eq!(client(&prepared.base).version().await.expect("a version"), "9.9.9");
}

#[tokio::test]
async fn keys_are_shown_and_never_printed() {
    let keys = vec![ApiKey { name: "alice".into(), sha256: Secret::new("right").sha256(), toolset: None }];
    let settings = Settings { admission: Admission { keys, jwt: None }, ..Settings::default() };
    let server = Server::start(settings, Scripted::lowercase()).await;
    let with = |key: &str| client(&server.base).key(&Secret::new(key)).expect("a key");
    assert!(with("right").version().await.is_ok());
    assert!(matches!(with("wrong").version().await, Err(ClientError::Unauthorized)));
    assert!(matches!(with("wrong").load().await, Err(ClientError::Unauthorized)));
    let call = function_call("echo", json!({}));
    assert!(matches!(with("wrong").stream_call(&call).await, Err(ClientError::Unauthorized)));
    assert!(!format!("{:?}", with("right")).contains("right"));
}

#[tokio::test]
async fn streams_of_the_public_server_are_understood_however_they_are_cut() {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
    let follow = async |stream: &str| {
        let prepared = Prepared::start(vec![format!("{head}{stream}").into_bytes()]).await;
        let mut events =
            client(&prepared.base).stream_call(&function_call("f", json!({}))).await.expect("events");
        let mut told = Vec::new();
        loop {
            match events.next().await {
                Ok(Some(StreamEvent::Data(part))) => told.push(Value::from(part.result).to_string()),
                Ok(Some(other)) => told.push(format!("{other:?}")),
                Ok(None) => break,
                Err(error) => {
                    told.push(Value::from(error.to_json()).to_string());
                    break;
                }
            }
        }
        told.join(" ")
    };
    let data = "event:data\ndata:{\"jsonrpc\":\"2.0\",\"result\":{\"text\":\"a\"},\"id\":\"id-1\"}\n\n";
    assert_eq!(
        follow(&format!("event:start\ndata:{{\"start\":\"f\"}}\n\n{data}{data}")).await,
        r#"Start {"text":"a"} {"text":"a"}"#
    );
    assert_eq!(follow(&data.replace("event:", "event: ").replace('\n', "\r\n")).await, r#"{"text":"a"}"#);
    assert_eq!(
        follow("event:error\ndata:{\"code\":500,\"message\":\"m\",\"id\":\"id-1\"}\n\n").await,
        r#"{"code":500,"message":"m"}"#
    );
    assert_eq!(follow("event:done\ndata:{\"done\":\"f\"}\n\n").await, "Done");
}

#[test]
fn calls_and_returns_are_read_and_written() {
    let call =
        FunctionCall::from_json(&json!({ "id": "1", "name": "f", "arguments": { "a": 1 } })).expect("a call");
    assert_eq!(call.to_json(), json!({ "id": "1", "name": "f", "arguments": { "a": 1 } }));
    let returned = ToolReturn::from_json(&json!({ "id": "1", "result": {} })).expect("a return");
    assert_eq!(returned, ToolReturn::new("1", Map::new()));
    assert!(FunctionCall::from_json(&json!({ "id": 1 })).is_err());
}
