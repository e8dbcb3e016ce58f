//! An OpenTool server as a source: what it says goes on to the letter, whatever it is.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use toolmux_core::delivery::{Delivery, GrantName, Place};
use toolmux_core::gateway::{Gateway, Settings};
use toolmux_core::limits::Limits;
use toolmux_core::memory::MemoryStore;
use toolmux_core::ports::source::Source;
use toolmux_core::requirements::Requirements;
use toolmux_core::secret::Secret;
use toolmux_core::sources::{Mount, Naming, SourceStatus, ToolSettings};
use toolmux_core::toolset::Pattern;
use toolmux_protocols::opentool::{OpenTool, OpenToolInterface, ToolException, ToolSource};
use toolmux_protocols::registry::{OpenError, Opening, SecretSetting};

use crate::opentool::{Prepared, SETTLE, Server};
use crate::scripted_source::Scripted;

const CRUD: &str = include_str!("opentool_documents/crud.json");

fn open_in(folder: &Path, table: Value) -> Result<Arc<dyn Source>, OpenError> {
    let secrets = |setting: &SecretSetting| match setting {
        SecretSetting::Text(text) => Ok(Secret::new(text.as_str())),
        SecretSetting::Env { .. } | SecretSetting::File { .. } => Err("not here".to_owned()),
    };
    let kind = toolmux_protocols::SOURCES.iter().find(|kind| kind.kind == "opentool").expect("known");
    (kind.open)(&Opening { name: "Remote", table, folder, secrets: &secrets })
}

fn open(table: Value) -> Arc<dyn Source> {
    open_in(Path::new("."), table).unwrap_or_else(|error| panic!("{error}"))
}

/// Our server in front of a source, which fails on purpose and often.
async fn front(source: Arc<dyn Source>) -> Server {
    let limits = Limits { breaker_failures: 1_000, ..Limits::default() };
    Server::start(Settings { limits, ..Settings::default() }, source).await
}

async fn check(answers: Vec<Vec<u8>>, expect: &str) {
    let document = OpenTool::from_json(CRUD).expect("a document");
    let load = Prepared::json(&serde_json::to_string(&document).expect("JSON"));
    let prepared = Prepared::start([vec![load], answers].concat()).await;
    let server = front(open(json!({ "url": prepared.base }))).await;
    assert_eq!(server.call("count", "{}").await.1, expect);
}

