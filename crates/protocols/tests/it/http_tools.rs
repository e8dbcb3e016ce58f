//! Requests that a configuration describes, sent to a real server: what it is asked, and what is made of its answers.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::response::Response;
use serde_json::{Value, json};
use toolmux_core::gateway::Gateway;
use toolmux_core::limits::Limits;
use toolmux_core::outcome::{Content, Outcome, Retry};

use crate::api_server::{
    ApiRequest, ApiServer, answer, call, called, json as json_answer, mounted, mounted_within, open,
};

async fn gateway(server: &ApiServer, tools: Value) -> Arc<Gateway> {
    with(json!({ "url": format!("{}/v1", server.base), "tools": tools }), Path::new(".")).await
}

async fn with(table: Value, folder: &Path) -> Arc<Gateway> {
    mounted(open("http", table, folder).unwrap_or_else(|error| panic!("{error}"))).await
}

fn tool(request: &str, parameters: Value) -> Value {
    json!({ "description": "d", "request": request, "parameters": parameters })
}

/// Answers with what it was asked.
fn echo(request: &ApiRequest) -> Response {
    let told = json!([request.line, request.header("content-type"), request.text()]);
    let is_graphql = request.text().contains("\"variables\"");
    json_answer(&if is_graphql { json!({ "data": told }) } else { told }.to_string())
}

/// A tool of each kind of body, and of each place of a parameter.
fn every_place() -> Value {
    let text = || json!({ "type": "string" });
    let body = |media: &str, parameters: Value| {
        let mut tool = tool("POST /items", parameters);
        tool["body"] = media.into();
        tool
    };
    let item = json!({ "id": { "type": "integer", "in": "query" }, "n": { "type": "number" }, "tags": { "type": "array" } });
    let optional = json!({ "type": "integer", "required": false });
    json!({
        "forecast": tool("GET /forecast/{city}?unit=c", json!({ "city": text(), "days": optional })),
        "root": tool("GET", json!({})),
        "delete": tool("DELETE /items/{id}", json!({ "id": { "type": "integer" } })),
        "renamed": tool("POST /items", json!({ "text": { "type": "string", "name": "Text!" } })),
        "fixed": tool("GET /a", json!({ "q": text(), "key": { "in": "query", "value": ["x", "y"], "explode": false } })),
        "json": body("json", item.clone()),
        "form": body("form", item),
        "styled": body("form", json!({
            "a": { "type": "array", "style": "pipeDelimited" }, "b": { "type": "object", "style": "deepObject" }, "c": { "style": "json" },
        })),
        "text": body("text", json!({ "text": text() })),
        "bytes": body("bytes", json!({ "file": { "type": "file" } })),
        "graphql": { "description": "d", "graphql": "query ($id: ID!, $first: Int = 3) { a }" },
    })
}

