//! A fault in the configuration, with the line it is on and what to do about it.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use miette::{Diagnostic, NamedSource, SourceSpan};

use super::near_file::near_file;

/// Why a configuration is refused.
#[derive(Debug, thiserror::Error, Diagnostic)]
#[error("{what}")]
pub struct ConfigFault {
    what: String,
    #[source_code]
    source_text: Option<Arc<NamedSource<String>>>,
    #[label("here")]
    span: Option<SourceSpan>,
    /// What to do about it.
    pub hint: Option<String>,
}

/// A fault whose text is not at hand yet.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) what: String,
    pub(super) span: Range<usize>,
    pub(super) hint: Option<String>,
}

impl Found {
    pub(super) fn within(self, name: &str, text: &str) -> ConfigFault {
        let mut fault = ConfigFault::at(name, text, Some(self.span), self.what);
        fault.hint = self.hint;
        fault
    }
}

impl ConfigFault {
    pub(super) fn at(name: &str, text: &str, span: Option<Range<usize>>, what: String) -> Self {
        let source_text = span.is_some().then(|| Arc::new(NamedSource::new(name, masked(text))));
        ConfigFault { what, source_text, span: span.map(Into::into), hint: None }
    }

    pub(super) fn toml(name: &str, text: &str, error: &toml::de::Error) -> Self {
        ConfigFault::at(name, text, error.span(), error.message().to_owned())
    }

    pub(crate) fn unread(path: &Path, error: &std::io::Error) -> Self {
        let fault = ConfigFault::at("", "", None, format!("cannot read `{}`: {error}", path.display()));
        match near_file(path) {
            Some(near) => fault.hint(format!("did you mean `{near}`?")),
            None => {
                fault.hint("give the path of a file that is there; `toolmux init` writes a configuration")
            }
        }
    }

    /// Adds what to do about it.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// The text with every quoted value starred out that could be a secret, every other byte in its place.
fn masked(text: &str) -> String {
    text.split_inclusive('\n').map(masked_line).collect()
}

/// Words before which a value is plain: they say where a secret is, or what a source is.
const PLAIN: [&str; 12] = [
    "env",
    "file",
    "kind",
    "listen",
    "toolkit",
    "names",
    "description",
    "document",
    "library",
    "toolset",
    "timeout",
    "type",
];

fn masked_line(line: &str) -> String {
    let mut shown = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(start) = rest.find(['"', '\'']) {
        let quote = rest[start..].chars().next().unwrap_or('"');
        let Some(length) = rest[start + 1..].find(quote) else { break };
        let (before, value) = (&rest[..=start], &rest[start + 1..=start + length]);
        shown.push_str(before);
        let is_value = before.contains('=');
        let stays = !is_value || is_plain(before);
        shown.push_str(&if stays { value.to_owned() } else { "*".repeat(value.len()) });
        shown.push(quote);
        rest = &rest[start + length + 2..];
    }
    shown + rest
}

/// True when the key right before the value is a plain one.
fn is_plain(before: &str) -> bool {
    let key = before.rsplit_once('=').map_or(before, |(key, _)| key);
    let key = key.trim().rsplit(['{', ',', '.', ' ']).next().unwrap_or_default();
    PLAIN.contains(&key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expect: &str) {
        assert_eq!(masked(line), expect);
    }

    #[test]
    fn secrets_are_starred_wherever_they_stand() {
        check("key = \"hunter2\"\n", "key = \"*******\"\n");
        check("ann = { key = \"s3cret\", toolset = \"x\" }", "ann = { key = \"******\", toolset = \"x\" }");
        check("store = \"postgres://u:p@h\"", "store = \"****************\"");
        check("headers = { Authorization = 'a b' }", "headers = { Authorization = '***' }");
    }

    #[test]
    fn places_of_secrets_are_shown() {
        check("key = { env = \"NAME\" }", "key = { env = \"NAME\" }");
        check("[tools.\"Math.pow\"]", "[tools.\"Math.pow\"]");
    }
}
