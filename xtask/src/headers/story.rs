//! Calls one after the other over MCP on standard streams: what one gives, the next may take.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Lines, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, bail};
use serde_json::{Value, json};

/// One call of a story. A text `$name` among the arguments stands for what an earlier call gave under that name.
pub(super) struct Step {
    pub(super) tool: &'static str,
    /// Arguments as JSON.
    pub(super) arguments: &'static str,
    /// A member of the result, and the name it is kept by.
    pub(super) keep: Option<(&'static str, &'static str)>,
    /// A member of the result, and the JSON that it must be.
    pub(super) expect: Option<(&'static str, &'static str)>,
}

/// A program that serves one library; it ends when this is dropped.
pub(super) struct Session {
    child: Child,
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    last: u64,
}

impl Session {
    pub(super) fn start(program: &Path, config: &Path) -> anyhow::Result<Self> {
        let mut command = Command::new(program);
        command.arg("mcp").arg(config).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().context("cannot start toolmux")?;
        let stdin = child.stdin.take().context("no standard input")?;
        let stdout = child.stdout.take().context("no standard output")?;
        let mut session = Session { child, stdin, lines: BufReader::new(stdout).lines(), last: 0 };
        let client = json!({ "name": "xtask", "version": "1" });
        let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
        session.ask("initialize", &params)?;
        session.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(session)
    }

    /// `$folder/` in front of a name stands for a folder of the story's own.
    pub(super) fn play(mut self, story: &[Step], folder: &Path) -> anyhow::Result<()> {
        let mut kept: HashMap<&str, Value> = HashMap::new();
        kept.insert("folder", folder.display().to_string().into());
        for step in story {
            let mut arguments: Value = serde_json::from_str(step.arguments)
                .with_context(|| format!("the arguments of `{}`", step.tool))?;
            fill(&mut arguments, &kept);
            let params = json!({ "name": format!("It_{}", step.tool), "arguments": arguments });
            let answer = self.ask("tools/call", &params)?;
            let result = &answer["result"]["structuredContent"];
            if answer["result"]["isError"] == true || !result.is_object() {
                bail!("`{}` gave {answer}", step.tool);
            }
            if let Some((member, name)) = step.keep {
                kept.insert(name, result[member].clone());
            }
            if let Some((member, expect)) = step.expect {
                let expect: Value = serde_json::from_str(expect).context("what is expected is not JSON")?;
                if result[member] != expect {
                    bail!("`{}` gave {result}, not {expect} as `{member}`", step.tool);
                }
            }
        }
        Ok(())
    }

    fn ask(&mut self, method: &str, params: &Value) -> anyhow::Result<Value> {
        self.last += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": self.last, "method": method, "params": params }))?;
        loop {
            let line = self.lines.next().context("toolmux ended")?.context("toolmux cannot be read")?;
            let answer: Value = serde_json::from_str(&line).context("toolmux does not write JSON")?;
            if answer["id"] == self.last {
                return Ok(answer);
            }
        }
    }

    fn send(&mut self, message: &Value) -> anyhow::Result<()> {
        writeln!(self.stdin, "{message}").and_then(|()| self.stdin.flush()).context("toolmux does not read")
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // It may have ended by itself.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn fill(value: &mut Value, kept: &HashMap<&str, Value>) {
    match value {
        Value::String(text) => {
            if let Some(known) = text.strip_prefix('$').and_then(|name| kept.get(name)) {
                *value = known.clone();
            } else if let (Some(file), Some(folder)) =
                (text.strip_prefix("$folder/"), kept.get("folder").and_then(Value::as_str))
            {
                *value = format!("{folder}/{file}").into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| fill(item, kept)),
        Value::Object(members) => members.values_mut().for_each(|member| fill(member, kept)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
