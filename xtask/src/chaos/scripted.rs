//! An MCP server of revision 2026-07-28 without its transport: tools that count their runs by the id they are given.

use serde_json::{Value, json};

/// How many tools one page of the long list has.
const PAGE: usize = 2_000;

/// Tools of every list, in this order.
pub(crate) const TOOLS: [&str; 4] = ["record", "idempotent", "read_only", "echo"];

/// What a client asked.
pub(crate) enum Reaction {
    /// A notification, which has no answer.
    Nothing,
    /// The answer is known at once.
    Known(Value),
    /// The tool is to run under this id; then `result` is the answer.
    Run { id: String, result: Value },
}

/// Lists have `tools` entries: those above, and fillers when that is more.
pub(crate) fn reaction(request: &Value, tools: usize) -> Reaction {
    if request["id"].is_null() {
        return Reaction::Nothing;
    }
    let params = &request["params"];
    match request["method"].as_str().unwrap_or_default() {
        "server/discover" => {
            Reaction::Known(json!({ "resultType": "complete", "ttlMs": 0, "cacheScope": "public",
            "supportedVersions": ["2026-07-28"], "capabilities": { "tools": {} } }))
        }
        "tools/list" => Reaction::Known(page(params["cursor"].as_str(), tools)),
        _ => {
            let arguments = &params["arguments"];
            let text = arguments["text"].as_str().unwrap_or("done");
            let id = arguments["id"].as_str().unwrap_or_default().to_owned();
            let content = json!([{ "type": "text", "text": text }]);
            Reaction::Run { id, result: json!({ "resultType": "complete", "content": content }) }
        }
    }
}

/// The whole message.
pub(crate) fn answer(request: &Value, result: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": request["id"], "result": result }).to_string()
}

fn page(cursor: Option<&str>, tools: usize) -> Value {
    let start: usize = cursor.and_then(|cursor| cursor.parse().ok()).unwrap_or(0);
    let end = (start + PAGE).min(tools);
    let listed: Vec<Value> = (start..end).map(tool).collect();
    let mut page = json!({ "resultType": "complete", "ttlMs": 0, "cacheScope": "public", "tools": listed });
    if end < tools {
        page["nextCursor"] = end.to_string().into();
    }
    page
}

fn tool(index: usize) -> Value {
    let name = TOOLS.get(index).map_or_else(|| format!("filler_{index}"), ToString::to_string);
    let text = json!({ "type": "string" });
    let schema = json!({ "type": "object", "properties": { "id": text, "text": text }, "required": ["id"] });
    let mut tool = json!({ "name": name, "description": "Counts its runs", "inputSchema": schema });
    match name.as_str() {
        "idempotent" => tool["annotations"] = json!({ "idempotentHint": true }),
        "read_only" => tool["annotations"] = json!({ "readOnlyHint": true }),
        _ => {}
    }
    tool
}

#[cfg(test)]
mod tests {
    use super::{Reaction, reaction};
    use serde_json::json;

    #[test]
    fn a_long_list_comes_in_pages() {
        let mut cursor = None;
        let mut count = 0;
        loop {
            let request = json!({ "id": 1, "method": "tools/list", "params": { "cursor": cursor } });
            let Reaction::Known(page) = reaction(&request, 5_001) else { panic!("a list is known at once") };
            count += page["tools"].as_array().unwrap().len();
            match page["nextCursor"].as_str() {
                Some(next) => cursor = Some(next.to_owned()),
                None => break,
            }
        }
        assert_eq!(count, 5_001);
    }
}
