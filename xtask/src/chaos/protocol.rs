//! How one call with an id, and one list, are written in each protocol, and what their answers mean.

use hyper::Request;
use hyper::http::request::Builder;
use serde_json::{Value, json};

use super::answer::{Answer, NOTHING_LISTENS};
use super::client::{Broken, HttpClient, Reply};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Oxp,
    OpenTool,
    Mcp,
    Ats,
}

pub(crate) const ALL: [Protocol; 4] = [Protocol::Oxp, Protocol::OpenTool, Protocol::Mcp, Protocol::Ats];

/// One call: the tool as `Toolkit.tool`, the id under which it is recorded, its arguments and the caller's key.
pub(crate) struct CallRequest<'a> {
    pub(crate) tool: &'a str,
    pub(crate) id: &'a str,
    pub(crate) arguments: Value,
    pub(crate) key: Option<&'a str>,
}

impl Protocol {
    /// `Err` when nothing listens there.
    pub(crate) async fn call(
        self,
        client: &HttpClient,
        base: &str,
        call: &CallRequest<'_>,
    ) -> Result<Answer, Unreachable> {
        let flat = call.tool.replace('.', "_");
        let (path, body) = match self {
            Self::Oxp => {
                let body = json!({ "call_id": call.id, "tool_id": call.tool, "input": call.arguments });
                ("/tools/call".to_owned(), body)
            }
            Self::OpenTool => {
                let body = json!({ "jsonrpc": "2.0", "id": "1", "method": flat, "params": call.arguments });
                ("/opentool/call".to_owned(), body)
            }
            Self::Mcp => {
                let params = json!({ "name": flat, "arguments": call.arguments });
                ("/mcp".to_owned(), mcp("tools/call", params))
            }
            Self::Ats => (format!("/call_tool/{flat}"), call.arguments.clone()),
        };
        let request = post(&format!("{base}{path}"), call.key).header("idempotency-key", call.id);
        let reply = match client.send(request, body.to_string()).await {
            Ok(reply) => reply,
            Err(Broken::Unreachable) => return Err(Unreachable),
            Err(Broken::Unanswered(why)) => return Ok(Answer::Unanswered(why)),
        };
        Ok(match self {
            Self::Ats if reply.status == 200 => follow(client, base, &reply, call.key).await,
            _ => self.meaning(&reply),
        })
    }

    /// How many tools the list shows.
    pub(crate) async fn list(
        self,
        client: &HttpClient,
        base: &str,
        key: Option<&str>,
    ) -> Result<usize, Broken> {
        let (request, body) = match self {
            Self::Oxp => (get(&format!("{base}/tools"), key), String::new()),
            Self::OpenTool => (get(&format!("{base}/opentool/load"), key), String::new()),
            Self::Ats => (get(&format!("{base}/get_tool"), key), String::new()),
            Self::Mcp => (post(&format!("{base}/mcp"), key), mcp("tools/list", json!({})).to_string()),
        };
        let reply = client.send(request, body).await?;
        let found = document(&reply);
        let places = ["/tools", "/items", "/functions", "/result/tools", ""];
        let tools = places.iter().find_map(|place| found.pointer(place)?.as_array());
        Ok(tools.map_or(0, Vec::len))
    }

    fn meaning(self, reply: &Reply) -> Answer {
        let body = document(reply);
        let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let refused = |message: &str| Answer::Refused(format!("{} {message}", reply.status));
        match self {
            Self::Oxp if reply.status == 200 && body["success"] == true => Answer::Good,
            Self::Oxp if reply.status == 200 => Answer::failed(text("/error/message")),
            Self::OpenTool if body["result"].is_object() && body["error"].is_null() => Answer::Good,
            // OpenTool has one code for a failed tool and for a fault of the server: the text decides.
            Self::OpenTool if text("/error/message").contains("may have run") => Answer::MayHaveRun,
            Self::Mcp if body["result"]["isError"] == true => Answer::failed(text("/result/content/0/text")),
            Self::Mcp if body["result"].is_object() => Answer::Good,
            Self::OpenTool | Self::Mcp => refused(text("/error/message")),
            Self::Oxp => refused(text("/message")),
            Self::Ats if text("/detail").contains("may run") => Answer::MayHaveRun,
            Self::Ats => refused(text("/detail")),
        }
    }
}