/// A tool, its arguments, and what the server is asked: the request line, the type of the body, the body.
const SENT: &[(&str, &str, [&str; 3])] = &[
    ("forecast", r#"{"city":"São Paulo/x"}"#, ["GET /v1/forecast/S%C3%A3o%20Paulo%2Fx?unit=c", "", ""]),
    ("forecast", r#"{"city":"Rom","days":3}"#, ["GET /v1/forecast/Rom?unit=c&days=3", "", ""]),
    ("root", "{}", ["GET /v1", "", ""]),
    (
        "delete",
        r#"{"id":123456789012345678901234567890}"#,
        ["DELETE /v1/items/123456789012345678901234567890", "", ""],
    ),
    ("renamed", r#"{"text":"a"}"#, ["POST /v1/items", "application/json", r#"{"Text!":"a"}"#]),
    ("fixed", r#"{"q":"a b"}"#, ["GET /v1/a?key=x,y&q=a%20b", "", ""]),
    (
        "json",
        r#"{"n": 1.10, "id": 2.0,"tags":[ 1 ]}"#,
        ["POST /v1/items?id=2", "application/json", r#"{"n":1.10,"tags":[ 1 ]}"#],
    ),
    (
        "form",
        r#"{"id":1,"n":0.5,"tags":["a b","&c",{"d":1}]}"#,
        [
            "POST /v1/items?id=1",
            "application/x-www-form-urlencoded",
            "n=0.5&tags=a%20b&tags=%26c&tags=%7B%22d%22%3A1%7D",
        ],
    ),
    (
        "styled",
        r#"{"a":["x","y"],"b":{"k":"v"},"c":[1]}"#,
        ["POST /v1/items", "application/x-www-form-urlencoded", "a=x%7Cy&b%5Bk%5D=v&c=%5B1%5D"],
    ),
    ("text", r#"{"text":"a\nb"}"#, ["POST /v1/items", "text/plain; charset=utf-8", "a\nb"]),
    ("bytes", r#"{"file":"aGVsbG8"}"#, ["POST /v1/items", "application/octet-stream", "hello"]),
    (
        "graphql",
        r#"{"id":7}"#,
        [
            "POST /v1",
            "application/json",
            r#"{"query":"query ($id: ID!, $first: Int = 3) { a }","variables":{"id":7}}"#,
        ],
    ),
];

#[tokio::test]
async fn arguments_go_where_the_description_says() {
    let server = ApiServer::start(echo).await;
    let gateway = gateway(&server, every_place()).await;
    for (tool, arguments, expect) in SENT {
        let told = called(&gateway, tool, arguments).await;
        let told: Value = serde_json::from_str(&told).unwrap_or_else(|_| panic!("{tool}: {told}"));
        assert_eq!(told, json!(expect), "{tool}");
    }
    for (tool, arguments, expect) in [
        ("forecast", r#"{"city":".."}"#, "`city` must not be or make the path segment"),
        ("forecast", r#"{"town":"a"}"#, "`city` is required but missing; `town` is not a known"),
        ("bytes", r#"{"file":"%%"}"#, "`file` must be base64"),
        ("graphql", r#"{"id":1,"first":"x"}"#, "`first` must be"),
    ] {
        let told = called(&gateway, tool, arguments).await;
        assert!(told.starts_with(&format!("invalid: Invalid arguments: {expect}")), "{tool}: {told}");
    }
}

#[tokio::test]
async fn files_are_parts_of_a_multipart_body() {
    let server = ApiServer::start(echo).await;
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(folder.path().join("up")).expect("a folder");
    std::fs::write(folder.path().join("up/a.txt"), "from a file").expect("a file");
    std::fs::write(folder.path().join("secret.txt"), "secret").expect("a file");
    std::os::unix::fs::symlink(folder.path().join("secret.txt"), folder.path().join("up/link"))
        .expect("a link");
    let parameters = json!({ "note": { "type": "string" }, "file": { "type": "file" }, "about": { "type": "object", "required": false } });
    let mut upload = tool("POST /files", parameters);
    upload["body"] = "multipart".into();
    let table = json!({ "url": server.base, "tools": { "upload": upload }, "files": { "folders": ["up"], "max_bytes": 100 } });
    let gateway = with(table, folder.path()).await;
    let told = called(
        &gateway,
        "upload",
        r#"{"note":"a\"b","about":{"x" : 1},"file":{"base64":"/+8=","filename":"x\".png","content_type":"image/png"}}"#,
    )
    .await;
    assert!(told.starts_with('['), "{told}");
    let request = server.take().remove(0);
    let boundary =
        request.header("content-type").strip_prefix("multipart/form-data; boundary=").expect("multipart");
    let mut expect = Vec::new();
    for (head, body) in [
        ("content-disposition: form-data; name=\"note\"", b"a\"b".as_slice()),
        ("content-disposition: form-data; name=\"about\"\r\ncontent-type: application/json", b"{\"x\" : 1}"),
        (
            "content-disposition: form-data; name=\"file\"; filename=\"x%22.png\"\r\ncontent-type: image/png",
            b"\xff\xef",
        ),
    ] {
        expect.extend_from_slice(format!("--{boundary}\r\n{head}\r\n\r\n").as_bytes());
        expect.extend_from_slice(body);
        expect.extend_from_slice(b"\r\n");
    }
    expect.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    assert_eq!(String::from_utf8_lossy(&request.body), String::from_utf8_lossy(&expect));
    called(&gateway, "upload", r#"{"note":"","file":{"path":"a.txt"}}"#).await;
    let sent = server.take().remove(0).text();
    assert!(
        sent.contains("filename=\"a.txt\"\r\ncontent-type: application/octet-stream\r\n\r\nfrom a file"),
        "{sent}"
    );
    let outside = folder.path().join("secret.txt");
    for path in ["../secret.txt", "link", "nothing", outside.to_str().expect("UTF-8"), "/etc/passwd", "."] {
        let arguments = json!({ "note": "", "file": { "path": path } }).to_string();
        let told = called(&gateway, "upload", &arguments).await;
        assert!(told.contains("in a folder that the server's `files` allow"), "{path}: {told}");
    }
    std::fs::write(folder.path().join("up/big"), [0; 101]).expect("a file");
    let told = called(&gateway, "upload", r#"{"note":"","file":{"path":"big"}}"#).await;
    assert!(told.contains("`files.max_bytes`"), "{told}");
    let told =
        called(&gateway, "upload", r#"{"note":"","file":{"base64":"","content_type":"a\r\nb"}}"#).await;
    assert!(told.contains("`content_type`"), "{told}");
    assert!(server.take().is_empty(), "nothing was sent");
}

/// Answers by the path that is asked.
fn scripted(request: &ApiRequest) -> Response {
    let kind = |kind: &'static str| [("content-type", kind)];
    match request.line.as_str() {
        "GET /v1/exact" => json_answer("{ \"n\": 1.10, \"big\": 123456789012345678901234567890 }"),
        "GET /v1/bom" => json_answer("\u{feff}[1]"),
        "GET /v1/broken" => json_answer("{"),
        "GET /v1/text" => answer(200, &kind("text/csv"), "a,b"),
        "GET /v1/latin" => answer(200, &kind("text/plain; charset=latin1"), b"\xe9".to_vec()),
        "GET /v1/untyped" => answer(200, &[], "[1, 2]"),
        "GET /v1/image" => answer(200, &kind("image/png"), b"\x89PNG".to_vec()),
        "GET /v1/zip" => answer(200, &kind("application/zip"), b"PK".to_vec()),
        "GET /v1/empty" => answer(204, &[], ""),
        "GET /v1/missing" => answer(404, &kind("application/problem+json"), r#"{"title":"no such city"}"#),
        "GET /v1/html" => answer(500, &kind("text/html"), "<h1>oops</h1>"),
        "GET /v1/later" => answer(503, &[("retry-after", "7")], "later"),
        "GET /v1/page" => {
            answer(200, &[("content-type", "application/json"), ("link", "<?page=2>; rel=\"next\"")], "[1]")
        }
        "GET /v1/bomb" => {
            answer(200, &[("content-type", "application/json"), ("content-encoding", "gzip")], bomb())
        }
        _ => answer(400, &[], "what?"),
    }
}

/// Four megabytes of blanks in a few kilobytes.
fn bomb() -> Vec<u8> {
    include_bytes!("blanks.gz").to_vec()
}

#[tokio::test]
async fn answers_are_values_texts_bytes_or_failures() {
    let server = ApiServer::start(scripted).await;
    let names = [
        "exact", "bom", "broken", "text", "latin", "untyped", "image", "zip", "empty", "missing", "html",
        "later", "page", "bomb",
    ];
    let tools: serde_json::Map<String, Value> =
        names.iter().map(|name| ((*name).to_owned(), tool(&format!("GET /{name}"), json!({})))).collect();
    let table = json!({ "url": format!("{}/v1", server.base), "tools": tools, "max_answer": 1_000_000 });
    let gateway = with(table, Path::new(".")).await;
    let host = server.base.replace("http://", "");
    for (tool, expect) in [
        ("exact", r#"{ "n": 1.10, "big": 123456789012345678901234567890 }"#.to_owned()),
        ("bom", "[1]".to_owned()),
        ("broken", r#""{""#.to_owned()),
        ("text", r#""a,b""#.to_owned()),
        ("latin", r#""é""#.to_owned()),
        ("untyped", "[1, 2]".to_owned()),
        ("image", r#"{"content_type":"image/png","bytes":4,"base64":"iVBORw=="}"#.to_owned()),
        ("zip", r#"{"content_type":"application/zip","bytes":2,"base64":"UEs="}"#.to_owned()),
        ("empty", "null".to_owned()),
        ("missing", format!(r#"failed: `{host}` answered 404 Not Found: {{"title":"no such city"}}"#)),
        ("html", format!("failed: `{host}` answered 500 Internal Server Error: <h1>oops</h1>")),
        ("bomb", format!("failed: `{host}` answered with more than 1000000 bytes; the tool may have run")),
    ] {
        assert_eq!(called(&gateway, tool, "{}").await, expect, "{tool}");
    }
    let Ok(Outcome::Failed(error)) = call(&gateway, "later", "{}").await else { panic!("it fails") };
    assert_eq!(error.retry, Retry::After(Duration::from_secs(7)));
    let blocks = |outcome| match outcome {
        Ok(Outcome::Returned(output)) => output.content,
        other => panic!("{other:?}"),
    };
    let next = format!("There is a next page: {}/v1/page?page=2", server.base);
    assert_eq!(blocks(call(&gateway, "page", "{}").await), [Content::text("[1]"), Content::text(&next)]);
    let image = blocks(call(&gateway, "image", "{}").await);
    assert_eq!(image[0].json().get(), r#"{"type":"image","data":"iVBORw==","mimeType":"image/png"}"#);
}

#[tokio::test]
async fn an_answer_that_does_not_fit_is_noted_or_fails() {
    let server = ApiServer::start(|_| json_answer(r#"[{"id":"x"}]"#)).await;
    let mut list = tool("GET /list", json!({}));
    list["returns"] = json!({ "type": "array", "items": { "properties": { "id": { "type": "integer" } } } });
    for (check, value, notes) in [("off", true, 0), ("warn", true, 2), ("strict", false, 0)] {
        let table = json!({ "url": server.base, "tools": { "list": list }, "output": check });
        let gateway = with(table, Path::new(".")).await;
        match call(&gateway, "list", "{}").await {
            Ok(Outcome::Returned(output)) => {
                assert!(value && output.content.len() == notes, "{check}: {output:?}");
                assert_eq!(output.value.get(), r#"[{"id":"x"}]"#);
            }
            Ok(Outcome::Failed(error)) => {
                let words = error.message.public;
                assert!(!value && words.contains("`[0].id` must be an integer"), "{check}: {words}");
            }
            Err(refusal) => panic!("{refusal:?}"),
        }
    }
}

#[tokio::test]
async fn graphql_errors_are_failures_whatever_the_status() {
    let server = ApiServer::start(|request| {
        json_answer(match request.text() {
            text if text.contains("good") => r#"{"data":{"a" : 1},"extensions":{}}"#,
            text if text.contains("bad") => {
                r#"{"data":{"a":null},"errors":[{"message":"no a"},{"message":"no b"}]}"#
            }
            _ => "[]",
        })
    })
    .await;
    let graphql = |query: &str| json!({ "description": "d", "graphql": query });
    let tools = json!({ "good": graphql("{ good }"), "bad": graphql("mutation { bad }"), "other": graphql("{ other }") });
    let gateway = gateway(&server, tools).await;
    assert_eq!(called(&gateway, "good", "{}").await, r#"{"a" : 1}"#);
    assert_eq!(called(&gateway, "bad", "{}").await, "failed: no a; no b");
    assert_eq!(
        called(&gateway, "other", "{}").await,
        "failed: The server answered something else than GraphQL"
    );
    let hints = |name: &str| {
        let catalog = gateway.catalog();
        let entry = catalog.every().find(|entry| &*entry.flat == name).expect("listed");
        entry.hints.read_only
    };
    assert_eq!((hints("good"), hints("bad")), (Some(true), Some(false)));
}

#[tokio::test]
async fn a_request_that_fails_costs_only_its_own_tool() {
    let server = ApiServer::start(|request| match request.line.as_str() {
        "POST /v1/bad" => answer(502, &[], "the server behind it is gone"),
        _ => echo(request),
    })
    .await;
    let tools = json!({ "bad": tool("POST /bad", json!({})), "good": tool("GET /good", json!({})) });
    let table = json!({ "url": format!("{}/v1", server.base), "tools": tools });
    let source = open("http", table, Path::new(".")).unwrap_or_else(|error| panic!("{error}"));
    let gateway = mounted_within(Limits::default(), source).await;
    for _ in 0..5 {
        let told = called(&gateway, "bad", "{}").await;
        assert!(told.ends_with("the tool may have run"), "{told}");
    }
    let told = called(&gateway, "bad", "{}").await;
    assert!(told.contains("The circuit breaker of tool") && told.contains("is open"), "{told}");
    assert_eq!(called(&gateway, "good", "{}").await, r#"["GET /v1/good","",""]"#);
    assert_eq!(server.take().len(), 6, "a tool whose circuit breaker is open is not called");
}

#[tokio::test]
async fn redirects_stay_on_the_host_and_lose_credentials() {
    let other = ApiServer::start(echo).await;
    let away = format!("{}/stolen", other.base);
    let server = ApiServer::start(move |request| {
        let to = |status, place: &str| answer(status, &[("location", place)], "");
        match request.line.as_str() {
            "GET /v1/here" => to(302, "there?a=b#c"),
            "POST /v1/see" => to(303, "/v1/there"),
            "POST /v1/again" => to(307, "/v1/there"),
            "POST /v1/unclear" => to(302, "/v1/there"),
            "GET /v1/away" => to(302, &away),
            "POST /v1/away" => to(308, &away),
            "GET /v1/user" => to(302, "http://u:p@127.0.0.1/"),
            "GET /v1/loop" => to(301, "/v1/loop"),
            _ => echo(request),
        }
    })
    .await;
    let post = |path: &str| tool(&format!("POST {path}"), json!({ "a": { "type": "integer" } }));
    let get = |path: &str| tool(&format!("GET {path}"), json!({}));
    let tools = json!({
        "here": get("/here"), "see": post("/see"), "again": post("/again"), "unclear": post("/unclear"),
        "away": get("/away"), "away_post": post("/away"), "user": get("/user"), "loop": get("/loop"),
    });
    let headers = json!({ "Authorization": "Bearer hunter2", "X-Key": "hunter2", "Cookie": "s=hunter2" });
    let table = json!({ "url": format!("{}/v1", server.base), "tools": tools, "headers": headers });
    let gateway = with(table, Path::new(".")).await;
    for (tool, arguments, expect) in [
        ("here", "{}", r#"["GET /v1/there?a=b","",""]"#),
        ("see", r#"{"a":1}"#, r#"["GET /v1/there","",""]"#),
        ("again", r#"{"a":1}"#, r#"["POST /v1/there","application/json","{\"a\":1}"]"#),
    ] {
        assert_eq!(called(&gateway, tool, arguments).await, expect, "{tool}");
        let [first, second] = &server.take()[..] else { panic!("{tool}: two requests") };
        assert_eq!(first.header("authorization"), "Bearer hunter2");
        assert!(!format!("{:?}", second.headers).contains("hunter2"), "{tool}: {:?}", second.headers);
    }
    for (tool, arguments, expect) in [
        ("unclear", r#"{"a":1}"#, "which is not followed; the tool may have run"),
        ("away", "{}", "which is not followed; the tool may have run"),
        ("away_post", r#"{"a":1}"#, "which is not followed; the tool may have run"),
        ("user", "{}", "which is not followed"),
        ("loop", "{}", "which is not followed"),
    ] {
        let told = called(&gateway, tool, arguments).await;
        assert!(told.contains(expect), "{tool}: {told}");
    }
    assert!(other.take().is_empty(), "nobody else was asked");
}

#[tokio::test]
async fn no_cookie_is_kept_and_no_argument_replaces_what_the_configuration_sets() {
    let server = ApiServer::start(|request| {
        let told =
            format!("{}|{}|{}", request.header("cookie"), request.header("x-key"), request.header("x-own"));
        answer(200, &[("set-cookie", "session=1"), ("content-type", "text/plain")], told)
    })
    .await;
    let text =
        |place: &str, name: &str| json!({ "type": "string", "in": place, "name": name, "required": false });
    let parameters = json!({ "cookie": text("cookie", "a"), "key": text("header", "X-Key"), "own": text("header", "X-Own") });
    let mut tool = tool("GET /", parameters);
    tool["headers"] = json!({ "X-Tool": "t" });
    let table = json!({ "url": server.base, "tools": { "t": tool }, "headers": { "X-Key": "configured" } });
    let gateway = with(table, Path::new(".")).await;
    for _ in 0..2 {
        assert_eq!(called(&gateway, "t", r#"{"key":"mine","own":"o"}"#).await, r#""|configured|o""#);
    }
    assert_eq!(called(&gateway, "t", r#"{"cookie":"b;c"}"#).await, r#""a=b%3Bc|configured|""#);
    assert!(server.take().iter().all(|request| request.header("x-tool") == "t"));
}

#[test]
fn faults_name_the_tool_and_the_key() {
    let check = |change: &dyn Fn(&mut Value), expect: &str| {
        let parameters =
            json!({ "city": { "type": "string" }, "days": { "type": "integer", "required": false } });
        let mut table = json!({ "url": "https://h/v1", "tools": { "forecast": tool("GET /forecast/{city}", parameters) } });
        change(&mut table["tools"]["forecast"]);
        let said = match open("http", table, Path::new(".")) {
            Ok(_) => "it opens".to_owned(),
            Err(error) => error.to_string(),
        };
        assert!(said.contains(expect), "{expect} is not in: {said}");
    };
    check(&|_| {}, "it opens");
    check(
        &|tool| tool["request"] = "GET /forecast/{ctiy}".into(),
        "tool `forecast`: `request` has a name in braces that is not in `parameters`; did you mean `{city}`?",
    );
    check(&|tool| tool["request"] = "FETCH /x".into(), "tool `forecast`: `request` must begin with a method");
    check(&|tool| tool["request"] = Value::Null, "tool `forecast`: needs `request` or `graphql`");
    check(
        &|tool| tool["parameters"]["days"]["requierd"] = true.into(),
        "tool `forecast`: parameter `days` has an unknown key `requierd`; did you mean `required`?",
    );
    check(&|tool| tool["parameters"]["days"]["in"] = "path".into(), "parameter `days` has `in = \"path\"`");
    check(&|tool| tool["parameters"]["city"]["in"] = "query".into(), "parameter `city` is in braces");
    check(&|tool| tool["parameters"]["days"] = json!({ "in": "header", "name": "Host" }), "must not choose");
    check(&|tool| tool["parameters"]["days"] = json!({ "type": "file" }), "only for the body");
    check(&|tool| tool["request"] = "POST /{city}".into(), "it opens");
    check(
        &|tool| {
            tool["request"] = "POST /{city}".into();
            tool["parameters"]["days"] = json!({ "type": "file" });
        },
        "needs `body = \"multipart\"`",
    );
    check(
        &|tool| {
            tool["request"] = "POST /{city}".into();
            tool["parameters"]["days"] = json!({ "style": "form" });
        },
        "parameter `days` has a `style`, which in a body needs `body = \"multipart\"` or `body = \"form\"`",
    );
    check(
        &|tool| *tool = json!({ "description": "d", "graphql": "query ($town: ID!) { a }", "parameters": { "twon": {} } }),
        "parameter `twon` is not a variable of `graphql`; did you mean `town`?",
    );
    check(
        &|tool| tool["descriptoin"] = "d".into(),
        "one of its settings has a value that is not of the expected kind",
    );
}