#[tokio::test]
async fn values_errors_and_streams_are_relayed_to_the_letter() {
    let far = front(Scripted::lowercase()).await;
    let near = front(open(json!({ "url": far.base }))).await;
    let tools = [
        ("add", r#"{"a":1,"b":2.5}"#),
        ("echo", r#"{"n" : 1.10, "big": 123456789012345678901234567890, "s":"é"}"#),
        ("nothing", "{}"),
        ("text", "{}"),
        ("list", "{}"),
        ("exact", "{}"),
        ("blocks", "{}"),
        ("steps", "{}"),
        ("parts", "{}"),
        ("fail", "{}"),
        ("stumble", "{}"),
        ("picky", "{}"),
        ("challenge", "{}"),
        ("needy", "{}"),
        ("busy", "{}"),
        ("broken", "{}"),
        ("down", "{}"),
        ("closed", "{}"),
        ("lost", "{}"),
        ("add", r#"{"a":"x"}"#),
    ];
    for (tool, params) in tools {
        assert_eq!(near.call(tool, params).await, far.call(tool, params).await, "{tool}");
        assert_eq!(near.stream(tool, params).await, far.stream(tool, params).await, "{tool}");
    }
}

#[tokio::test]
async fn a_description_goes_on_to_the_letter() {
    let far = front(Arc::new(ToolSource(Notes))).await;
    let near = front(open(json!({ "url": far.base }))).await;
    let load = async |server: &Server| server.ask(http::Method::GET, "/opentool/load", &[], "").await.2;
    assert_eq!(load(&near).await, load(&far).await);
    let expect = OpenTool::from_json(CRUD).expect("a document").resolved();
    let told: OpenTool = load(&near).await.parse().expect("a document");
    assert_eq!(told.functions, expect.functions);
}

#[tokio::test]
async fn a_server_that_cannot_stream_is_called_instead() {
    let document = OpenTool::from_json(CRUD).expect("a document");
    let answers = vec![
        Prepared::json(&serde_json::to_string(&document).expect("JSON")),
        Prepared::answer("404 Not Found", "text/html", "<pre>Cannot POST /opentool/streamCall</pre>"),
        Prepared::json(r#"{"jsonrpc":"2.0.0","result":{"count":1},"id":"2"}"#),
        Prepared::json(r#"{"jsonrpc":"2.0.0","result":{"count":2},"id":"3"}"#),
    ];
    let prepared = Prepared::start(answers).await;
    let server = front(open(json!({ "url": prepared.base }))).await;
    for count in [1, 2] {
        let pieces = server.stream("count", "{}").await;
        assert!(pieces[1].contains(&format!(r#""result":{{"count":{count}}}"#)), "{pieces:?}");
    }
    let paths: Vec<String> =
        prepared.requests().await.iter().map(|r| r.split(' ').nth(1).unwrap_or("").to_owned()).collect();
    assert_eq!(paths, ["/opentool/load", "/opentool/streamCall", "/opentool/call", "/opentool/call"]);
}

/// A server in front of one whose function `watch-all` streams two parts, once.
async fn streaming() -> Server {
    let document = OpenTool::from_json(CRUD).expect("a document");
    let part = |n: u8| {
        format!("event:data\ndata:{{\"jsonrpc\":\"2.0\",\"result\":{{\"n\": {n}}},\"id\":\"1\"}}\n\n")
    };
    let stream = format!(
        "event:start\ndata:{{\"start\":\"watch-all\"}}\n\n{}{}event:done\ndata:{{\"done\":\"watch-all\"}}\n\n",
        part(1),
        part(2)
    );
    let load = Prepared::json(&serde_json::to_string(&document).expect("JSON"));
    let prepared =
        Prepared::start(vec![load, Prepared::answer("200 OK", "text/event-stream", &stream)]).await;
    front(open(json!({ "url": prepared.base }))).await
}

#[tokio::test]
async fn a_function_that_streams_is_followed_even_for_callers_who_do_not() {
    let expect = r#"{"jsonrpc":"2.0","result":{"parts":[{"n": 1},{"n": 2}]},"error":null,"id":"7"}"#;
    assert_eq!(streaming().await.call("watch-all", "{}").await.1, expect);
}

#[tokio::test]
async fn a_recorded_stream_is_told_again_part_by_part() {
    let server = streaming().await;
    let ask = async || {
        let body = r#"{"jsonrpc":"2.0","method":"watch-all","params":{},"id":"7"}"#;
        server.ask(http::Method::POST, "/opentool/streamCall", &[("idempotency-key", "1")], body).await.2
    };
    let first = ask().await;
    assert_eq!(first.matches("event: data").count() + first.matches("event:data").count(), 2, "{first}");
    assert_eq!(ask().await, first);
}

#[tokio::test]
async fn answers_of_servers_map_through_the_table() {
    let error = |code: i64, message: &str| {
        json!({ "jsonrpc": "2.0", "result": {}, "error": { "code": code, "message": message }, "id": "7" })
            .to_string()
    };
    let given = |code: i64| Prepared::json(&error(code, "m").replace(r#""id":"7""#, r#""id":"1""#));
    check(vec![given(500)], &error(500, "m")).await;
    check(vec![given(418)], &error(418, "m")).await;
    check(vec![given(401)], &error(401, "m")).await;
    check(vec![given(405)], &error(405, "Tool `count` was not found")).await;
    check(vec![given(503)], &error(503, "m")).await;
    check(vec![given(-32700)], &error(500, "The OpenTool server could not read the call")).await;
    let refused = r#"{"jsonrpc":"2.0","result":{},"error":{"code":400,"message":"Invalid arguments: the arguments were refused: m","data":{"parameter_errors":[{"parameter":"","message":"were refused: m"}]}},"id":"7"}"#;
    check(vec![given(400)], refused).await;
    let unauthorized = Prepared::answer("401 Unauthorized", "text/plain", "no");
    check(vec![unauthorized], &error(503, "The OpenTool server does not accept our key")).await;
    let html = Prepared::answer("500 Internal Server Error", "text/html", "oops");
    check(vec![html], &error(500, "HTTP 500: oops; the tool may have run")).await;
    let empty = "The OpenTool server answered with nothing; the tool may have run";
    check(vec![Prepared::json("")], &error(500, empty)).await;
}

#[tokio::test]
async fn a_tag_saves_a_server_from_telling_the_same_again() {
    let load = r#"{"opentool":"1.1.0","info":{"title":"T","version":"1.0.0"},"functions":[]}"#;
    let with_tag = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nETag: \"t1\"\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{load}",
        load.len()
    );
    let same = b"HTTP/1.1 304 Not Modified\r\nConnection: close\r\n\r\n".to_vec();
    let prepared = Prepared::start(vec![with_tag.into_bytes(), same]).await;
    let source = open(json!({ "url": prepared.base }));
    let first = source.tools().await.expect("a list");
    assert_eq!(source.tools().await.expect("a list"), first);
    assert!(prepared.requests().await[1].contains("if-none-match: \"t1\""));
}

#[tokio::test]
async fn a_document_describes_a_server_that_does_not() {
    let far = front(Arc::new(ToolSource(Notes))).await;
    let folder = tempfile::tempdir().expect("a folder");
    let mut document = OpenTool::from_json(CRUD).expect("a document");
    document.server.as_mut().expect("a server").url.clone_from(&far.base);
    document.functions.truncate(1);
    std::fs::write(folder.path().join("notes.json"), document.to_json()).expect("written");
    let source = open_in(folder.path(), json!({ "document": "notes.json", "key": "k" })).expect("opens");
    let near = front(source).await;
    assert_eq!(
        near.call("count", "{}").await.1,
        r#"{"jsonrpc":"2.0","result":{"count":7},"error":null,"id":"7"}"#
    );
    assert_eq!(near.gateway.catalog().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_document_that_is_written_again_is_read_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("notes.json");
    std::fs::write(&file, CRUD).expect("written");
    let source = open_in(folder.path(), json!({ "document": "notes.json" })).expect("opens");
    assert_eq!(source.tools().await.expect("a list").tools.len(), 3);
    let later = std::time::SystemTime::now() + std::time::Duration::from_mins(1);
    std::fs::write(&file, CRUD.replace("watch-all", "watch")).expect("written");
    std::fs::File::options()
        .write(true)
        .open(&file)
        .and_then(|file| file.set_modified(later))
        .expect("dated");
    source.changed().await;
    assert_eq!(&*source.tools().await.expect("a list").tools[2].name, "watch");
}

#[tokio::test]
async fn credentials_are_delivered_and_never_described() {
    let document = OpenTool::from_json(CRUD).expect("a document");
    let load = Prepared::json(&serde_json::to_string(&document).expect("JSON"));
    let prepared = Prepared::start(vec![load, Prepared::json(r#"{"result":{"id":1}}"#)]).await;
    let secret = |place: Place| Delivery { grant: GrantName::Secret("K".into()), place };
    let header = Place::Header { name: "x-key".into(), prefix: "Key ".into() };
    let own = ToolSettings {
        requires: Some(Requirements { secrets: vec!["K".into()], ..Requirements::default() }),
        deliver: vec![secret(Place::Argument("color".into())), secret(header)],
        ..ToolSettings::default()
    };
    let settings = Settings {
        tools: vec![(Pattern::new("Kit.create"), own)],
        vault: [("K".to_owned(), Secret::new("red"))].into_iter().collect(),
        ..Settings::default()
    };
    let server = Server::start(settings, open(json!({ "url": prepared.base }))).await;
    let told = server.ask(http::Method::GET, "/opentool/load", &[], "").await.2;
    assert!(told.contains("weight") && !told.contains("color"), "{told}");
    assert!(server.call("create", r#"{"note":{"text":"t"}}"#).await.1.contains(r#""result":{"id":1}"#));
    let request = prepared.requests().await.remove(1);
    assert!(request.contains("x-key: Key red") && request.contains(r#""color":"red""#), "{request}");
}

#[tokio::test]
async fn a_server_that_describes_nothing_says_what_to_do() {
    let prepared = Prepared::start(vec![Prepared::json("{}")]).await;
    let error = open(json!({ "url": prepared.base })).tools().await.expect_err("nothing");
    assert!(error.message().public.contains("`document` can point at"), "{error:?}");
}

#[tokio::test]
async fn a_function_with_faults_costs_only_itself() {
    let load = r#"{"opentool":"1.0.0","info":{"title":"T","version":"1"},"functions":[
        {"name":"good","description":"d","parameters":[]},
        {"name":"bad","description":"d","parameters":[{"name":"x","schema":{"type":"float"},"required":true}]}]}"#;
    let prepared = Prepared::start(vec![Prepared::json(load)]).await;
    let listing = open(json!({ "url": prepared.base })).tools().await.expect("a list");
    assert_eq!(listing.tools.len(), 1);
    let why = "`float` is not a type at `$.functions[1].parameters[0].schema.type`".to_owned();
    assert_eq!(listing.unusable, [("bad".to_owned(), why)]);
}

#[tokio::test]
async fn a_server_that_is_not_there_costs_only_its_own_tools() {
    let gateway = Gateway::new(Settings::default(), Arc::new(MemoryStore::default()));
    gateway.sources().mount(Mount::new(
        "Gone",
        "Gone",
        Naming::Bare,
        open(json!({ "url": "http://127.0.0.1:1" })),
    ));
    gateway.sources().mount(Mount::new("Kit", "Kit", Naming::Bare, Scripted::lowercase()));
    gateway.sources().settled(SETTLE).await;
    let SourceStatus::Failing(why) = &gateway.sources().reports()[0].status else {
        panic!("it is not there")
    };
    assert_eq!(why.public, "Cannot connect to `127.0.0.1:1`");
    let server = Server::over(gateway).await;
    assert_eq!(server.call("nothing", "{}").await.0, 200);
}

#[test]
fn what_is_wrong_with_a_table_is_told_with_its_remedy() {
    let told = |table: Value| {
        let error = open_in(Path::new("."), table).err().expect("refused");
        (error.to_string(), error.hint.unwrap_or_default())
    };
    assert_eq!(
        told(json!({})),
        (
            "there is no address of the server".to_owned(),
            "give `url = \"http://host:port\"`, or a document that has a `server.url`".to_owned()
        )
    );
    assert_eq!(told(json!({ "url": "nonsense" })).0, "its address or its key cannot be used");
    assert!(
        told(json!({ "document": "none.json" })).0.starts_with("the file of `document` cannot be read: ")
    );
    let misfit = "one of its settings has a value that is not of the expected kind";
    assert_eq!(told(json!({ "address": "x" })).0, misfit);
}

/// The specification's `Tool` interface, implemented.
struct Notes;

impl OpenToolInterface for Notes {
    async fn call(
        &self,
        name: &str,
        arguments: Option<Map<String, Value>>,
    ) -> Result<Map<String, Value>, ToolException> {
        match name {
            "count" => Ok([("count".to_owned(), json!(7))].into_iter().collect()),
            "create" => Err(ToolException::InvalidArguments(format!(
                "{}",
                Value::from(arguments.unwrap_or_default())
            ))),
            other => Err(ToolException::FunctionNotSupported(other.to_owned())),
        }
    }

    async fn load(&self) -> Option<OpenTool> {
        OpenTool::from_json(CRUD).ok()
    }
}

#[tokio::test]
async fn anything_that_has_the_interface_of_the_specification_is_served() {
    let server = front(Arc::new(ToolSource(Notes))).await;
    let call = async |name: &str, params: &str| {
        let answer: Value = serde_json::from_str(&server.call(name, params).await.1).expect("JSON");
        answer["error"]
            .get("code")
            .map_or(answer["result"].clone(), |code| json!([code, answer["error"]["message"]]))
    };
    assert_eq!(call("count", "{}").await, json!({ "count": 7 }));
    assert_eq!(call("watch-all", "{}").await, json!([405, "Tool `watch-all` was not found"]));
    let refused = r#"Invalid arguments: the arguments were refused: {"note":{"text":"t"}}"#;
    assert_eq!(call("create", r#"{"note":{"text":"t"}}"#).await, json!([400, refused]));
    assert_eq!(call("create", "{}").await, json!([400, "Invalid arguments: `note` is required but missing"]));
}
