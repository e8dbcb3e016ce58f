//! `toolmux run`: a workflow over the tools of a configuration, step by step on the terminal.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use serde_json::json;
use tokio::sync::mpsc;
use toolmux_core::arguments::Arguments;
use toolmux_core::call::Request;
use toolmux_core::gateway::{Credential, Gateway};
use toolmux_core::names::ToolRef;
use toolmux_core::outcome::Outcome;
use toolmux_core::progress::{Progress, Update};
use toolmux_core::requirements::GrantAllowlist;
use toolmux_core::sources::{Mount, Naming, ToolSettings};
use toolmux_core::toolset::Pattern;

use super::assembling::assembled;
use super::call::{named, print, schema};
use super::closing::closing;
use super::connecting::there;
use super::failure::Failure;
use super::needed::{only_needed, steps_of};
use super::terminal::{Terminal, note};
use crate::config::{Config, SourceConfig};

/// How long a whole workflow may take; its steps have bounds of their own.
const WHOLE: Duration = Duration::from_hours(24);
/// The toolkit and the tool that the workflow is while it runs.
const TOOLKIT: &str = "toolmux_run";
const TOOL: &str = "workflow";

/// Run an OpenWorkflow document and print its result.
///
/// Example: toolmux run workflow.json text=Hello --config toolmux.toml
#[derive(clap::Args)]
pub(super) struct RunWorkflow {
    /// The workflow document to run.
    document: PathBuf,
    /// Arguments of the first step as name=value; they override those of the document.
    #[arg(value_name = "NAME=VALUE")]
    arguments: Vec<String>,
    /// The configuration that has the tools.
    #[arg(long, default_value = "toolmux.toml")]
    pub(super) config: PathBuf,
    /// How long each step may take.
    #[arg(long, value_name = "TIME", default_value = "1m")]
    step_timeout: String,
}

impl RunWorkflow {
    pub(super) async fn run(self, terminal: &Terminal) -> Result<ExitCode, Failure> {
        let config = Config::load(&self.config)?.without_callers();
        let workflow = self.workflow()?;
        let mut config = only_needed(config, steps_of(&workflow));
        let whole = ToolSettings { timeout: Some(WHOLE), ..ToolSettings::default() };
        config.tools.push((Pattern::new(format!("{TOOLKIT}.{TOOL}")), whole));
        let opened = workflow.open()?;
        let assembly = assembled(&config, Some(&self.config))?;
        assembly.gateway.sources().mount(Mount::new(
            &workflow.name,
            &workflow.toolkit,
            workflow.naming,
            opened,
        ));
        config.sources.push(workflow);
        let tool = ToolRef::id(&format!("{TOOLKIT}.{TOOL}")).context("the workflow has a name")?;
        let gateway = &assembly.gateway;
        let running = async {
            there(gateway, &config, &tool, terminal).await;
            self.follow(gateway, tool.clone()).await
        };
        print(Box::pin(closing(gateway, running)).await?)
    }

    fn workflow(&self) -> Result<SourceConfig, Failure> {
        if !self.document.is_file() {
            return Err(Failure::no_file(&self.document));
        }
        let document = std::path::absolute(&self.document)
            .with_context(|| format!("cannot find `{}`", self.document.display()))?;
        Ok(SourceConfig {
            name: self.document.display().to_string(),
            toolkit: TOOLKIT.to_owned(),
            naming: Naming::Prefixed,
            coerce: false,
            allowlist: GrantAllowlist::default(),
            kind: "workflow",
            table: json!({ "document": document, "name": TOOL, "step_timeout": self.step_timeout }),
            folder: PathBuf::from("."),
            disabled_tools: Vec::new(),
        })
    }

    async fn follow(&self, gateway: &Arc<Gateway>, tool: ToolRef) -> Result<Outcome, Failure> {
        let arguments = named(&self.arguments, &schema(gateway, &tool))?;
        let request = Request::new(tool, Arguments::from_map(arguments));
        let caller = gateway.admit(Credential::None, None)?;
        let (progress, updates) = Progress::channel();
        let calling = async {
            let answer = gateway.call(&caller, request, &progress).await;
            drop(progress);
            answer
        };
        let (answer, ()) = tokio::join!(calling, tell(updates));
        Ok(answer?)
    }
}

/// Every step on a line of its own.
async fn tell(mut updates: mpsc::Receiver<Update>) {
    while let Some(update) = updates.recv().await {
        if let Update::Progress { done, total, message } = update {
            let of = total.map(|total| format!("/{total}")).unwrap_or_default();
            note(&format!("[{}{of}] {}", done + 1.0, message.unwrap_or_default()));
        }
    }
}
