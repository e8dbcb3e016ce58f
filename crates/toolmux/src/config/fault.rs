//! A fault in the configuration, with the line it is on and what to do about it.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use miette::{Diagnostic, NamedSource, SourceSpan};

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

    pub(super) fn unread(path: &Path, error: &std::io::Error) -> Self {
        let fault = ConfigFault::at("", "", None, format!("cannot read `{}`: {error}", path.display()));
        fault.hint("give the path of a configuration, such as examples/quickstart/toolmux.toml")
    }

    /// Adds what to do about it.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// The text with the values of secrets starred out, every other byte in its place.
fn masked(text: &str) -> String {
    text.split_inclusive('\n').map(masked_line).collect()
}

fn masked_line(line: &str) -> String {
    let Some((name, value)) = line.split_once('=') else { return line.to_owned() };
    let name_is = |word: &str| name.to_ascii_lowercase().contains(word);
    // `{ env = … }` and `{ file = … }` say where a secret is, not what it is.
    if value.trim_start().starts_with('{')
        || !["key", "secret", "token", "password"].iter().any(|word| name_is(word))
    {
        return line.to_owned();
    }
    let mut inside = false;
    let starred = value.chars().map(|c| match c {
        '"' | '\'' => {
            inside = !inside;
            c.to_string()
        }
        c if inside => "*".repeat(c.len_utf8()),
        c => c.to_string(),
    });
    format!("{name}={}", starred.collect::<String>())
}
