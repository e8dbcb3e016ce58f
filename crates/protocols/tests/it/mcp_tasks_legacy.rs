//! Tasks as clients of 2025-11-25 see them, where they are a part of the protocol.

use http::Method;
use serde_json::{Value, json};
use toolmux_core::gateway::Settings;

use crate::mcp_client::{events, rpc, send, session, text};
use crate::mcp_tasks::{PATIENCE, Tasks};

const REVISION: &str = "2025-11-25";

/// A client in a session.
struct Client {
    tasks: Tasks,
    session: String,
    greeting: Value,
}

impl Client {
    async fn begin(revision: &str) -> Self {
        let tasks = Tasks::serve(Settings::default()).await;
        let (session, greeting) = session(&tasks.served.url, revision, json!({ "elicitation": {} })).await;
        Client { tasks, session, greeting }
    }

    async fn send(&self, body: String) -> toolmux_http::client::Answer {
        send(&self.tasks.served.url, Method::POST, &[("mcp-session-id", &self.session)], body).await
    }

    /// The answer, as JSON or as the last event of a stream.
    async fn ask(&self, method: &str, params: Value) -> Value {
        let (_, body) = text(self.send(rpc(5, method, params)).await).await;
        let last = body.lines().rev().find_map(|line| line.strip_prefix("data:"));
        serde_json::from_str(last.unwrap_or(&body)).expect("an answer")
    }

    async fn task(&self, tool: &str) -> Value {
        let answer = self.ask("tools/call", json!({ "name": tool, "task": { "ttl": 60_000 } })).await;
        answer["result"]["task"].clone()
    }

    async fn result(&self, id: &Value) -> Value {
        let asking = self.ask("tasks/result", json!({ "taskId": id }));
        tokio::time::timeout(PATIENCE, asking).await.expect("the task ends")
    }
}

#[tokio::test]
async fn a_call_asked_as_a_task_is_one_and_its_result_is_waited_for() {
    let client = Client::begin(REVISION).await;
    let can = json!({ "list": {}, "cancel": {}, "requests": { "tools": { "call": {} } } });
    assert_eq!(client.greeting["capabilities"]["tasks"], can);
    let task = client.task("Held_wait").await;
    assert_eq!(
        (&task["status"], &task["ttl"].as_u64().is_some_and(|ttl| ttl >= 60_000)),
        (&json!("working"), &true)
    );
    let id = &task["taskId"];
    let looked = client.ask("tasks/get", json!({ "taskId": id })).await;
    assert_eq!((&looked["result"]["status"], &looked["result"]["taskId"]), (&json!("working"), id));
    let (result, ()) = tokio::join!(client.result(id), async { client.tasks.held.0.add_permits(1) });
    assert_eq!(result["result"]["content"], json!([{ "type": "text", "text": "done" }]));
    let related = &result["result"]["_meta"]["io.modelcontextprotocol/related-task"];
    assert_eq!(related, &json!({ "taskId": id }));
    assert_eq!(client.ask("tasks/get", json!({ "taskId": id })).await["result"]["status"], "completed");
}

#[tokio::test]
async fn tools_say_whether_they_can_be_tasks() {
    let client = Client::begin(REVISION).await;
    let list = client.ask("tools/list", json!({})).await;
    let tools = list["result"]["tools"].as_array().expect("tools").clone();
    assert!(tools.iter().all(|tool| tool["execution"]["taskSupport"] == "optional"), "{list}");
    let before = Client::begin("2025-06-18").await;
    assert_eq!(before.greeting["capabilities"].get("tasks"), None);
    let list = before.ask("tools/list", json!({})).await;
    assert_eq!(list["result"]["tools"][0].get("execution"), None);
    before.tasks.held.0.add_permits(1);
    let plain = before.ask("tools/call", json!({ "name": "Held_wait", "task": { "ttl": 1 } })).await;
    assert_eq!(plain["result"]["content"][0]["text"], "done", "the revision has no tasks");
    assert_eq!(before.ask("tasks/list", json!({})).await["error"]["code"], -32601);
}

#[tokio::test]
async fn a_tool_that_fails_fails_its_task() {
    let client = Client::begin(REVISION).await;
    let task = client.task("Held_fail").await;
    client.tasks.held.0.add_permits(1);
    let result = client.result(&task["taskId"]).await;
    assert_eq!(result["result"]["isError"], true, "{result}");
    let looked = client.ask("tasks/get", json!({ "taskId": task["taskId"] })).await;
    assert_eq!(looked["result"]["status"], "failed");
    let invalid =
        client.ask("tools/call", json!({ "name": "Kit_echo", "arguments": { "text": 1 }, "task": {} })).await;
    assert_eq!(invalid["error"]["code"], -32602, "no task was made: {invalid}");
}

#[tokio::test]
async fn a_task_is_cancelled_once() {
    let client = Client::begin(REVISION).await;
    let id = client.task("Held_wait").await["taskId"].clone();
    let cancelled = client.ask("tasks/cancel", json!({ "taskId": id })).await;
    assert_eq!(cancelled["result"]["status"], "cancelled", "{cancelled}");
    assert_eq!(client.ask("tasks/cancel", json!({ "taskId": id })).await["error"]["code"], -32602);
    assert_eq!(client.result(&id).await["error"]["message"], "The task was cancelled");
    for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
        let unknown = client.ask(method, json!({ "taskId": "nobody-has-this" })).await;
        assert_eq!(unknown["error"]["code"], -32602, "{method}: {unknown}");
    }
}

#[tokio::test]
async fn tasks_are_listed_page_by_page_newest_first() {
    let client = Client::begin(REVISION).await;
    let mut made = Vec::new();
    for _ in 0..130 {
        made.push(client.task("Kit_echo").await["taskId"].clone());
    }
    let (mut seen, mut cursor, mut pages) = (Vec::new(), None::<Value>, 0);
    loop {
        let params = cursor.as_ref().map_or(json!({}), |cursor| json!({ "cursor": cursor }));
        let page = client.ask("tasks/list", params).await["result"].clone();
        seen.extend(page["tasks"].as_array().expect("tasks").iter().map(|task| task["taskId"].clone()));
        pages += 1;
        match page.get("nextCursor") {
            Some(next) => cursor = Some(next.clone()),
            None => break,
        }
    }
    made.reverse();
    assert_eq!((seen.len(), pages), (130, 2));
    let sorted = |ids: &[Value]| {
        let mut ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
        ids.sort();
        ids
    };
    assert_eq!(sorted(&seen), sorted(&made));
    assert_eq!(client.ask("tasks/list", json!({ "cursor": "x" })).await["error"]["code"], -32602);
}

#[tokio::test]
async fn a_task_asks_on_the_stream_of_who_waits_for_it() {
    let client = Client::begin(REVISION).await;
    let id = client.task("Kit_ask").await["taskId"].clone();
    let mut waiting = client.send(rpc(5, "tasks/result", json!({ "taskId": id }))).await;
    let question = events(&mut waiting, 1).await.remove(0);
    assert_eq!(question["method"], "elicitation/create");
    let related = &question["params"]["_meta"]["io.modelcontextprotocol/related-task"];
    assert_eq!(related, &json!({ "taskId": id }));
    let looked = client.ask("tasks/get", json!({ "taskId": id })).await;
    assert_eq!(looked["result"]["status"], "input_required");
    let said = json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "action": "decline" } });
    assert_eq!(client.send(said.to_string()).await.status().as_u16(), 202);
    let answer = events(&mut waiting, 1).await.remove(0);
    assert_eq!(answer["result"]["structuredContent"]["result"]["action"], "decline", "{answer}");
}
