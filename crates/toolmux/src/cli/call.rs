//! `toolmux call`: one call from the command line.

use std::path::PathBuf;
use std::pin::pin;
use std::process::ExitCode;
use std::sync::Arc;

use serde_json::{Map, Value};
use tokio::time::timeout;
use toolmux_core::arguments::Arguments;
use toolmux_core::call::Request;
use toolmux_core::gateway::{Credential, Gateway};
use toolmux_core::names::{ToolRef, flat_name, plain_name};
use toolmux_core::nearest::nearest;
use toolmux_core::outcome::Outcome;
use toolmux_core::progress::Progress;
use toolmux_core::refusal::Refusal;
use toolmux_core::schema::Schema;
use toolmux_protocols::oxp::{OxpTool, ToolCall};

use super::assembling::assembled;
use super::closing::closing;
use super::connecting::there;
use super::failure::Failure;
use super::needed::only_needed;
use super::progress::follow;
use super::remote::{GRACE, KeyOptions, Remote, unasked};
use super::terminal::{Terminal, note, print_line};
use crate::config::Config;
use crate::signals::end_signal;

/// Call a tool and print its value.
///
/// Exits with 1 if the tool ran and failed, with 2 if it did not run, and with 130 after Ctrl-C, which cancels the call.
///
/// Example: toolmux call Math.pow x=2 y=10 --config examples/quickstart/toolmux.toml
///
/// Example: toolmux call Math.pow x=2 y=10 --url http://127.0.0.1:9627 --key-file key.txt
#[derive(clap::Args)]
pub(super) struct CallTool {
    /// Toolkit.tool or Toolkit_tool, with @version if it matters.
    tool: String,
    /// Arguments as name=value; a value is converted to the type of the parameter.
    #[arg(value_name = "NAME=VALUE")]
    arguments: Vec<String>,
    /// All arguments as one JSON object.
    #[arg(long, conflicts_with = "arguments")]
    json: Option<String>,
    /// The configuration that has the tool.
    #[arg(long, default_value = "toolmux.toml")]
    pub(super) config: PathBuf,
    /// A running server that has the tool, instead of a configuration.
    #[arg(long, conflicts_with = "config")]
    url: Option<String>,
    /// Run the call as a task in the background and print its id, for `toolmux follow`.
    #[arg(long, requires = "url")]
    background: bool,
    /// Check the call without running the tool. With --url, only the name and the arguments are checked.
    #[arg(long, conflicts_with = "background")]
    dry_run: bool,
    #[command(flatten)]
    key: KeyOptions,
}

impl CallTool {
    pub(super) async fn run(self, terminal: &Terminal) -> Result<ExitCode, Failure> {
        match &self.url {
            Some(url) => self.ask(&Remote::new(url, &self.key)?, terminal).await,
            None => Box::pin(self.run_here(terminal)).await,
        }
    }

    async fn run_here(&self, terminal: &Terminal) -> Result<ExitCode, Failure> {
        let tool = ToolRef::either(&self.tool);
        let config = only_needed(Config::load(&self.config)?.without_callers(), vec![tool.clone()]);
        let assembly = assembled(&config, Some(&self.config))?;
        let gateway = &assembly.gateway;
        let calling = async {
            there(gateway, &config, &tool, terminal).await;
            if self.dry_run {
                return self.check(gateway, tool.clone()).await;
            }
            print(self.answer(gateway, tool.clone(), terminal).await?)
        };
        closing(gateway, calling).await
    }

    /// All checks of a call; nothing runs.
    async fn check(&self, gateway: &Arc<Gateway>, tool: ToolRef) -> Result<ExitCode, Failure> {
        let arguments = self.arguments(&schema(gateway, &tool))?;
        let caller = gateway.admit(Credential::None, None)?;
        gateway.dry_run(&caller, Request::new(tool, arguments)).await?;
        Ok(would_run())
    }

