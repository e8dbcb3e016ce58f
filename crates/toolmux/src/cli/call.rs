//! `toolmux call`: one call from the command line.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use toolmux_core::arguments::Arguments;
use toolmux_core::call::Request;
use toolmux_core::gateway::{Gateway, SourceStatus};
use toolmux_core::names::{ToolRef, flat_name, plain_name};
use toolmux_core::nearest::nearest;
use toolmux_core::outcome::Outcome;
use toolmux_core::progress::Progress;
use toolmux_core::refusal::Refusal;
use toolmux_core::secret::Secret;
use toolmux_core::store::MemoryStore;

use toolmux_protocols::http_client::{HttpClient, HttpLimits};
use toolmux_protocols::oxp::{ListedTool, OxpClient, OxpError, ToolCall};

use super::connecting::connected;
use super::failure::Failure;
use super::progress::follow;
use super::terminal::Terminal;
use crate::assembly::Assembly;
use crate::config::Config;

/// How long the source of the tool gets to appear.
const PATIENCE: Duration = Duration::from_secs(30);

/// Call a tool and print its value.
///
/// Exits with 1 when the tool ran and failed, and with 2 when it was not run.
///
/// Example: toolmux call Math.pow x=2 y=10 --config examples/quickstart/toolmux.toml
#[derive(clap::Args)]
pub(super) struct CallTool {
    /// Toolkit.tool or Toolkit_tool, with @version if it matters.
    tool: String,
    /// Arguments as name=value; a value is read as the type the tool wants.
    #[arg(value_name = "NAME=VALUE")]
    arguments: Vec<String>,
    /// All arguments as one JSON object.
    #[arg(long, conflicts_with = "arguments")]
    json: Option<String>,
    /// The configuration that has the tool.
    #[arg(long, default_value = "toolmux.toml")]
    config: PathBuf,
    /// A running server that has the tool, instead of a configuration.
    #[arg(long, conflicts_with = "config")]
    url: Option<String>,
    /// The environment variable that holds the key of that server.
    #[arg(long, value_name = "NAME", requires = "url", default_value = "TOOLMUX_KEY")]
    key_env: String,
}

impl CallTool {
    pub(super) async fn run(self, terminal: &Terminal) -> Result<ExitCode, Failure> {
        let answered = match &self.url {
            Some(url) => self.ask(url).await?,
            None => self.run_here(terminal).await?,
        };
        match answered {
            Outcome::Returned(output) => {
                println!("{}", output.value);
                Ok(ExitCode::SUCCESS)
            }
            Outcome::Failed(error) => Err(Failure::tool(&error.message.public)),
        }
    }

    async fn run_here(&self, terminal: &Terminal) -> Result<Outcome, Failure> {
        let mut config = Config::load(&self.config)?;
        // Whoever can read the configuration may call what it serves.
        (config.keys, config.jwt) = (Vec::new(), None);
        let assembly = Assembly::new(&config, Arc::new(MemoryStore::default()))?;
        if config.sources.iter().any(|source| source.kind == "workflow") {
            // Its steps are tools of the others.
            connected(&assembly.gateway, terminal, PATIENCE).await;
        }
        let answered = self.answer(&assembly.gateway, terminal).await;
        assembly.gateway.close(PATIENCE).await;
        answered
    }

    /// Asks a running server over OXP, whose values are exactly the tool's.
    async fn ask(&self, url: &str) -> Result<Outcome, Failure> {
        let key = std::env::var(&self.key_env).ok().map(Secret::new);
        let client =
            OxpClient::new(HttpClient::new(HttpLimits::default()), url, key.as_ref()).map_err(unasked)?;
        let list = client.tools().await.map_err(unasked)?;
        let wanted = ToolRef::either(&self.tool);
        let Some(found) = list.tools.iter().rfind(|tool| is_meant(&wanted, tool)) else {
            let ids: Vec<String> =
                list.tools.iter().map(|tool| format!("{}.{}", tool.toolkit, tool.tool)).collect();
            let nearest = nearest(&self.tool, ids.iter().map(String::as_str)).map(str::to_owned);
            return Err(Refusal::UnknownTool { tool: self.tool.clone(), nearest, developer: None }.into());
        };
        let arguments = self.arguments(found.input.value())?;
        let id = ToolRef {
            toolkit: Some(found.toolkit.as_str().into()),
            tool: found.tool.as_str().into(),
            version: wanted.version,
        };
        let answered =
            client.call(&ToolCall::new(id.to_string(), arguments.value())).await.map_err(unasked)?;
        Ok(answered.outcome)
    }

