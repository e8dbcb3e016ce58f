//! Tasks as clients of 2026-07-28 see them: the extension `io.modelcontextprotocol/tasks`.

use std::sync::Arc;
use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use toolmux_core::BoxFuture;
use toolmux_core::call::Call;
use toolmux_core::gateway::{Admission, ApiKey, Credential, Settings};
use toolmux_core::json_text::raw_of;
use toolmux_core::outcome::{Outcome, Output, ToolError};
use toolmux_core::ports::source::{Listing, Source, SourceError};
use toolmux_core::progress::Progress;
use toolmux_core::schema::Schema;
use toolmux_core::secret::Secret;
use toolmux_core::task::TaskStatus;
use toolmux_core::tool::{TaskSupport, Tool};
use toolmux_core::toolset::{Pattern, Toolset};

use crate::mcp_client::{ask, events, modern, modern_as, send, text};
use crate::mcp_fixture::{Kit, Served, serve};

/// How long anything may take on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Tools that end only when the test lets them.
pub(crate) struct Held(pub(crate) Semaphore);

impl Source for Held {
    fn tools(&self) -> BoxFuture<'_, Result<Listing, SourceError>> {
        let tool = |name: &str| Tool::new(name, name, Schema::no_parameters());
        Box::pin(std::future::ready(Ok(vec![tool("wait"), tool("fail"), tool("ask")].into())))
    }

    fn call<'a>(
        &'a self,
        call: &'a Call,
        progress: &'a Progress,
    ) -> BoxFuture<'a, Result<Outcome, SourceError>> {
        Box::pin(async move {
            self.0.acquire().await.expect("never closed").forget();
            Ok(match call.tool_name() {
                "ask" => return Kit.call(call, progress).await,
                "wait" => Outcome::Returned(Output::value(raw_of(&json!("done")))),
                _ => Outcome::Failed(ToolError::new("It did not work")),
            })
        })
    }
}

pub(crate) struct Tasks {
    pub(crate) served: Served,
    pub(crate) held: Arc<Held>,
}

impl Tasks {
    pub(crate) async fn serve(settings: Settings) -> Self {
        let held = Arc::new(Held(Semaphore::new(0)));
        let sources: Vec<(&str, Arc<dyn Source>)> =
            vec![("Held", Arc::clone(&held) as _), ("Kit", Arc::new(Kit))];
        Tasks { served: serve(settings, sources).await, held }
    }

    /// The status and the whole answer to a request of a client that knows tasks.
    async fn ask(&self, method: &str, params: Value) -> (u16, Value) {
        let (status, body) = ask(&self.served.url, modern_as(method, params, knows_tasks())).await;
        (status, serde_json::from_str(&body).expect("an answer"))
    }

    async fn get(&self, id: &Value) -> Value {
        self.ask("tasks/get", json!({ "taskId": id })).await.1["result"].clone()
    }

    /// The result of a call that is quick, on a machine that may be slow.
    async fn quick(&self, call: Value) -> Value {
        let calling = async {
            loop {
                let (_, answer) = self.ask("tools/call", call.clone()).await;
                if answer["result"]["resultType"] == "complete" {
                    return answer["result"].clone();
                }
            }
        };
        tokio::time::timeout(PATIENCE, calling).await.expect("it is quick once")
    }

    async fn begin(&self, tool: &str) -> Value {
        let (_, answer) = self.ask("tools/call", json!({ "name": tool })).await;
        assert_eq!(answer["result"]["resultType"], "task", "{answer}");
        answer["result"]["taskId"].clone()
    }

