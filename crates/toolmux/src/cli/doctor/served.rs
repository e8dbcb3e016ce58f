//! How a running server does, as its console tells it.

use serde::Deserialize;
use toolmux_core::plural::counted;

use super::Finding;
use crate::cli::console_client::ConsoleClient;
use crate::cli::failure::Failure;
use crate::cli::remote::KeyOptions;

#[derive(Deserialize)]
struct Overview {
    version: String,
    ready: bool,
    store_fault: Option<String>,
    open: bool,
    tools: usize,
    unserved: usize,
    sources: Vec<Source>,
}

#[derive(Deserialize)]
struct Source {
    name: String,
    state: String,
    heard: Option<String>,
    error: Option<String>,
    tools: usize,
    breaker_seconds: Option<f64>,
}

#[derive(Deserialize)]
struct Configuration {
    fault: Option<String>,
    needs_restart: Vec<String>,
}

pub(super) async fn examine(url: &str, key: &KeyOptions) -> Result<Vec<Finding>, Failure> {
    let client = ConsoleClient::new(url, key)?;
    let overview: Overview = client.get("console/api/overview", &[]).await?;
    let configuration: Option<Configuration> = client.get("console/api/config", &[]).await?;
    let mut findings = vec![server(&overview)];
    findings.extend(
        overview
            .store_fault
            .as_ref()
            .map(|fault| Finding::bad("store", fault.as_str(), "restart the server once the store is back")),
    );
    if overview.open {
        findings.push(Finding::warning(
            "keys",
            "nobody has to show a key",
            "toolmux keys add NAME --operator",
        ));
    }
    findings.extend(overview.sources.iter().map(source));
    if overview.unserved > 0 {
        let what = format!("{} not served", counted(overview.unserved, "tool"));
        findings.push(Finding::warning("tools", what, "/console/tools?only=unserved says why"));
    }
    if let Some(configuration) = configuration {
        findings.extend(configuration.fault.map(|fault| {
            Finding::failing(
                "config",
                format!("the changed file is not used: {fault}"),
                "toolmux check shows the line",
            )
        }));
        if !configuration.needs_restart.is_empty() {
            let what = format!("changed, and not in use yet: {}", configuration.needs_restart.join(", "));
            findings.push(Finding::warning("config", what, "restart the server"));
        }
    }
    Ok(findings)
}

fn server(overview: &Overview) -> Finding {
    let what = format!("toolmux {} serves {}", overview.version, counted(overview.tools, "tool"));
    if overview.ready {
        Finding::good("server", what)
    } else {
        Finding::failing("server", format!("{what}, and is not ready"), "it waits for its sources")
    }
}

fn source(source: &Source) -> Finding {
    let heard = source.heard.as_ref().map(|heard| format!(", heard at {heard}")).unwrap_or_default();
    let what = format!("{}: {}, {}{heard}", source.name, source.state, counted(source.tools, "tool"));
    match (&source.error, source.breaker_seconds, source.state.as_str()) {
        (Some(error), ..) => Finding::failing("sources", format!("{what}: {error}"), "its log says more"),
        (None, Some(left), _) => {
            let what = format!("{what}: the circuit breaker is open for another {left:.0} s");
            Finding::failing(
                "sources",
                what,
                "its calls failed again and again; toolmux calls --failed shows them",
            )
        }
        (None, None, "ready" | "off") => Finding::good("sources", what),
        (None, None, _) => Finding::warning("sources", what, "it was not heard of yet"),
    }
}
