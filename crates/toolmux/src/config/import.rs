//! MCP servers out of the configuration files of other clients, as they are: Claude Desktop and Cursor
//! (`mcpServers`), VS Code (`servers`, or `mcp.servers` in its settings) and Codex (`[mcp_servers]`).

use std::path::Path;

use serde_json::{Map, Value, json};
use toolmux_core::names::plain_name;
use toolmux_core::redact::know;
use toolmux_core::requirements::GrantAllowlist;
use toolmux_core::sources::Naming;

use super::SourceConfig;

/// Where clients keep their servers.
const PLACES: [&str; 4] = ["/mcpServers", "/mcp_servers", "/servers", "/mcp/servers"];

/// True for a file in which a client keeps MCP servers.
pub(crate) fn is_clients_file(path: &Path) -> bool {
    document(path).is_ok_and(|document| servers(&document).is_some())
}

/// Gives what an environment variable holds.
type Lookup<'a> = &'a dyn Fn(&str) -> Result<String, String>;

/// Every server of a file, in its order; those switched off are left out.
pub(crate) fn read(path: &Path) -> Result<Vec<SourceConfig>, String> {
    read_by(path, &variable_named)
}

/// The same with variables from elsewhere.
pub(super) fn read_by(path: &Path, lookup: Lookup<'_>) -> Result<Vec<SourceConfig>, String> {
    sources(&document(path)?, path, lookup)
}

/// The same of what stands in the file.
pub(super) fn sources(
    document: &Value,
    path: &Path,
    lookup: Lookup<'_>,
) -> Result<Vec<SourceConfig>, String> {
    let within = |what: String| format!("`{}`: {what}", path.display());
    let servers = servers(document).ok_or_else(|| within("there is no `mcpServers` in it".to_owned()))?;
    let folder = path.parent().unwrap_or(Path::new("."));
    let wanted = servers.iter().filter(|(_, server)| is_on(server));
    let within_server = |name: &str, what: String| within(format!("server `{name}`: {what}"));
    wanted
        .map(|(name, server)| source(name, server, folder, lookup).map_err(|what| within_server(name, what)))
        .collect()
}

/// The files that a configuration imports, as they are written; none when it cannot be read, which others tell.
pub(crate) fn imported_files(text: &str) -> Vec<String> {
    let table: toml::Table = toml::from_str(text).unwrap_or_default();
    let files = match table.get("sources").and_then(|sources| sources.get("import")) {
        Some(toml::Value::Array(files)) => files.iter().collect(),
        file => file.into_iter().collect::<Vec<_>>(),
    };
    files.into_iter().filter_map(|file| file.as_str().map(str::to_owned)).collect()
}

fn document(path: &Path) -> Result<Value, String> {
    // What names no file may be anything else, even a secret.
    let text = std::fs::read_to_string(path).map_err(|error| format!("the file cannot be read: {error}"))?;
    parsed(&text, path)
}

/// What a text says, by the kind of its file.
pub(super) fn parsed(text: &str, path: &Path) -> Result<Value, String> {
    let within = |what: String| format!("`{}`: {what}", path.display());
    if path.extension().is_some_and(|extension| extension == "toml") {
        return toml::from_str(text).map_err(|error| within(error.message().to_owned()));
    }
    serde_json::from_str(&without_comments(text)).map_err(|error| within(error.to_string()))
}

fn servers(document: &Value) -> Option<&Map<String, Value>> {
    PLACES.into_iter().find_map(|place| document.pointer(place)?.as_object())
}

/// The servers of a file that its client has switched off.
pub(crate) fn switched_off(path: &Path) -> Vec<String> {
    let Ok(document) = document(path) else { return Vec::new() };
    let servers = servers(&document).into_iter().flatten();
    servers.filter(|(_, server)| !is_on(server)).map(|(name, _)| name.clone()).collect()
}

fn is_on(server: &Value) -> bool {
    server["disabled"] != json!(true) && server["enabled"] != json!(false)
}

fn source(name: &str, server: &Value, folder: &Path, lookup: Lookup<'_>) -> Result<SourceConfig, String> {
    Ok(SourceConfig {
        name: name.to_owned(),
        toolkit: plain_name(name),
        naming: Naming::Prefixed,
        coerce: false,
        allowlist: GrantAllowlist::default(),
        kind: "mcp",
        table: table(server, lookup)?,
        disabled_tools: disabled_tools(server),
        folder: folder.to_owned(),
    })
}

/// The tools that the client has switched off.
fn disabled_tools(server: &Value) -> Vec<String> {
    let lists = ["disabledTools", "disabled_tools", "excludeTools"].into_iter();
    let names = lists.filter_map(|member| server[member].as_array()).flatten();
    names.filter_map(|name| name.as_str().map(str::to_owned)).collect()
}