    /// The task once it has this status.
    async fn until(&self, id: &Value, status: &str) -> Value {
        let looking = async {
            loop {
                let task = self.get(id).await;
                if task["status"] == status {
                    return task;
                }
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(PATIENCE, looking).await.expect("the task gets there")
    }
}

fn knows_tasks() -> Value {
    json!({ "elicitation": {}, "extensions": { "io.modelcontextprotocol/tasks": {} } })
}

#[tokio::test]
async fn a_slow_call_becomes_a_task_that_is_looked_at() {
    let tasks = Tasks::serve(Settings::default()).await;
    let (status, answer) = tasks.ask("tools/call", json!({ "name": "Held_wait" })).await;
    let created = &answer["result"];
    assert_eq!(
        (status, &created["resultType"], &created["status"]),
        (200, &json!("task"), &json!("working"))
    );
    assert!(created["ttlMs"].as_u64().is_some_and(|ttl| ttl >= 300_000), "{created}");
    assert!(created["pollIntervalMs"].is_u64() && created.get("result").is_none(), "{created}");
    let working = tasks.get(&created["taskId"]).await;
    assert_eq!((&working["resultType"], &working["status"]), (&json!("complete"), &json!("working")));
    assert_eq!(working["createdAt"], created["createdAt"]);
    tasks.held.0.add_permits(1);
    let ended = tasks.until(&created["taskId"], "completed").await;
    assert_eq!(ended["result"]["content"], json!([{ "type": "text", "text": "done" }]));
    assert_eq!(ended["result"]["resultType"], "complete");
}

#[tokio::test]
async fn a_quick_call_and_a_client_without_the_extension_get_results() {
    let tasks = Tasks::serve(Settings::default()).await;
    let echoed = tasks.quick(json!({ "name": "Kit_echo", "arguments": { "text": "hi" } })).await;
    assert_eq!(echoed["content"][0]["text"], "hi");
    assert_eq!(echoed.get("taskId"), None);
    assert_eq!(tasks.quick(json!({ "name": "Kit_fail" })).await["isError"], true);
    let (status, answer) = tasks.ask("tools/call", json!({ "name": "Kit_ech" })).await;
    assert_eq!((status, &answer["error"]["code"]), (400, &json!(-32602)), "{answer}");
    tasks.held.0.add_permits(1);
    let (_, body) = ask(&tasks.served.url, modern("tools/call", json!({ "name": "Held_wait" }))).await;
    assert!(body.contains("\"done\"") && !body.contains("taskId"), "{body}");
}

#[tokio::test]
async fn a_call_given_up_before_its_task_is_known_is_cancelled() {
    let tasks = Tasks::serve(Settings::default()).await;
    let caller = tasks.served.gateway.admit(Credential::None, None).expect("everybody may");
    let listed = async || tasks.served.gateway.tasks().list(&caller, None).await.expect("a list");
    let looking = async {
        loop {
            let before = listed().await.len();
            let begun = async {
                while listed().await.len() == before {
                    tokio::task::yield_now().await;
                }
            };
            tokio::select! {
                _ = tasks.ask("tools/call", json!({ "name": "Held_wait" })) => {}
                () = begun => {}
            }
            // A machine that is busy may have told the id already: then the call goes on.
            for _ in 0..1_000 {
                if listed().await.iter().any(|task| task.status == TaskStatus::Cancelled) {
                    return;
                }
                tokio::task::yield_now().await;
            }
        }
    };
    tokio::time::timeout(PATIENCE, looking).await.expect("the tool is stopped");
}

#[tokio::test]
async fn a_tool_that_fails_completes_its_task() {
    let tasks = Tasks::serve(Settings::default()).await;
    let id = tasks.begin("Held_fail").await;
    tasks.held.0.add_permits(1);
    let ended = tasks.until(&id, "completed").await;
    assert_eq!(ended["result"]["isError"], true);
    assert_eq!(ended["result"]["content"][0]["text"], "It did not work");
}

#[tokio::test]
async fn a_cancelled_task_says_so_however_often_it_is_cancelled() {
    let tasks = Tasks::serve(Settings::default()).await;
    let id = tasks.begin("Held_wait").await;
    for _ in 0..2 {
        let (status, answer) = tasks.ask("tasks/cancel", json!({ "taskId": id })).await;
        assert_eq!((status, &answer["result"]["resultType"]), (200, &json!("complete")), "{answer}");
        assert_eq!(answer["result"].get("status"), None);
    }
    assert_eq!(tasks.get(&id).await["status"], "cancelled");
}

#[tokio::test]
async fn who_does_not_declare_the_extension_is_told_what_is_missing() {
    let tasks = Tasks::serve(Settings::default()).await;
    let id = tasks.begin("Held_wait").await;
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let params = json!({ "taskId": id, "inputResponses": {} });
        let (status, body) = ask(&tasks.served.url, modern(method, params)).await;
        let body: Value = serde_json::from_str(&body).expect("an answer");
        assert_eq!((status, &body["error"]["code"]), (400, &json!(-32021)), "{body}");
        let required = json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } });
        assert_eq!(body["error"]["data"]["requiredCapabilities"], required);
    }
    let listen = json!({ "notifications": { "taskIds": [id] } });
    let (status, body) = ask(&tasks.served.url, modern("subscriptions/listen", listen)).await;
    assert!(status == 400 && body.contains("-32021"), "{status} {body}");
    for gone in ["tasks/list", "tasks/result"] {
        let (status, answer) = tasks.ask(gone, json!({ "taskId": id })).await;
        assert_eq!((status, &answer["error"]["code"]), (404, &json!(-32601)), "{answer}");
    }
}

fn two_callers() -> Settings {
    let key = |name: &str| ApiKey { name: name.into(), sha256: Secret::new(name).sha256(), toolset: None };
    let keys = vec![key("alice"), key("bob")];
    Settings { admission: Admission { keys, jwt: None }, ..Settings::default() }
}

