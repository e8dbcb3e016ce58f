//! What `toolmux demo` shows: requests over each protocol, and what to look at in their answers.

use http::Method;
use serde_json::{Value, json};
use toolmux_http::sse::EVENT_STREAM;

/// Stands in a path or a header for what an earlier answer gave.
pub(super) const KEPT: &str = "{KEPT}";

const HANDSHAKE_REVISION: &str = "2025-11-25";
const STATELESS_REVISION: &str = "2026-07-28";

/// One thing to see.
pub(super) struct DemoStep {
    pub(super) title: &'static str,
    pub(super) requests: Vec<DemoRequest>,
    pub(super) look_at: &'static str,
}

/// A request that is shown and sent.
pub(super) struct DemoRequest {
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Option<Value>,
    /// A part of the answer; an answer without it is reported.
    pub(super) expected: &'static str,
    pub(super) keeps: Keeps,
}

/// What of an answer the requests after it need.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Keeps {
    Nothing,
    TaskId,
    SessionId,
}

impl DemoRequest {
    fn post(path: &str, body: Value, expected: &'static str) -> Self {
        DemoRequest {
            method: Method::POST,
            path: path.to_owned(),
            headers: vec![("content-type", "application/json".to_owned())],
            body: Some(body),
            expected,
            keeps: Keeps::Nothing,
        }
    }

    fn get(path: &str, expected: &'static str) -> Self {
        let (path, headers) = (path.to_owned(), Vec::new());
        DemoRequest { method: Method::GET, path, headers, body: None, expected, keeps: Keeps::Nothing }
    }

    fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    fn keeps(mut self, keeps: Keeps) -> Self {
        self.keeps = keeps;
        self
    }
}

pub(super) fn steps() -> Vec<DemoStep> {
    vec![
        opentool(),
        oxp(),
        invalid(),
        idempotency(),
        ats(),
        mcp_handshake(),
        mcp_stateless(),
        rest(),
        model(),
        crash(),
    ]
}

fn opentool() -> DemoStep {
    let body = json!({ "jsonrpc": "2.0", "method": "Math_pow", "params": { "x": 2, "y": 10 }, "id": "1" });
    DemoStep {
        title: "OpenTool: a function of a C library",
        requests: vec![DemoRequest::post("/opentool/call", body, "1024.0")],
        look_at: "`pow` of libm.so.6 ran in a sandboxed process of its own. Its parameters come from an OpenDyn document.",
    }
}

fn oxp() -> DemoStep {
    DemoStep {
        title: "OXP: the same tool",
        requests: vec![oxp_call(json!({ "tool_id": "Math.pow", "input": { "x": 2, "y": 10 } }), "1024.0")],
        look_at: "The same function over another protocol: it is described once and served over all of them.",
    }
}

fn invalid() -> DemoStep {
    DemoStep {
        title: "OXP: invalid arguments",
        requests: vec![oxp_call(
            json!({ "tool_id": "Math.pow", "input": { "x": "two", "y": 10 } }),
            r#""parameter_errors":{"x""#,
        )],
        look_at: "`parameter_errors` names the parameter, the expected type and the received value. The tool did not run.",
    }
}

fn idempotency() -> DemoStep {
    let draw = |key: &str, expected| {
        oxp_call(json!({ "call_id": key, "tool_id": "Tickets.draw", "input": {} }), expected)
    };
    DemoStep {
        title: "OXP: an idempotency key runs a tool once (here a tool of an MCP server)",
        requests: vec![
            draw("order-1", r#""number":1"#),
            draw("order-1", r#""number":1"#),
            draw("order-2", r#""number":2"#),
        ],
        look_at: "The second call has the key of the first: it gets the recorded ticket 1, and the tool does not run \
                  again. Over the other protocols the key is the header `Idempotency-Key`.",
    }
}

fn ats() -> DemoStep {
    let submit = DemoRequest::post("/call_tool/Flow_power_then_root", json!({ "x": 2, "y": 10 }), "task_id");
    let follow = DemoRequest::get(&format!("/callback/{KEPT}"), r#""value":{"result":32.0}"#);
    DemoStep {
        title: "ATS: a workflow as a background task, followed over server-sent events",
        requests: vec![submit.keeps(Keeps::TaskId), follow.header("accept", EVENT_STREAM)],
        look_at: "The task id comes at once. The events show each step of the workflow, and the last one the result.",
    }
}

fn mcp_handshake() -> DemoStep {
    let client = json!({ "name": "demo", "version": "1.0.0" });
    let initialize = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": HANDSHAKE_REVISION, "capabilities": {}, "clientInfo": client } });
    DemoStep {
        title: "MCP with a handshake (revisions 2024-11-05 to 2025-11-25): a command",
        requests: vec![
            DemoRequest::post("/mcp", initialize, "serverInfo").keeps(Keeps::SessionId),
            DemoRequest::post("/mcp", count_words(json!({})), r#""text":"6""#)
                .header("mcp-protocol-version", HANDSHAKE_REVISION)
                .header("mcp-session-id", KEPT),
        ],
        look_at: "The client and the server agree on a revision first; the header `mcp-session-id` names the session.",
    }
}

fn mcp_stateless() -> DemoStep {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": STATELESS_REVISION,
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    DemoStep {
        title: "MCP without a handshake (revision 2026-07-28): the same tool at the same address",
        requests: vec![
            DemoRequest::post("/mcp", count_words(json!({ "_meta": meta })), r#""text":"6""#)
                .header("mcp-protocol-version", STATELESS_REVISION)
                .header("mcp-method", "tools/call")
                .header("mcp-name", "Text_count_words"),
        ],
        look_at: "There is no session: every request carries all that the server needs.",
    }
}

fn rest() -> DemoStep {
    DemoStep {
        title: "REST: the arguments are the body, the answer is the value",
        requests: vec![DemoRequest::post("/rest/Math_sqrt", json!({ "x": 81 }), r#"{"result":9.0}"#)],
        look_at: "`/rest/openapi.json` is an OpenAPI document of every tool, for clients that read one.",
    }
}

fn model() -> DemoStep {
    let call = json!({ "name": "Math_sqrt", "arguments": r#"{"x":81}"# });
    let answer = json!({ "role": "assistant", "content": null,
        "tool_calls": [{ "id": "call-1", "type": "function", "function": call }] });
    DemoStep {
        title: "Model bridge: what a model of OpenAI answered is run as calls",
        requests: vec![DemoRequest::post("/model/openai/run", answer, r#"{\"result\":9.0}"#)],
        look_at: "`messages` is what the model is sent next. `/model/openai/tools` is the list of tools to send first.",
    }
}

fn crash() -> DemoStep {
    DemoStep {
        title: "A crash fails only the call that caused it",
        requests: vec![
            oxp_call(json!({ "tool_id": "Crash.abort", "input": {} }), r#""success":false"#),
            oxp_call(json!({ "tool_id": "Math.pow", "input": { "x": 2, "y": 3 } }), "8.0"),
        ],
        look_at: "The process of that C library ended. The server and every other tool keep running.",
    }
}

fn oxp_call(body: Value, expected: &'static str) -> DemoRequest {
    DemoRequest::post("/tools/call", body, expected)
}

/// A call of the command over MCP, with more members of `params`.
fn count_words(more: Value) -> Value {
    let mut params = json!({ "name": "Text_count_words", "arguments": { "text": "to be or not to be" } });
    if let (Some(params), Value::Object(more)) = (params.as_object_mut(), more) {
        params.extend(more);
    }
    json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params })
}
