//! `toolmux call`: one call from the command line.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use toolmux_core::arguments::Arguments;
use toolmux_core::call::Request;
use toolmux_core::gateway::{Gateway, SourceStatus};
use toolmux_core::names::ToolRef;
use toolmux_core::outcome::Outcome;
use toolmux_core::progress::Progress;
use toolmux_core::store::MemoryStore;

use super::failure::Failure;
use crate::assembly::Assembly;
use crate::config::Config;

/// How long the source of the tool gets to appear.
const PATIENCE: Duration = Duration::from_secs(30);

/// Call a tool and print its value.
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
}

impl CallTool {
    pub(super) async fn run(self) -> Result<ExitCode, Failure> {
        let mut config = Config::load(&self.config)?;
        // Whoever can read the configuration may call what it serves.
        (config.keys, config.jwt) = (Vec::new(), None);
        let assembly = Assembly::new(&config, Arc::new(MemoryStore::default()))?;
        let answered = self.answer(&assembly.gateway).await;
        assembly.gateway.close(PATIENCE).await;
        match answered? {
            Outcome::Returned(output) => {
                println!("{}", output.value);
                Ok(ExitCode::SUCCESS)
            }
            Outcome::Failed(error) => Err(Failure::tool(&error.message.public)),
        }
    }

    async fn answer(&self, gateway: &Arc<Gateway>) -> Result<Outcome, Failure> {
        let tool = ToolRef::either(&self.tool);
        wait_for(gateway, &tool).await;
        let arguments = match &self.json {
            Some(text) => {
                let text = serde_json::from_str(text)
                    .map_err(|error| Failure::refused(anyhow::anyhow!("--json cannot be read: {error}")))?;
                Arguments::read(Some(text)).map_err(|error| Failure::refused(anyhow::Error::new(error)))?
            }
            None => Arguments::from_map(named(&self.arguments, &schema(gateway, &tool))?),
        };
        let caller = gateway.admit(toolmux_core::gateway::Credential::None, None)?;
        Ok(gateway.call(&caller, Request::new(tool, arguments), &Progress::unheard()).await?)
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
async fn wait_for(gateway: &Gateway, tool: &ToolRef) {
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
    tokio::time::timeout(PATIENCE, appeared).await.ok();
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