#[tokio::test]
async fn a_task_is_known_to_its_caller_alone() {
    let tasks = Tasks::serve(two_callers()).await;
    let as_caller = async |key: &str, method: &str, params: Value| {
        let (mut headers, body) = modern_as(method, params, knows_tasks());
        headers.push(("authorization".to_owned(), format!("Bearer {key}")));
        let (status, body) = ask(&tasks.served.url, (headers, body)).await;
        (status, serde_json::from_str::<Value>(&body).expect("an answer"))
    };
    let (_, answer) = as_caller("alice", "tools/call", json!({ "name": "Held_wait" })).await;
    let id = answer["result"]["taskId"].clone();
    let told = |id: &Value| format!("Task `{}` does not exist or has expired", id.as_str().expect("an id"));
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        for id in [&id, &json!("nobody-has-this")] {
            let params = json!({ "taskId": id, "inputResponses": {} });
            let (status, answer) = as_caller("bob", method, params).await;
            let error = json!({ "code": -32602, "message": told(id) });
            assert_eq!((status, &answer["error"]), (400, &error), "{method}");
        }
    }
    let (_, answer) = as_caller("alice", "tasks/get", json!({ "taskId": id })).await;
    assert_eq!(answer["result"]["status"], "working");
}

/// A tool that its source runs as a task alone.
struct TaskOnly;

impl Source for TaskOnly {
    fn tools(&self) -> BoxFuture<'_, Result<Listing, SourceError>> {
        let mut tool = Tool::new("run", "Runs", Schema::no_parameters());
        tool.hints.tasks = Some(TaskSupport::Required);
        Box::pin(std::future::ready(Ok(vec![tool].into())))
    }

    fn call<'a>(
        &'a self,
        _call: &'a Call,
        _progress: &'a Progress,
    ) -> BoxFuture<'a, Result<Outcome, SourceError>> {
        Box::pin(std::future::ready(Ok(Outcome::Returned(Output::value(raw_of(&json!(null)))))))
    }
}

#[tokio::test]
async fn a_tool_that_the_caller_may_not_use_is_unknown_whatever_it_supports() {
    let key = |name: &str, toolset: Option<&str>| ApiKey {
        name: name.into(),
        sha256: Secret::new(name).sha256(),
        toolset: toolset.map(Into::into),
    };
    let admission = Admission { keys: vec![key("all", None), key("few", Some("few"))], jwt: None };
    let toolsets = vec![Toolset { name: "few".into(), tools: vec![Pattern::new("Kit.*")] }];
    let settings = Settings { admission, toolsets, ..Settings::default() };
    let served = serve(settings, vec![("Own", Arc::new(TaskOnly)), ("Kit", Arc::new(Kit))]).await;
    let call = async |key: &str, tool: &str| {
        let (mut headers, body) = modern("tools/call", json!({ "name": tool }));
        headers.push(("authorization".to_owned(), format!("Bearer {key}")));
        ask(&served.url, (headers, body)).await
    };
    let (status, body) = call("all", "Own_run").await;
    assert!(status == 400 && body.contains("-32021"), "{body}");
    let (status, body) = call("few", "Own_run").await;
    let (unknown_status, unknown) = call("few", "Own_xyz").await;
    assert_eq!((status, body), (unknown_status, unknown.replace("Own_xyz", "Own_run")));
}

#[tokio::test]
async fn the_header_names_the_task() {
    let tasks = Tasks::serve(Settings::default()).await;
    let id = tasks.begin("Held_wait").await;
    let (mut headers, body) = modern_as("tasks/get", json!({ "taskId": id }), knows_tasks());
    headers.retain(|(name, _)| name != "mcp-name");
    let (status, answer) = ask(&tasks.served.url, (headers.clone(), body.clone())).await;
    assert!(status == 400 && answer.contains("-32020"), "{answer}");
    headers.push(("mcp-name".to_owned(), "another".to_owned()));
    let (status, answer) = ask(&tasks.served.url, (headers, body)).await;
    assert!(status == 400 && answer.contains("-32020"), "{answer}");
}

#[tokio::test]
async fn a_task_asks_its_client_and_goes_on_with_the_answer() {
    let tasks = Tasks::serve(Settings::default()).await;
    let id = tasks.begin("Held_ask").await;
    tasks.held.0.add_permits(1);
    let asking = tasks.until(&id, "input_required").await;
    let requests = asking["inputRequests"].as_object().expect("questions");
    let (key, question) = requests.iter().next().expect("one question");
    assert_eq!((requests.len(), &question["method"]), (1, &json!("elicitation/create")));
    let wrong = json!({ "taskId": id, "inputResponses": { "q0": { "action": "accept" } } });
    assert_eq!(tasks.ask("tasks/update", wrong).await.0, 200, "answers to nothing are left aside");
    assert_eq!(tasks.get(&id).await["inputRequests"], asking["inputRequests"], "the question stays");
    let answers = json!({ key: { "action": "accept", "content": { "name": "Ada" } } });
    let (_, ack) = tasks.ask("tasks/update", json!({ "taskId": id, "inputResponses": answers })).await;
    assert_eq!(ack["result"]["resultType"], "complete", "{ack}");
    let ended = tasks.until(&id, "completed").await;
    assert_eq!(ended["result"]["structuredContent"]["result"]["content"]["name"], "Ada", "{ended}");
}

