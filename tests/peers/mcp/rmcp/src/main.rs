//! The official Rust SDK on both sides of toolmux: `rmcp-peer serve` is a server on standard streams; without an
//! argument its clients of both eras, over HTTP and over standard streams, call that server through toolmux.

use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, ensure};
use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{CallToolRequestParams, ClientConfig, ProtocolVersion};
use rmcp::service::{RoleClient, RunningService};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess, stdio};
use rmcp::{
    ClientLifecycleMode, ClientServiceExt, ServerHandler, ServiceExt, schemars, tool, tool_handler,
    tool_router,
};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Clone)]
struct Echo;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct EchoInput {
    text: String,
}

#[tool_router]
impl Echo {
    #[tool(description = "Says it back")]
    fn echo(&self, Parameters(input): Parameters<EchoInput>) -> String {
        input.text
    }
}

#[tool_handler(router = Self::tool_router())]
impl ServerHandler for Echo {}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    if std::env::args().nth(1).as_deref() == Some("serve") {
        Echo.serve(stdio()).await?.waiting().await?;
        return Ok(());
    }
    let scratch = std::env::var("TOOLMUX_SCRATCH").unwrap_or_else(|_| ".".to_owned());
    let config = format!("{scratch}/toolmux.toml");
    let ourselves = std::env::current_exe()?;
    let source = format!("[sources.Rust]\nkind = \"mcp\"\ncommand = [{ourselves:?}, \"serve\"]\n");
    std::fs::write(&config, format!("listen = \"127.0.0.1:0\"\nstore = \"memory\"\n{source}"))?;
    let (_server, url) = timeout(PATIENCE, start(&config)).await.context("toolmux did not start")??;
    for mode in modes() {
        let transport = StreamableHttpClientTransport::from_config(
            StreamableHttpClientTransportConfig::with_uri(format!("{url}/mcp")),
        );
        let client = ClientConfig::default().serve_with_lifecycle(transport, mode.clone());
        check(timeout(PATIENCE, client).await??, "HTTP", &mode).await?;
        let mut command = Command::new(toolmux());
        command.args(["mcp", &config]);
        let transport = TokioChildProcess::new(command)?;
        let client = ClientConfig::default().serve_with_lifecycle(transport, mode.clone());
        check(timeout(PATIENCE, client).await??, "standard streams", &mode).await?;
    }
    Ok(())
}

fn modes() -> [ClientLifecycleMode; 3] {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    [
        ClientLifecycleMode::Initialize,
        ClientLifecycleMode::Discover { preferred_versions: preferred_versions.clone() },
        ClientLifecycleMode::Auto { preferred_versions, legacy_version: Some(ProtocolVersion::V_2025_11_25) },
    ]
}

fn toolmux() -> String {
    std::env::var("TOOLMUX_BIN").unwrap_or_else(|_| "toolmux".to_owned())
}

/// A running toolmux that ends with us, and its address.
async fn start(config: &str) -> anyhow::Result<(Child, String)> {
    let mut server = Command::new(toolmux())
        .args(["serve", config])
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .context("cannot start toolmux")?;
    let mut lines = BufReader::new(server.stderr.take().context("it has no output")?).lines();
    while let Some(line) = lines.next_line().await? {
        if let Some((_, url)) = line.split_once(" serves ").and_then(|(_, ready)| ready.split_once(" on ")) {
            // What it says later needs a reader, or it could not go on.
            server.stderr = Some(lines.into_inner().into_inner());
            return Ok((server, url.trim().to_owned()));
        }
    }
    anyhow::bail!("toolmux ended")
}

async fn check(
    client: RunningService<RoleClient, ClientConfig>,
    over: &str,
    mode: &ClientLifecycleMode,
) -> anyhow::Result<()> {
    let tools = timeout(PATIENCE, client.list_all_tools()).await??;
    ensure!(tools.iter().any(|tool| tool.name == "Rust_echo"), "{over}, {mode:?}: {tools:?}");
    let arguments = serde_json::json!({ "text": "there and back" }).as_object().cloned().unwrap_or_default();
    let asked = CallToolRequestParams::new("Rust_echo").with_arguments(arguments);
    let result = timeout(PATIENCE, client.call_tool(asked)).await??;
    let said = serde_json::to_string(&result)?;
    ensure!(said.contains("there and back"), "{over}, {mode:?}: {said}");
    client.cancel().await?;
    println!("rmcp over {over}, {mode:?}: {} tools, 1 call", tools.len());
    Ok(())
}
