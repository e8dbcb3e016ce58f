//! `toolmux tools`: what a configuration serves.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::ValueEnum;
use serde_json::{Value, json};
use toolmux_core::catalog::{Catalog, Entry};
use toolmux_core::gateway::{Credential, SourceStatus};
use toolmux_core::store::MemoryStore;
use toolmux_protocols::model::{Vendor, tools as model_tools, vendor};
use toolmux_protocols::opentool::OpenTool;

use super::ConfigArgument;
use super::failure::Failure;
use super::table::Table;
use crate::assembly::Assembly;
use crate::config::Config;

/// How long sources get to list their tools.
const PATIENCE: Duration = Duration::from_secs(30);

/// List the tools of a configuration.
///
/// Example: toolmux tools examples/quickstart/toolmux.toml --format json
#[derive(clap::Args)]
pub(super) struct Tools {
    #[command(flatten)]
    config: ConfigArgument,
    /// How to write them.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// For people.
    Table,
    /// Everything we know.
    Json,
    /// As an OpenTool document.
    Opentool,
    /// As OpenAI's Chat Completions take them.
    Openai,
    /// As OpenAI's Responses take them.
    OpenaiResponses,
    /// As Anthropic's Messages take them.
    Anthropic,
    /// As Gemini takes them.
    Gemini,
}

impl Format {
    /// The model vendor whose form it is.
    fn vendor(self) -> Option<&'static Vendor> {
        vendor(match self {
            Format::Table | Format::Json | Format::Opentool => return None,
            Format::Openai => "openai",
            Format::OpenaiResponses => "openai-responses",
            Format::Anthropic => "anthropic",
            Format::Gemini => "gemini",
        })
    }
}

impl Tools {
    pub(super) async fn run(self) -> Result<ExitCode, Failure> {
        let mut config = Config::load(&self.config.config)?;
        // Whoever can read the configuration may see what it serves.
        (config.keys, config.jwt) = (Vec::new(), None);
        let assembly = Assembly::new(&config, Arc::new(MemoryStore::default()))?;
        let gateway = &assembly.gateway;
        gateway.settled(PATIENCE).await;
        let catalog = gateway.catalog();
        match (self.format, self.format.vendor()) {
            (Format::Table, _) => table(&catalog),
            (Format::Opentool, _) => {
                let anyone = gateway.admit(Credential::None, None)?;
                println!("{}", OpenTool::of_entries(catalog.newest(&anyone)).to_json());
            }
            (_, Some(vendor)) => {
                let caller = gateway.admit(Credential::None, None)?;
                println!("{:#}", model_tools(vendor, &catalog, &caller));
            }
            (_, None) => {
                let tools: Vec<Value> = catalog.every().map(|entry| describe(entry)).collect();
                println!("{}", serde_json::to_string_pretty(&tools).unwrap_or_default());
            }
        }
        for source in gateway.sources() {
            if let SourceStatus::Failing(message) = source.status {
                eprintln!("source {}: {}", source.name, message.public);
            }
        }
        for tool in catalog.unserved() {
            eprintln!("not served: {} of {}: {}", tool.tool, tool.source, tool.reason);
        }
        gateway.close(PATIENCE).await;
        Ok(ExitCode::SUCCESS)
    }
}

fn table(catalog: &Catalog) {
    let mut table = Table::new(["TOOL", "NAME", "DESCRIPTION"]);
    for entry in catalog.every() {
        let description = entry.tool.description.lines().next().unwrap_or_default();
        table.row([&entry.id.to_string(), &*entry.flat, description]);
    }
    print!("{table}");
}

fn describe(entry: &Entry) -> Value {
    json!({
        "id": entry.id.to_string(),
        "name": entry.flat,
        "version": entry.id.version,
        "description": entry.tool.description,
        "input_schema": entry.tool.input.value(),
    })
}