    async fn answer(&self, gateway: &Arc<Gateway>, terminal: &Terminal) -> Result<Outcome, Failure> {
        let tool = ToolRef::either(&self.tool);
        wait_for(gateway, &tool, terminal).await;
        let arguments = self.arguments(&schema(gateway, &tool))?;
        let caller = gateway.admit(toolmux_core::gateway::Credential::None, None)?;
        let (progress, updates) = Progress::channel();
        let calling = async {
            let answer = gateway.call(&caller, Request::new(tool, arguments), &progress).await;
            drop(progress);
            answer
        };
        let (answer, ()) = tokio::join!(calling, follow(updates, terminal));
        Ok(answer?)
    }
}

impl CallTool {
    fn arguments(&self, schema: &Value) -> Result<Arguments, Failure> {
        let Some(text) = &self.json else { return Ok(Arguments::from_map(named(&self.arguments, schema)?)) };
        let text = serde_json::from_str(text)
            .map_err(|error| Failure::refused(anyhow::anyhow!("--json cannot be read: {error}")))?;
        Arguments::read(Some(text)).map_err(|error| Failure::refused(anyhow::Error::new(error)))
    }
}

/// Whether a tool over there is meant, by its id or by its flat name.
fn is_meant(wanted: &ToolRef, listed: &ListedTool) -> bool {
    match &wanted.toolkit {
        Some(toolkit) => **toolkit == *listed.toolkit && *wanted.tool == *listed.tool,
        // A server may serve the names of its sources bare.
        None => {
            *wanted.tool == *flat_name(Some(&listed.toolkit), &listed.tool)
                || plain_name(&wanted.tool) == *listed.tool
        }
    }
}

fn unasked(error: OxpError) -> Failure {
    match error {
        OxpError::Refused(refusal) => refusal.into(),
        other => {
            Failure::refused(other).hint("is a toolmux or OXP server running there, and is its key right?")
        }
    }
}

/// Arguments of the form name=value, each read as the type that the schema wants.
pub(super) fn named(arguments: &[String], schema: &Value) -> Result<Map<String, Value>, Failure> {
    let pair = |argument: &String| match argument.split_once('=') {
        Some((name, text)) => Ok((name.to_owned(), typed(text, &schema["properties"][name]))),
        None => Err(Failure::refused(anyhow::anyhow!("`{argument}` is not of the form name=value"))
            .hint("write name=value for each argument, or --json '{…}' for all")),
    };
    arguments.iter().map(pair).collect()
}

/// Waits for the tool, or until every source has been heard of.
async fn wait_for(gateway: &Gateway, tool: &ToolRef, terminal: &Terminal) {
    let mut revision = gateway.revision();
    let appeared = async {
        while gateway.catalog().find(tool).is_none()
            && gateway.sources().iter().any(|source| source.status == SourceStatus::Connecting)
        {
            if revision.changed().await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = appeared => {}
        () = connected(gateway, terminal, PATIENCE) => {}
    }
    terminal.clear();
}

/// What a tool takes.
pub(super) fn schema(gateway: &Gateway, tool: &ToolRef) -> Value {
    let catalog = gateway.catalog();
    catalog.find(tool).map_or(Value::Null, |place| catalog.entry(place).tool.input.value().clone())
}

/// A text stays a text where the schema wants one; elsewhere it is read as JSON when it can be.
fn typed(text: &str, schema: &Value) -> Value {
    let as_text = || Value::String(text.to_owned());
    if schema["type"] == "string" {
        return as_text();
    }
    serde_json::from_str(text).unwrap_or_else(|_| as_text())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(text: &str, kind: &str, expect: Value) {
        assert_eq!(typed(text, &json!({ "type": kind })), expect);
    }

    #[test]
    fn values_are_read_as_the_type_that_is_wanted() {
        check("2", "number", json!(2));
        check("2", "string", json!("2"));
        check("[1]", "array", json!([1]));
        check("true", "boolean", json!(true));
        check("plain words", "number", json!("plain words"));
    }
}