    /// Asks a running server: over OXP, whose values are exactly the tool's; as a task, where somebody watches
    /// or nobody waits.
    async fn ask(&self, server: &Remote, terminal: &Terminal) -> Result<ExitCode, Failure> {
        let list = server.oxp.tools().await.map_err(unasked)?;
        let wanted = ToolRef::either(&self.tool);
        let Some(found) = list.tools.iter().rfind(|tool| is_meant(&wanted, tool)) else {
            let ids: Vec<String> =
                list.tools.iter().map(|tool| format!("{}.{}", tool.toolkit, tool.tool)).collect();
            let nearest = nearest(&self.tool, ids.iter().map(String::as_str)).map(str::to_owned);
            return Err(Refusal::UnknownTool { tool: self.tool.clone(), nearest, developer: None }.into());
        };
        let arguments = self.arguments(found.input.value())?;
        if self.dry_run {
            check_arguments(&found.input, &arguments)?;
            return Ok(would_run());
        }
        let id = ToolRef {
            toolkit: Some(found.toolkit.as_str().into()),
            tool: found.tool.as_str().into(),
            version: wanted.version,
        };
        if self.background {
            let task = server.submit(&id.to_string(), arguments.text()).await?;
            print_line(&task.ok_or_else(|| Failure::refused(anyhow::anyhow!("the server has no tasks")))?);
            return Ok(ExitCode::SUCCESS);
        }
        if terminal.is_live()
            && let Some(outcome) = watched(server, &id, &arguments, terminal).await?
        {
            return print(outcome);
        }
        let call = ToolCall::new(id.to_string(), arguments.value());
        tokio::select! {
            answered = server.oxp.call(&call) => print(answered.map_err(unasked)?.outcome),
            // Whoever hangs up does not want the call any more, which a server sees.
            signal = end_signal() => Err(Failure::cancelled_by(signal)),
        }
    }

    async fn answer(
        &self,
        gateway: &Arc<Gateway>,
        tool: ToolRef,
        terminal: &Terminal,
    ) -> Result<Outcome, Failure> {
        let arguments = self.arguments(&schema(gateway, &tool))?;
        let caller = gateway.admit(Credential::None, None)?;
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

/// Prints what a tool returned; whoever runs the command prints what it failed with.
pub(super) fn print(outcome: Outcome) -> Result<ExitCode, Failure> {
    match outcome {
        Outcome::Returned(output) => {
            print_line(output.value.get());
            Ok(ExitCode::SUCCESS)
        }
        Outcome::Failed(error) => Err(Failure::tool(&error.message.public)),
    }
}

/// The arguments against the schema that a server lists. It may know of more that is wrong.
fn check_arguments(schema: &Schema, arguments: &Arguments) -> Result<(), Failure> {
    let Ok(validator) = schema.compile() else { return Ok(()) };
    let parameters = validator.faults(arguments.value(), arguments.text().get().len());
    if parameters.is_empty() { Ok(()) } else { Err(Refusal::Invalid { parameters }.into()) }
}

fn would_run() -> ExitCode {
    note("the call passes every check; nothing was run (--dry-run)");
    ExitCode::SUCCESS
}

/// Calls a tool as a task and follows it; nothing where a server has no tasks. When a signal ends this program, the
/// task is cancelled, since only we know of it.
async fn watched(
    server: &Remote,
    tool: &ToolRef,
    arguments: &Arguments,
    terminal: &Terminal,
) -> Result<Option<Outcome>, Failure> {
    let tool = tool.to_string();
    let mut submitting = pin!(server.submit(&tool, arguments.text()));
    let mut end_signal = pin!(end_signal());
    let task = tokio::select! {
        submitted = &mut submitting => submitted?,
        signal = &mut end_signal => {
            if let Ok(Ok(Some(task))) = timeout(GRACE, submitting).await {
                server.cancel(&task).await;
            }
            return Err(Failure::cancelled_by(signal));
        }
    };
    let Some(task) = task else { return Ok(None) };
    tokio::select! {
        outcome = server.follow(&task, terminal) => outcome.map(Some),
        signal = end_signal => {
            terminal.clear();
            server.cancel(&task).await;
            Err(Failure::cancelled_by(signal))
        }
    }
}

/// Whether a tool over there is meant, by any of its names. A server may serve the names of its sources bare.
fn is_meant(wanted: &ToolRef, listed: &OxpTool) -> bool {
    let is = |toolkit: &str, tool: &str| toolkit == listed.toolkit && plain_name(tool) == listed.tool;
    if let Some(toolkit) = &wanted.toolkit {
        return is(toolkit, &wanted.tool);
    }
    let flat = flat_name(Some(&listed.toolkit), &listed.tool);
    wanted.tool.split_once('.').is_some_and(|(toolkit, tool)| is(toolkit, tool))
        || plain_name(&wanted.tool) == plain_name(&flat)
        || plain_name(&wanted.tool) == listed.tool
}

/// Arguments of the form name=value, each read as the type that the schema wants.
pub(super) fn named(arguments: &[String], schema: &Value) -> Result<Map<String, Value>, Failure> {
    let mut named = Map::new();
    for argument in arguments {
        let (name, text) = argument.split_once('=').ok_or_else(|| {
            Failure::refused(anyhow::anyhow!("`{argument}` is not of the form name=value"))
                .hint("write name=value for each argument, or --json '{…}' for all")
        })?;
        if named.insert(name.to_owned(), typed(text, &schema["properties"][name])).is_some() {
            return Err(Failure::refused(anyhow::anyhow!("`{name}` is given twice"))
                .hint(format!("write a list as JSON: '{name}=[1, 2]'")));
        }
    }
    Ok(named)
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