#[tokio::test]
async fn a_call_that_asks_at_once_asks_by_its_result_and_may_be_a_task_after_that() {
    let tasks = Tasks::serve(Settings::default()).await;
    tasks.held.0.add_permits(1);
    let call = json!({ "name": "Held_ask" });
    let (_, answer) = tasks.ask("tools/call", call.clone()).await;
    let (mut result, mut rounds) = (answer["result"].clone(), 0);
    // A machine that is slow makes a task of it before it asks.
    while result["resultType"] != "input_required" {
        rounds += 1;
        assert!(rounds < 100, "it asks at once: {result}");
        tasks.held.0.add_permits(1);
        result = tasks.ask("tools/call", call.clone()).await.1["result"].clone();
    }
    assert_eq!(result.get("taskId"), None);
    let requests = result["inputRequests"].as_object().expect("questions");
    let (key, question) = requests.iter().next().expect("one question");
    assert_eq!((requests.len(), &question["method"]), (1, &json!("elicitation/create")));
    let answers = json!({ key: { "action": "accept", "content": { "name": "Ada" } } });
    let again = |tool: &str, answers: &Value| json!({ "name": tool, "inputResponses": answers, "requestState": result["requestState"] });
    let (_, refused) = tasks.ask("tools/call", again("Held_wait", &answers)).await;
    assert_eq!(refused["error"]["code"], -32602, "the state is of another tool: {refused}");
    let (_, still) = tasks.ask("tools/call", again("Held_ask", &json!({}))).await;
    assert_eq!(still["result"]["inputRequests"], result["inputRequests"], "the question stays: {still}");
    let (_, answer) = tasks.ask("tools/call", again("Held_ask", &answers)).await;
    let ended = match &answer["result"]["taskId"] {
        Value::Null => answer["result"].clone(),
        id => tasks.until(id, "completed").await["result"].clone(),
    };
    assert_eq!(ended["structuredContent"]["result"]["content"]["name"], "Ada", "{ended}");
}

#[tokio::test]
async fn who_listens_hears_how_a_task_ends() {
    let tasks = Tasks::serve(Settings::default()).await;
    let id = tasks.begin("Held_wait").await;
    let filter = json!({ "notifications": { "taskIds": [id, "nobody-has-this"] } });
    let (headers, body) = modern_as("subscriptions/listen", filter, knows_tasks());
    let headers: Vec<(&str, &str)> = headers.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    let mut listening = send(&tasks.served.url, Method::POST, &headers, body).await;
    let told = events(&mut listening, 2).await;
    assert_eq!(told[0]["params"]["notifications"], json!({ "taskIds": [id] }), "only tasks that are there");
    assert_eq!(
        (&told[1]["method"], &told[1]["params"]["status"]),
        (&json!("notifications/tasks"), &json!("working"))
    );
    tasks.held.0.add_permits(1);
    let told = events(&mut listening, 1).await;
    assert_eq!(told[0]["params"]["status"], "completed");
    assert_eq!(told[0]["params"]["result"]["content"][0]["text"], "done");
    assert_eq!(told[0]["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 7);
}

#[tokio::test]
async fn tasks_of_ats_are_tasks_of_mcp() {
    let tasks = Tasks::serve(Settings::default()).await;
    let base = tasks.served.url.trim_end_matches("/mcp").to_owned();
    let begun = send(&format!("{base}/call_tool/Held_wait"), Method::POST, &[], "{}".to_owned()).await;
    let begun: Value = serde_json::from_str(&text(begun).await.1).expect("a task");
    assert_eq!(tasks.get(&begun["task_id"]).await["status"], "working");
    let id = tasks.begin("Held_wait").await;
    tasks.held.0.add_permits(2);
    assert_eq!(tasks.until(&begun["task_id"], "completed").await["result"]["content"][0]["text"], "done");
    let url = format!("{base}/callback/{}", id.as_str().expect("an id"));
    let (status, stream) = text(send(&url, Method::GET, &[], String::new()).await).await;
    assert!(
        status == 200 && stream.contains(r#""status":"completed""#) && stream.contains("done"),
        "{stream}"
    );
}