pub(crate) struct Unreachable;

/// The JSON of an answer; of a stream of events, which MCP makes of an answer that takes long, that of the last.
fn document(reply: &Reply) -> Value {
    let text = String::from_utf8_lossy(&reply.body);
    let last = text.lines().rev().find_map(|line| line.strip_prefix("data:"));
    serde_json::from_str(&text)
        .or_else(|_| serde_json::from_str(last.unwrap_or_default()))
        .unwrap_or_default()
}

/// Waits for the end of the task that was just accepted.
async fn follow(client: &HttpClient, base: &str, accepted: &Reply, key: Option<&str>) -> Answer {
    let accepted = document(accepted);
    let Some(task) = accepted["task_id"].as_str() else {
        return Answer::Unanswered("an answer without a task id".to_owned());
    };
    task_end(client, base, task, key).await
}

/// What became of a task, asked for until somebody can say it.
pub(crate) async fn task_end(client: &HttpClient, base: &str, task: &str, key: Option<&str>) -> Answer {
    let reply = match client.send(get(&format!("{base}/callback/{task}"), key), "").await {
        Ok(reply) => reply,
        Err(Broken::Unreachable) => return Answer::Unanswered(NOTHING_LISTENS.to_owned()),
        Err(Broken::Unanswered(why)) => return Answer::Unanswered(why),
    };
    let end = document(&reply);
    match (reply.status, end["status"].as_str()) {
        (200, Some("completed")) => Answer::Good,
        (200, Some(_)) => Answer::failed(end["error"].as_str().unwrap_or("no message")),
        (404, _) => Answer::Gone("the accepted task does not exist".to_owned()),
        // The task was accepted: that it cannot be looked at now says nothing about its run.
        (status, _) => Answer::Unanswered(format!("{status} while following a task")),
    }
}

fn get(url: &str, key: Option<&str>) -> Builder {
    authorized(Request::get(url).header("accept", "application/json"), key)
}

fn post(url: &str, key: Option<&str>) -> Builder {
    let accept = "application/json, text/event-stream";
    let request = Request::post(url).header("content-type", "application/json").header("accept", accept);
    authorized(request, key)
}

fn authorized(request: Builder, key: Option<&str>) -> Builder {
    match key {
        Some(key) => request.header("authorization", format!("Bearer {key}")),
        None => request,
    }
}

/// Of the revisions with a handshake, which need no more than this.
fn mcp(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}

#[cfg(test)]
mod tests {
    use super::{Answer, Protocol, Reply};

    fn check(protocol: Protocol, status: u16, body: &'static str, expect: Answer) {
        let reply = Reply { status, body: body.into() };
        assert_eq!(protocol.meaning(&reply), expect, "{protocol:?} {status} {body}");
    }

    #[test]
    fn answers_mean_the_same_in_every_protocol() {
        check(Protocol::Oxp, 200, r#"{"success":true,"value":1}"#, Answer::Good);
        check(Protocol::OpenTool, 200, r#"{"result":{"a":1},"error":null}"#, Answer::Good);
        check(Protocol::Mcp, 200, r#"{"result":{"content":[]}}"#, Answer::Good);
        let lost = "Reset; the tool may have run";
        check(
            Protocol::Oxp,
            200,
            r#"{"success":false,"error":{"message":"x; the tool may have run"}}"#,
            Answer::MayHaveRun,
        );
        assert_eq!(Answer::failed(lost), Answer::MayHaveRun);
        check(
            Protocol::Ats,
            503,
            r#"{"detail":"x: it may be stored, and then it may run"}"#,
            Answer::MayHaveRun,
        );
        let busy = |status: u16| Answer::Refused(format!("{status} Busy"));
        check(Protocol::Oxp, 400, r#"{"message":"Busy"}"#, busy(400));
        check(Protocol::OpenTool, 200, r#"{"result":{},"error":{"code":429,"message":"Busy"}}"#, busy(200));
        check(Protocol::Mcp, 200, r#"{"error":{"code":-32603,"message":"Busy"}}"#, busy(200));
        check(Protocol::Ats, 429, r#"{"detail":"Busy"}"#, busy(429));
    }
}
