//! Invariants of configuration files, ours and those of other clients.

use std::path::Path;

use serde_json::Value;
use toolmux_core::names::is_plain;

use super::import::{parsed, sources, variable_named, without_comments};
use super::{Config, ConfigFault};
use crate::fuzz_targets::Target;

pub(crate) const TARGETS: &[Target] =
    &[("config", config_examples, config), ("config_import", import_examples, import)];

/// A value at every place that a file may have.
const FULL: &str = include_str!("secrecy.toml");
/// Stands for values that must not be shown.
const SECRET: &str = "fuzzedsecret0123456789";

/// The full file in pieces, with a secret in the place of each text that is no address, number or name of something.
fn config_examples() -> Vec<Vec<u8>> {
    let with_secrets: Vec<String> = FULL.lines().map(with_secret).collect();
    let tables = with_secrets.join("\n");
    let pieces: Vec<&str> = tables.split("\n[").collect();
    let piece = |lines: &[&str]| {
        let text = lines.join("\n[");
        if lines[0] == pieces[0] { text.into_bytes() } else { format!("[{text}").into_bytes() }
    };
    pieces.chunks(4).map(piece).collect()
}

fn with_secret(line: &str) -> String {
    match line.split_once(" = \"") {
        Some((key, value)) if !value.contains(['{', '[', '@']) && value.ends_with('"') => {
            format!("{key} = \"{SECRET}\"")
        }
        _ => line.to_owned(),
    }
}

/// A fault names keys and lines, never a value.
fn config(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let Err(fault) = Config::read(text, "toolmux.toml", Path::new("no-such-folder")) else { return };
    let shown = shown(&fault);
    assert!(shown.len() <= 16 * text.len() + 16_384, "{} bytes of fault", shown.len());
    if text.split(['\n', '\r']).all(holds_secret_as_value) {
        assert!(!shown.contains(SECRET), "{shown}");
    }
}

/// True for a line in which the secret, if it is there, stands behind `=` and is no key itself.
fn holds_secret_as_value(line: &str) -> bool {
    line.match_indices(SECRET).all(|(at, _)| {
        let behind = line[at + SECRET.len()..]
            .trim_start_matches(|c: char| c.is_ascii_alphanumeric() || " \t\"'_-".contains(c));
        line[..at].contains('=') && !behind.starts_with(['=', '.'])
    })
}

/// Everything that can be shown of a fault.
fn shown(fault: &ConfigFault) -> String {
    let mut report = String::new();
    miette::GraphicalReportHandler::new().render_report(&mut report, fault).expect("a report");
    format!("{report}\n{fault}\n{}\n{:?}\n{:?}", fault.located(), fault.hint, fault)
}

fn import_examples() -> Vec<Vec<u8>> {
    [
        r#"{"mcpServers":{"my-files":{"command":"npx","args":["-y","fuzzedsecret0123456789",1],"env":{"A":"fuzzedsecret0123456789"}},"far":{"url":"https://x.example/mcp","headers":{"K":"fuzzedsecret0123456789"}},"off":{"command":"x","disabled":true}}}"#,
        "{ // servers\n \"servers\": { /* one */ \"a\": { \"type\": \"stdio\", \"command\": \"x//y\", \"cwd\": \"${workspaceFolder}/b\" } } }",
        "[mcp_servers.docs]\ncommand = \"docs\"\nargs = [\"fuzzedsecret0123456789\"]\n",
        r#"{"mcp":{"servers":{"b":{"serverUrl":"${env:TOOLMUX_FUZZ_IS_NOT_SET}","bearer_token_env_var":"TOOLMUX_FUZZ_IS_NOT_SET"}}}}"#,
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec()
}

/// Comments are taken out of what they are in and nothing else is, servers keep their names, and no fault shows a value.
fn import(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let bare = without_comments(text);
    assert!(bare.len() <= text.len());
    if let Ok(value) = serde_json::from_str::<Value>(text) {
        assert_eq!(
            serde_json::from_str::<Value>(&bare).ok(),
            Some(value),
            "JSON without comments is changed"
        );
    }
    for file in ["clients.json", "clients.toml"] {
        let path = Path::new(file);
        let read = parsed(text, path)
            .and_then(|document| Ok((sources(&document, path, &variable_named)?, document)));
        match read {
            Ok((found, document)) => {
                let written = document.to_string();
                for source in found {
                    assert!(is_plain(&source.toolkit) && source.kind == "mcp");
                    assert!(
                        written.contains(&Value::from(source.name.as_str()).to_string()),
                        "`{}` is made up",
                        source.name
                    );
                }
            }
            Err(fault) => {
                let as_name = text.contains(&format!("{SECRET}\":"))
                    || text.lines().any(|line| !holds_secret_as_value(line) && file.ends_with("toml"));
                assert!(as_name || !fault.contains(SECRET), "{fault}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn targets_hold() {
        toolmux_fuzzing::hold(super::TARGETS);
    }
}
