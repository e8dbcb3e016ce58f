//! `toolmux chat`: a conversation with a model that calls the tools of a configuration.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use toolmux_core::call::Caller;
use toolmux_core::gateway::{Credential, Gateway};
use toolmux_core::requirements::GrantAllowlist;
use toolmux_core::secret::Secret;
use toolmux_core::sources::{Naming, SourceStatus};
use toolmux_http::client::{HttpClient, HttpLimits};
use toolmux_protocols::model::{ModelClient, run, tools};

use super::assembling::assembled;
use super::closing::closing;
use super::failure::{Failure, whole};
use super::remote::{KEY_ENV, check_address};
use super::terminal::note;
use crate::config::{Config, SourceConfig};
use crate::printable::printable;

/// How long sources get to list their tools.
const LISTING_TIMEOUT: Duration = Duration::from_secs(30);
/// How often a model may call tools before it has to say something to the user.
const MOST_TURNS: usize = 32;

/// Chat with a model that calls the tools of a configuration.
///
/// With --url the tools are those of a running server.
///
/// Example: toolmux chat "What time is it?" --model-url http://127.0.0.1:8080 --model qwen3 --url http://127.0.0.1:9627
///
/// Example: toolmux chat "What is 2 to the 10th?" --model-url http://127.0.0.1:8080 --model qwen3
#[derive(clap::Args)]
pub(super) struct Chat {
    /// The question; without it, one question per line of standard input.
    question: Option<String>,
    /// The base URL of an endpoint that is compatible with Anthropic's or OpenAI's API.
    #[arg(long, value_name = "URL")]
    model_url: String,
    /// The name of the model.
    #[arg(long, value_name = "NAME")]
    model: String,
    /// The API of the endpoint, if it cannot be recognized by its address.
    #[arg(long, value_parser = ["anthropic", "openai"])]
    vendor: Option<String>,
    /// The environment variable that has the key of the model.
    #[arg(long, value_name = "NAME")]
    key_env: Option<String>,
    /// The system prompt: instructions for the model before the conversation.
    #[arg(long, value_name = "TEXT")]
    system: Option<String>,
    /// The configuration that has the tools.
    #[arg(long, default_value = "toolmux.toml")]
    pub(super) config: PathBuf,
    /// A running server that has the tools, instead of a configuration. Its key is in the environment variable
    /// TOOLMUX_KEY, or in the file of --key-file.
    #[arg(long, conflicts_with = "config")]
    url: Option<String>,
    /// The file that holds the key of that server.
    #[arg(long, value_name = "FILE", requires = "url")]
    key_file: Option<PathBuf>,
}

impl Chat {
    pub(super) async fn run(self) -> Result<ExitCode, Failure> {
        let client = self.client()?;
        let config = match &self.url {
            Some(url) => Config::of_sources(vec![running_server(url, self.key_file.as_deref())?])?,
            None => Config::load(&self.config)?.without_callers(),
        };
        let assembly =
            assembled(&config, Some(&self.config).filter(|_| self.url.is_none()).map(PathBuf::as_path))?;
        let gateway = &assembly.gateway;
        let talking = async {
            gateway.sources().settled(LISTING_TIMEOUT).await;
            refuse_silent_server(gateway, self.url.as_deref())?;
            self.talk(&client, gateway).await
        };
        closing(gateway, talking).await?;
        Ok(ExitCode::SUCCESS)
    }

    fn client(&self) -> Result<ModelClient, Failure> {
        let usual = ["ANTHROPIC_API_KEY", "OPENAI_API_KEY"];
        let key = match &self.key_env {
            Some(name) => Some(std::env::var(name).map_err(|_| {
                Failure::refused(anyhow::anyhow!("environment variable `{name}` is not set"))
            })?),
            None => {
                let anthropic =
                    self.vendor.as_deref() == Some("anthropic") || self.model_url.contains("anthropic");
                std::env::var(usual[usize::from(!anthropic)]).ok()
            }
        };
        let (http, vendor) = (HttpClient::new(HttpLimits::default()), self.vendor.as_deref());
        let key = key.map(Secret::new);
        let client = ModelClient::new(http, &self.model_url, &self.model, vendor, key.as_ref());
        Ok(client.map_err(Failure::refused)?.system(self.system.clone()))
    }

