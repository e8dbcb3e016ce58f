//! What a server says when it is ready: what it serves, where, and lines to paste that try it.

use serde_json::json;
use toolmux_core::catalog::{Entry, UnservedCause};
use toolmux_core::example::example_arguments;
use toolmux_core::gateway::{Credential, Gateway};
use toolmux_core::plural::counted;
use toolmux_core::sources::SourceStatus;

use super::detect::Found;
use super::terminal::{Form, Terminal, note};
use crate::listener::served;

/// Says what words on the command line turned out to be.
pub(super) fn tell_found(found: &[Found], terminal: &Terminal) {
    for each in found {
        if terminal.notes == Form::Programs {
            tracing::info!(named = each.named, "found {}", each.what);
            continue;
        }
        note(&format!("found {}: {}", each.named, each.what));
    }
}

/// Says what is served where, and how to try it.
pub(super) fn announce(gateway: &Gateway, base: &str, terminal: &Terminal) {
    announce_ready(gateway, base, terminal);
    if terminal.notes == Form::Programs {
        return;
    }
    let Ok(anyone) = gateway.admit(Credential::None, None) else {
        note("Every route but /health asks for a key: Authorization: Bearer KEY");
        return;
    };
    if let Some(tool) = gateway.catalog().newest(&anyone).next() {
        snippets(base, tool, terminal);
    }
}

/// Says what is served where, and what is not.
pub(super) fn announce_ready(gateway: &Gateway, base: &str, terminal: &Terminal) {
    let catalog = gateway.catalog();
    if terminal.notes == Form::Programs {
        // The log has told of sources and of tools that are not served.
        tracing::info!(tools = catalog.len(), url = base, "serving");
        return;
    }
    // Scripts find the address in this line, so its words are the same for one tool.
    let ready = format!("toolmux {} serves {} tools on {base}", env!("CARGO_PKG_VERSION"), catalog.len());
    note(&terminal.bold(&ready));
    for source in gateway.sources().reports() {
        match source.status {
            SourceStatus::Ready => {
                note(&format!("  source {}: {}", source.name, counted(source.tools, "tool")));
            }
            SourceStatus::Connecting => note(&format!("  source {}: still connecting", source.name)),
            SourceStatus::Failing(message) => note(&format!("  source {}: {}", source.name, message.public)),
        }
    }
    for tool in catalog.unserved().iter().filter(|tool| tool.cause != UnservedCause::Hidden) {
        note(&format!("  not served: {} of {}: {}", tool.tool, tool.source, tool.reason));
    }
    for collision in catalog.every().filter_map(|entry| entry.collision()) {
        note(&format!("  warning: {collision}"));
    }
}

fn snippets(base: &str, tool: &Entry, terminal: &Terminal) {
    note(&terminal.bold("Try:"));
    for served in served() {
        if let Some(line) = (served.try_it)(base, tool) {
            note(&format!("  {:<9} {line}", served.name));
        }
    }
    note(&terminal.bold("For an MCP client:"));
    note(&format!(
        "  {}",
        json!({ "mcpServers": { "toolmux": { "type": "http", "url": format!("{base}/mcp") } } })
    ));
    note(&terminal.bold("For an OpenTool client, the base URL:"));
    note(&format!("  {base}"));
    note(&terminal.bold("For Python, after `pip install oxp`:"));
    note(&python(base, tool));
}

/// Five lines with the public package of OXP.
fn python(base: &str, tool: &Entry) -> String {
    let (id, input) = (json!(tool.id.to_string()), literal(&example_arguments(tool.tool.input.value())));
    format!(
        "  import oxp
  client = oxp.Oxp(base_url=\"{base}\", bearer_token=\"none\")
  print([tool.id for tool in client.tools.list().items])
  answer = client.tools.call(request={{\"tool_id\": {id}, \"input\": {input}}})
  print(answer.result)"
    )
}

/// A JSON value as Python writes it.
fn literal(value: &serde_json::Value) -> String {
    use serde_json::Value;
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(literal).collect::<Vec<_>>().join(", "))
        }
        Value::Object(members) => {
            let member = |(name, value)| format!("{}: {}", json!(name), literal(value));
            format!("{{{}}}", members.iter().map(member).collect::<Vec<_>>().join(", "))
        }
        Value::Number(_) | Value::String(_) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_as_python_does() {
        let value = json!({ "a": [true, null, 1.5], "b": { "c": "d\"e" } });
        assert_eq!(literal(&value), r#"{"a": [True, None, 1.5], "b": {"c": "d\"e"}}"#);
    }
}
