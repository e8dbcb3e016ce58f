//! Sources that are child processes: an MCP server on standard streams, and commands.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use tempfile::TempDir;
use toolmux_core::gateway::Gateway;

use super::contract::{OtherSide, Tools, check, gateway, mount};
use super::open;

const TOOLS: Tools = Tools {
    add: "add",
    sum: "3",
    fail: "fail",
    why: "It is not there",
    slow: "slow",
    leaves: "leaves",
    left: "unknown_tool",
    late: None,
};

/// Children that write their process ids into files of a folder: `slow` and `server`.
struct Children {
    folder: TempDir,
    /// The table of the source without the tool that leaves. A server looks for the file `shrunk` instead.
    fewer: Option<Value>,
}

impl Children {
    fn is_alive(&self, file: &str) -> bool {
        let id = std::fs::read_to_string(self.folder.path().join(file)).unwrap_or_default();
        let id = id.trim();
        !id.is_empty() && PathBuf::from(format!("/proc/{id}")).exists()
    }
}

impl OtherSide for Children {
    fn running(&self) -> usize {
        usize::from(self.is_alive("slow"))
    }

    fn children(&self) -> usize {
        ["slow", "server"].into_iter().filter(|file| self.is_alive(file)).count()
    }

    async fn shrink(&self, gateway: &Arc<Gateway>) {
        match &self.fewer {
            Some(table) => mount(gateway, open("command", table.clone())).await,
            None => std::fs::write(self.folder.path().join("shrunk"), "").expect("written"),
        }
    }
}

fn commands(folder: &Path) -> Value {
    let tool = |words: &[&str]| json!({ "description": "d", "command": words, "output": "json" });
    let mut add = tool(&["expr", "{a}", "+", "{b}"]);
    add["parameters"] = json!({ "a": { "type": "number" }, "b": { "type": "number" } });
    let slow = format!("echo $$ > {}/slow; exec sleep 600", folder.display());
    json!({ "tools": {
        "add": add,
        "fail": tool(&["sh", "-c", "echo It is not there >&2; exit 1"]),
        "slow": tool(&["sh", "-c", &slow]),
        "leaves": tool(&["echo", "1"]),
    } })
}

#[tokio::test]
async fn commands_are_a_source() {
    let folder = tempfile::tempdir().expect("a folder");
    let table = commands(folder.path());
    let mut fewer = table.clone();
    fewer["tools"].as_object_mut().expect("an object").shift_remove("leaves");
    let gateway = gateway(open("command", table)).await;
    check(gateway, TOOLS, Children { folder, fewer: Some(fewer) }).await;
}

async fn check_server(era: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/peers/mcp/loopback.py");
    let place = folder.path().to_str().expect("a path of letters");
    let gateway = gateway(open("mcp", json!({ "command": ["python3", script, place, era] }))).await;
    // The code of an unknown tool is that of any parameter which the server does not like.
    let tools = Tools { sum: r#""3""#, left: "failed", late: Some("unavailable"), ..TOOLS };
    check(gateway, tools, Children { folder, fewer: None }).await;
}

#[tokio::test]
async fn an_mcp_server_on_standard_streams_is_a_source() {
    check_server("legacy").await;
    check_server("modern").await;
}
