//! `toolmux tools`: what a configuration serves, in the words of any protocol.

use std::process::ExitCode;
use std::sync::Arc;

use axum::body::{Body, to_bytes};
use clap::ValueEnum;
use http::Request;
use serde_json::{Value, json};
use toolmux_core::catalog::{Catalog, Entry, UnservedCause};
use toolmux_core::gateway::Gateway;
use toolmux_core::sources::SourceStatus;
use toolmux_core::tool::Returns;
use tower::ServiceExt;

use super::assembling::assembled;
use super::closing::closing;
use super::connecting::connected;
use super::failure::Failure;
use super::origin::{Origin, Originated};
use super::table::Table;
use super::terminal::{Form, Terminal, note, print_line};
use super::why::explain;
use crate::listener::routes;

/// The largest list.
const MOST_BYTES: usize = 256 << 20;

/// List the tools of a configuration.
///
/// Example: toolmux tools toolmux.toml --format openai
///
/// Example: toolmux tools --why Math.pow
#[derive(clap::Args)]
pub(super) struct Tools {
    #[command(flatten)]
    pub(super) origin: Origin,
    /// How to write them.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// The same as --format json.
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// Explain why this tool is served or not, by which source, and to whom.
    #[arg(long, value_name = "TOOL")]
    why: Option<String>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// A table for people.
    Table,
    /// Everything we know.
    Json,
    /// As OpenAI's Chat Completions take them.
    Openai,
    /// As OpenAI's Responses take them.
    OpenaiResponses,
    /// As Anthropic's Messages take them.
    Anthropic,
    /// As Gemini takes them.
    Gemini,
    /// As plain text for any model.
    Plain,
    /// As an OpenTool document.
    Opentool,
    /// As OXP lists them.
    Oxp,
    /// As MCP lists them.
    Mcp,
}

impl Format {
    /// What to ask of our own routes: they say exactly what a client would hear.
    fn question(self) -> Option<Request<Body>> {
        let get = |path: &str| Request::get(path).body(Body::empty());
        let question = match self {
            Format::Table | Format::Json => return None,
            Format::Openai => get("/model/openai/tools"),
            Format::OpenaiResponses => get("/model/openai-responses/tools"),
            Format::Anthropic => get("/model/anthropic/tools"),
            Format::Gemini => get("/model/gemini/tools"),
            Format::Plain => get("/model/plain/tools"),
            Format::Opentool => get("/opentool/load"),
            Format::Oxp => get("/tools"),
            Format::Mcp => Request::post("/mcp")
                .header("content-type", "application/json")
                .header("accept", "application/json, text/event-stream")
                .body(Body::from(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#)),
        };
        question.ok()
    }
}

impl Tools {
    pub(super) async fn run(self, terminal: &Terminal) -> Result<ExitCode, Failure> {
        let Originated { mut config, file, .. } = self.origin.config().await?;
        // Whoever can read the configuration may see what it serves.
        let asked = (std::mem::take(&mut config.keys), config.jwt.take());
        let assembly = assembled(&config, file.as_ref().map(|file| &*file.path))?;
        (config.keys, config.jwt) = asked;
        let gateway = &assembly.gateway;
        let printing = async {
            connected(gateway, terminal, config.limits.list_timeout).await;
            match &self.why {
                Some(tool) => {
                    let form = if self.json { Form::Programs } else { Form::People };
                    Ok(explain(tool, gateway, &config, form))
                }
                None => self.list(gateway, terminal).await.map(|()| ExitCode::SUCCESS),
            }
        };
        closing(gateway, printing).await
    }

    async fn list(&self, gateway: &Arc<Gateway>, terminal: &Terminal) -> Result<(), Failure> {
        let format = if self.json { Format::Json } else { self.format };
        let catalog = gateway.catalog();
        match (format, format.question()) {
            (_, Some(question)) => print_line(&format!("{:#}", asked(gateway, question).await?)),
            (Format::Table, None) => table(&catalog, terminal),
            (_, None) => {
                let every: Value = catalog.every().map(|entry| describe(entry)).collect();
                print_line(&format!("{every:#}"));
            }
        }
        for source in gateway.sources().reports() {
            if let SourceStatus::Failing(message) = source.status {
                note(&format!("source {}: {}", source.name, message.public));
            }
        }
        for tool in catalog.unserved().iter().filter(|tool| tool.cause != UnservedCause::Hidden) {
            note(&format!("not served: {} of {}: {}", tool.tool, tool.source, tool.reason));
        }
        for collision in catalog.every().filter_map(|entry| entry.collision()) {
            note(&format!("warning: {collision}"));
        }
        Ok(())
    }
}

/// The answer of our own routes; of an MCP envelope, what is in it.
async fn asked(gateway: &Arc<Gateway>, question: Request<Body>) -> Result<Value, Failure> {
    let answer = match routes(Arc::clone(gateway)).oneshot(question).await {
        Ok(answer) => answer,
        Err(never) => match never {},
    };
    let body = to_bytes(answer.into_body(), MOST_BYTES).await.map_err(Failure::refused)?;
    let mut said: Value = serde_json::from_slice(&body).map_err(Failure::refused)?;
    Ok(match said.get_mut("result") {
        Some(result) => result.take(),
        None => said,
    })
}

fn table(catalog: &Catalog, terminal: &Terminal) {
    let mut table = Table::new(["TOOL", "NAME", "DESCRIPTION"]);
    for entry in catalog.every() {
        let description = entry.tool.description.lines().next().unwrap_or_default();
        table.row([&entry.id.to_string(), &*entry.flat, description]);
    }
    table.print(terminal);
}

fn describe(entry: &Entry) -> Value {
    let returns = match &entry.tool.returns {
        Returns::Nothing => json!(null),
        Returns::Anything => json!({}),
        Returns::Matching(schema) => schema.value().clone(),
    };
    let hints = &entry.hints;
    json!({
        "id": entry.id.to_string(),
        "name": entry.flat,
        "version": entry.id.version,
        "description": entry.tool.description,
        "input_schema": entry.tool.input.value(),
        "output_schema": returns,
        "requirements": entry.requires,
        "hints": {
            "read_only": hints.read_only,
            "idempotent": hints.idempotent,
            "destructive": hints.destructive,
            "open_world": hints.open_world,
        },
        "timeout_ms": entry.timeout.as_millis(),
    })
}
