//! Lines to paste: for a shell, for Python, and for the clients that people use.

use serde_json::{Value, json};
use toolmux_console::ClientSnippet;
use toolmux_core::catalog::Entry;
use toolmux_http::serve::curl::{post, quoted};

/// The variable that keys are in.
const VARIABLE: &str = "$TOOLMUX_KEY";

fn snippet(client: &str, place: &str, text: impl Into<String>) -> ClientSnippet {
    ClientSnippet { client: client.to_owned(), place: place.to_owned(), text: text.into() }
}

/// Lines that call a tool, with the variable of a key where callers have to show one.
pub(crate) fn of_call(base: &str, key: Option<&str>, entry: &Entry, arguments: &Value) -> Vec<ClientSnippet> {
    let members = arguments.as_object().cloned().unwrap_or_default();
    let words = members.iter().map(|(name, value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        format!(" {}", quoted(&format!("{name}={value}")))
    });
    let (words, url) = (words.collect::<String>(), format!("{base}/rest/{}", entry.flat));
    let header = key.map(|key| format!(" -H \"Authorization: Bearer {key}\"")).unwrap_or_default();
    vec![
        snippet("curl", "", post(&url, arguments) + &header),
        snippet("toolmux", "", format!("toolmux call {}{words} --url {base}", entry.id)),
        snippet("Python", "", python(&url, key, arguments)),
        snippet("OXP in Python", "pip install oxp", oxp(base, key, (entry, arguments))),
    ]
}

/// How Python gets the key of a variable.
fn python_key(key: Option<&str>) -> Option<&'static str> {
    key.map(|_| "os.environ[\"TOOLMUX_KEY\"]")
}

fn oxp(base: &str, key: Option<&str>, (entry, arguments): (&Entry, &Value)) -> String {
    let (import, token) = python_key(key).map_or(("oxp", "\"none\""), |key| ("os, oxp", key));
    let (id, input) = (json!(entry.id.to_string()), python_literal(arguments));
    format!(
        "import {import}\nclient = oxp.Oxp(base_url=\"{base}\", bearer_token={token})\n\
         answer = client.tools.call(request={{\"tool_id\": {id}, \"input\": {input}}})\nprint(answer.value)"
    )
}

fn python(url: &str, key: Option<&str>, arguments: &Value) -> String {
    let import = if key.is_some() { "json, os, urllib.request" } else { "json, urllib.request" };
    let header =
        python_key(key).map(|key| format!(", \"authorization\": \"Bearer \" + {key}")).unwrap_or_default();
    format!(
        "import {import}\nbody = json.dumps({}).encode()\nheaders = {{\"content-type\": \"application/json\"{header}}}\n\
         request = urllib.request.Request({}, body, headers)\nprint(urllib.request.urlopen(request).read().decode())",
        python_literal(arguments),
        json!(url)
    )
}

/// What to paste into clients; the key is one that was just made, or a variable.
pub(crate) fn of_clients(base: &str, key: Option<&str>) -> Vec<ClientSnippet> {
    let header = key.map(|key| format!(" -H \"Authorization: Bearer {key}\"")).unwrap_or_default();
    let mut lines = mcp_clients(&format!("{base}/mcp"), key);
    lines.extend([
        snippet("OpenAPI clients", "the document of every tool", format!("{base}/rest/openapi.json")),
        snippet("OXP clients", "the base URL", base),
        snippet("OpenTool clients", "the base URL", base),
        snippet(
            "ATS clients",
            "the list of tools",
            format!("curl {}{header}", quoted(&format!("{base}/get_tool"))),
        ),
    ]);
    lines
}

fn mcp_clients(url: &str, key: Option<&str>) -> Vec<ClientSnippet> {
    // How a client names the variable of the key; a key that was just made stands there itself.
    let with_key = |variable: &str, mut server: Value| {
        if let Some(key) = key {
            let key = if key == VARIABLE { variable } else { key };
            server["headers"] = json!({ "Authorization": format!("Bearer {key}") });
        }
        server
    };
    let servers = |member: &str, variable: &str, server: Value| {
        format!("{:#}", json!({ member: { "toolmux": with_key(variable, server) } }))
    };
    let header = key.map(|key| format!(" --header \"Authorization: Bearer {key}\"")).unwrap_or_default();
    let own = json!({ "mcpServers": { "toolmux": { "command": "toolmux", "args": ["mcp", "/path/to/toolmux.toml"] } } });
    let http = || json!({ "type": "http", "url": url });
    let streamable = with_key("KEY", json!({ "transport": "streamable_http", "url": url }));
    let langchain = python_literal(&json!({ "toolmux": streamable }));
    let langchain = format!(
        "from langchain_mcp_adapters.client import MultiServerMCPClient\nclient = MultiServerMCPClient({langchain})"
    );
    let claude = format!("claude mcp add --transport http toolmux {url}{header}");
    let cursor = servers("mcpServers", "${env:TOOLMUX_KEY}", json!({ "url": url }));
    vec![
        snippet("Claude Code", "In a terminal", claude),
        snippet("Claude Desktop", "claude_desktop_config.json, which starts it itself", format!("{own:#}")),
        snippet("Cursor", "~/.cursor/mcp.json", cursor),
        snippet("VS Code", ".vscode/mcp.json", servers("servers", "${input:toolmux-key}", http())),
        snippet("Any MCP client", "Streamable HTTP", servers("mcpServers", "${TOOLMUX_KEY}", http())),
        snippet("LangChain", "pip install langchain-mcp-adapters", langchain),
    ]
}

/// A JSON value as Python writes it.
pub(crate) fn python_literal(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(python_literal).collect::<Vec<_>>().join(", "))
        }
        Value::Object(members) => {
            let member = |(name, value)| format!("{}: {}", json!(name), python_literal(value));
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
        assert_eq!(python_literal(&value), r#"{"a": [True, None, 1.5], "b": {"c": "d\"e"}}"#);
    }

    #[test]
    fn a_key_that_was_just_made_is_in_every_line_that_needs_one() {
        let lines = of_clients("http://h:1", Some("tmx_1"));
        for client in ["Claude Code", "Cursor", "VS Code", "Any MCP client", "LangChain", "ATS clients"] {
            let line = lines.iter().find(|line| line.client == client).expect("a client");
            assert!(line.text.contains("Bearer tmx_1") && line.text.contains("http://h:1"), "{}", line.text);
        }
        assert!(of_clients("http://h:1", None).iter().all(|line| !line.text.contains("Bearer")));
    }
}