    async fn talk(&self, client: &ModelClient, gateway: &Arc<Gateway>) -> Result<(), Failure> {
        let caller = gateway.admit(Credential::None, None)?;
        let mut messages = Vec::new();
        if let Some(question) = &self.question {
            return answer(client, gateway, &caller, &mut messages, question).await;
        }
        let mut lines = BufReader::new(tokio::io::stdin()).lines();
        while let Some(line) = lines.next_line().await.map_err(Failure::refused)? {
            if !line.trim().is_empty() {
                answer(client, gateway, &caller, &mut messages, &line).await?;
            }
        }
        Ok(())
    }
}

/// A running server as the only source of tools, under the names that it serves.
fn running_server(url: &str, key_file: Option<&Path>) -> Result<SourceConfig, Failure> {
    check_address(url)?;
    let mut table = json!({ "url": url });
    if let Some(file) = key_file {
        if !file.is_file() {
            return Err(Failure::no_file(file));
        }
        table["key"] = json!({ "file": file });
    } else if std::env::var_os(KEY_ENV).is_some() {
        table["key"] = json!({ "env": KEY_ENV });
    }
    Ok(SourceConfig {
        name: "server".to_owned(),
        toolkit: "server".to_owned(),
        naming: Naming::Bare,
        coerce: false,
        allowlist: GrantAllowlist::default(),
        kind: "ats",
        table,
        folder: PathBuf::from("."),
        disabled_tools: Vec::new(),
    })
}

/// A server that was named has to answer: without its tools the conversation is not the one that was meant.
fn refuse_silent_server(gateway: &Gateway, url: Option<&str>) -> Result<(), Failure> {
    let failing = gateway.sources().reports().into_iter().find_map(|source| match source.status {
        SourceStatus::Failing(message) => Some(whole(&message)),
        SourceStatus::Connecting => Some("it did not list its tools in time".to_owned()),
        SourceStatus::Ready => None,
    });
    match (url, failing) {
        (Some(url), Some(why)) => {
            Err(Failure::refused(anyhow::anyhow!("no tools were found at `{url}`: {why}"))
                .hint("is the server running, and is its key right? export TOOLMUX_KEY, or --key-file FILE"))
        }
        _ => Ok(()),
    }
}

/// Model, tools, model again, until the model has only words for the user.
async fn answer(
    client: &ModelClient,
    gateway: &Arc<Gateway>,
    caller: &Caller,
    messages: &mut Vec<Value>,
    question: &str,
) -> Result<(), Failure> {
    messages.push(json!({ "role": "user", "content": question }));
    for _ in 0..MOST_TURNS {
        let offered = tools(client.vendor, &gateway.catalog(), caller);
        let mut show = |text: &str| {
            print!("{}", printable(text));
            // A terminal that is gone ends us by a signal soon enough.
            std::io::stdout().flush().ok();
        };
        let said = client.ask(messages, &offered, &mut show).await.map_err(Failure::refused)?;
        println!();
        let turn = run(gateway, caller, client.vendor, &said, None).await.map_err(Failure::refused)?;
        for result in &turn.results {
            let input = result.asked.input.as_ref().map(|map| json!(map).to_string()).unwrap_or_default();
            let how = if result.is_error { " failed" } else { "" };
            note(&format!("[{} {input}{how}]", result.asked.name));
        }
        let last = turn.is_last();
        messages.extend(turn.messages);
        if last {
            return Ok(());
        }
    }
    Err(Failure::refused(anyhow::anyhow!("the model called tools {MOST_TURNS} times without an answer")))
}