/// The settings of an MCP source that say the same.
fn table(server: &Value, lookup: Lookup<'_>) -> Result<Value, String> {
    let filled = |value: &Value| match value {
        Value::String(text) => fill(text, lookup),
        other => Ok(other.to_string()),
    };
    let texts = |member: &str| -> Result<Map<String, Value>, String> {
        let members = server[member].as_object().into_iter().flatten();
        members.map(|(key, value)| Ok((key.clone(), filled(value)?.into()))).collect()
    };
    if let Some(command) = server["command"].as_str() {
        let given = server["args"].as_array().into_iter().flatten();
        let mut argv = vec![fill(command, lookup)?];
        argv.extend(given.map(filled).collect::<Result<Vec<_>, _>>()?);
        let mut table = json!({ "command": argv, "env": texts("env")? });
        if let Some(folder) = server["cwd"].as_str() {
            table["folder"] = fill(folder, lookup)?.into();
        }
        return Ok(table);
    }
    let url = ["url", "serverUrl", "httpUrl"].into_iter().find_map(|member| server[member].as_str());
    let url = url.ok_or("it has neither `command` nor `url`")?;
    let mut headers = texts("headers")?;
    headers.extend(texts("http_headers")?);
    if let Some(variable) = server["bearer_token_env_var"].as_str() {
        headers.insert("Authorization".to_owned(), format!("Bearer {}", lookup(variable)?).into());
    }
    Ok(json!({ "url": fill(url, lookup)?, "headers": headers }))
}

/// `${env:NAME}` and `${NAME}` stand for environment variables.
fn fill(text: &str, lookup: Lookup<'_>) -> Result<String, String> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let (name, tail) = after.split_once('}').ok_or("a `${` has no closing brace")?;
        filled.push_str(before);
        match name.split_once(':') {
            Some(("env", name)) => filled.push_str(&lookup(name)?),
            None if name == "workspaceFolder" => filled.push('.'),
            None => filled.push_str(&lookup(name)?),
            Some(_) => return Err("a `${…}` is known only to the client it was written for".to_owned()),
        }
        rest = tail;
    }
    filled.push_str(rest);
    Ok(filled)
}

pub(super) fn variable_named(name: &str) -> Result<String, String> {
    let text =
        std::env::var(name).map_err(|_| "an environment variable that it names is not set".to_owned())?;
    know(&text);
    Ok(text)
}

/// Editors allow comments in their JSON; texts may hold what looks like one.
pub(super) fn without_comments(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    let mut quoted = false;
    while let Some(c) = rest.next() {
        match (quoted, c, rest.peek()) {
            (true, '\\', Some(_)) => {
                kept.push(c);
                kept.extend(rest.next());
                continue;
            }
            (_, '"', _) => quoted = !quoted,
            (false, '/', Some('/')) => {
                rest.by_ref().take_while(|c| *c != '\n').for_each(drop);
                kept.push('\n');
                continue;
            }
            (false, '/', Some('*')) => {
                let mut last = ' ';
                rest.by_ref()
                    .skip(1)
                    .take_while(|c| !(std::mem::replace(&mut last, *c) == '*' && *c == '/'))
                    .for_each(drop);
                // What stands before and behind a comment are two words.
                kept.push(' ');
                continue;
            }
            _ => {}
        }
        kept.push(c);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(file: &str, text: &str, expect: &[(&str, &str, Value)]) {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let path = folder.path().join(file);
        std::fs::write(&path, text).expect("a file can be written");
        let read = read(&path).expect("the file is good");
        let read: Vec<_> =
            read.iter().map(|s| (s.name.as_str(), s.toolkit.as_str(), s.table.clone())).collect();
        assert_eq!(read, expect);
    }

    #[test]
    fn claude_desktop_and_cursor_files_are_read() {
        check(
            "claude_desktop_config.json",
            r#"{"mcpServers":{"my-files":{"command":"npx","args":["-y","server",1],"env":{"A":"b"}},
                "far":{"url":"https://x.example/mcp","headers":{"K":"v"}},"off":{"command":"x","disabled":true}}}"#,
            &[
                (
                    "my-files",
                    "my_files",
                    json!({ "command": ["npx", "-y", "server", "1"], "env": { "A": "b" } }),
                ),
                ("far", "far", json!({ "url": "https://x.example/mcp", "headers": { "K": "v" } })),
            ],
        );
    }

    #[test]
    fn vs_code_files_are_read_with_their_comments() {
        check(
            "mcp.json",
            "{ // servers\n \"servers\": { /* one */ \"a\": { \"type\": \"stdio\", \"command\": \"x//y\", \"cwd\": \"${workspaceFolder}/b\" } } }",
            &[("a", "a", json!({ "command": ["x//y"], "env": {}, "folder": "./b" }))],
        );
    }

    #[test]
    fn tools_that_a_client_switched_off_stay_off() {
        for (server, expect) in [
            (json!({ "disabledTools": ["a", "b"] }), &["a", "b"][..]),
            (json!({ "disabled_tools": ["a"] }), &["a"]),
            (json!({ "excludeTools": ["a", 1] }), &["a"]),
            (json!({ "disabledTools": "a" }), &[]),
        ] {
            assert_eq!(disabled_tools(&server), expect, "{server}");
        }
    }

    #[test]
    fn a_comment_does_not_join_what_is_around_it() {
        assert_eq!(without_comments("[1/**/2, \"/* */\"/* x */]// y"), "[1 2, \"/* */\" ]\n");
    }

    #[test]
    fn codex_files_are_read() {
        check(
            "config.toml",
            "model = \"x\"\n[mcp_servers.docs]\ncommand = \"docs\"\nargs = [\"--fast\"]\n",
            &[("docs", "docs", json!({ "command": ["docs", "--fast"], "env": {} }))],
        );
    }

    #[test]
    fn what_cannot_be_known_here_is_told() {
        assert!(
            fill("${input:key}", &variable_named).is_err_and(|error| error.contains("only to the client"))
        );
        assert!(
            fill("${env:NO_SUCH_VARIABLE}", &variable_named).is_err_and(|error| error.contains("is not set"))
        );
        assert_eq!(fill("plain $5", &variable_named).as_deref(), Ok("plain $5"));
    }
}
