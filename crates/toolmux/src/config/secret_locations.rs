//! Where a configuration keeps its secrets, for whoever looks after them. The secrets themselves stay there.

use std::path::Path;

use toml::{Table, Value};

use crate::environment::variable;

/// A secret and where it is kept.
pub(crate) struct KeptSecret {
    /// Its path in the file: `keys.alice.key`.
    pub(crate) place: String,
    pub(crate) kept: SecretLocation,
    /// How long it is; absent when it is not there.
    pub(crate) length: Option<usize>,
    /// Who has it may call.
    pub(crate) opens_this_server: bool,
    /// The source whose secret it is.
    pub(crate) source: Option<String>,
}

/// How a secret is kept.
pub(crate) enum SecretLocation {
    Env(String),
    /// The path as written.
    File(String),
    /// In the configuration itself.
    Text,
}

/// Every secret of a text; none when it cannot be read, which others tell.
pub(crate) fn kept_secrets(text: &str, folder: &Path) -> Vec<KeptSecret> {
    let mut secrets = Vec::new();
    let table: Table = toml::from_str(text).unwrap_or_default();
    for (key, value) in &table {
        walk(&mut vec![key.as_str()], value, folder, &mut secrets);
    }
    secrets
}

fn walk<'a>(path: &mut Vec<&'a str>, value: &'a Value, folder: &Path, secrets: &mut Vec<KeptSecret>) {
    let kept = match value {
        Value::String(_) if is_secret(path) => Some(SecretLocation::Text),
        Value::String(address) if path == &["store"] && has_password(address) => Some(SecretLocation::Text),
        Value::Table(table) => pointed(table, path),
        _ => None,
    };
    if let Some(kept) = kept {
        let length = match &kept {
            SecretLocation::Text => value.as_str().map(str::len),
            SecretLocation::Env(name) => variable(name).map(|text| text.len()),
            SecretLocation::File(file) => {
                std::fs::read_to_string(folder.join(file)).ok().map(|text| text.trim().len())
            }
        };
        let opens_this_server = matches!(path[..], ["keys", _, "key"] | ["jwt", "secret"]);
        let length = length.filter(|length| *length > 0);
        let source = match path[..] {
            ["sources", source, ..] => Some(source.to_owned()),
            _ => None,
        };
        secrets.push(KeptSecret { place: path.join("."), kept, length, opens_this_server, source });
        return;
    }
    for (key, member) in value.as_table().into_iter().flatten() {
        path.push(key);
        walk(path, member, folder, secrets);
        path.pop();
    }
}

/// `{ env = "NAME" }` and `{ file = "path" }`. A table named `env` or `headers` holds names of its own.
fn pointed(table: &Table, path: &[&str]) -> Option<SecretLocation> {
    if table.len() != 1 || matches!(path, [.., "env" | "headers" | "properties"]) {
        return None;
    }
    let text = |key: &str| table.get(key).and_then(Value::as_str).map(str::to_owned);
    text("env").map(SecretLocation::Env).or_else(|| text("file").map(SecretLocation::File))
}

fn has_password(address: &str) -> bool {
    let user = address.split_once("://").and_then(|(_, rest)| rest.rsplit_once('@'));
    user.is_some_and(|(user, _)| user.contains(':'))
}

fn is_secret(path: &[&str]) -> bool {
    matches!(
        path,
        ["keys" | "sources", _, "key"]
            | ["jwt", "secret"]
            | ["auth" | "tls", "key"]
            | ["auth", "providers", _, "client_secret"]
            | ["secrets", _]
            | ["sources", _, "tls", "key"]
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_found_wherever_they_are_kept() {
        let text = "[keys.ann]\nkey = { file = \"nowhere\" }\n[keys.bob]\nkey = \"1234\"\n[secrets]\nA = { env = \"TOOLMUX_TEST_UNSET\" }
[sources.X]\nkind = \"mcp\"\nenv = { env = \"production\", TOKEN = { env = \"PATH\" } }\n[sources.Y]\nenv = { env = \"x\" }\n";
        let found: Vec<_> = kept_secrets(text, Path::new("."))
            .into_iter()
            .map(|secret| (secret.place, secret.length.is_some(), secret.opens_this_server))
            .collect();
        let expect = [
            ("keys.ann.key", false, true),
            ("keys.bob.key", true, true),
            ("secrets.A", false, false),
            ("sources.X.env.TOKEN", true, false),
        ];
        assert_eq!(found, expect.map(|(place, there, opens)| (place.to_owned(), there, opens)));
    }
}
