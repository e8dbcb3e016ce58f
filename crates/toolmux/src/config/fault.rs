//! A fault in the configuration, with the line it is on and what to do about it. Faults name keys, places and what is
//! expected; they never hold a value, since any value may be a secret.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use miette::{Diagnostic, NamedSource, SourceSpan};

use super::excerpt::masked;
use super::near_file::near_file;
use crate::printable::{printable, starred};

/// How many faults of one file are told.
pub(super) const MOST_FAULTS: usize = 25;

/// Why a configuration is refused.
#[derive(Debug, thiserror::Error, Diagnostic)]
#[error("{what}")]
pub struct ConfigFault {
    what: String,
    /// File, line and column.
    place: Option<String>,
    #[source_code]
    source_text: Option<Arc<NamedSource<String>>>,
    #[label("here")]
    span: Option<SourceSpan>,
    /// What to do about it.
    pub hint: Option<String>,
    /// Further faults of the same file.
    others: Box<[ConfigFault]>,
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
        let source_text = span.is_some().then(|| Arc::new(NamedSource::new(name, starred(&masked(text)))));
        let place = span.as_ref().map(|span| {
            let before = &text[..text.floor_char_boundary(span.start.min(text.len()))];
            let line = before.rsplit('\n').next().unwrap_or_default();
            format!("{name}:{}:{}", before.matches('\n').count() + 1, line.chars().count() + 1)
        });
        // A key may hold any character, and these words end up on a terminal.
        let what = printable(&what).into_owned();
        ConfigFault {
            what,
            place,
            source_text,
            span: span.map(Into::into),
            hint: None,
            others: Box::default(),
        }
    }

    /// All faults of one file as one, in the order of its lines; none when there is none.
    pub(super) fn joined(mut faults: Vec<ConfigFault>) -> Option<Self> {
        faults.sort_by_key(|fault| fault.span.map(|span| span.offset()));
        faults.truncate(MOST_FAULTS);
        let mut faults = faults.into_iter();
        let first = faults.next()?;
        Some(ConfigFault { others: faults.collect(), ..first })
    }

    /// The same at a place of a file.
    pub(super) fn moved_to(self, (text, name): (&str, &str), span: Option<Range<usize>>) -> Self {
        ConfigFault { hint: self.hint, ..ConfigFault::at(name, text, span, self.what) }
    }

    /// Each fault of the file by itself.
    pub fn split(mut self) -> Vec<ConfigFault> {
        let others = std::mem::take(&mut self.others);
        std::iter::once(self).chain(others).collect()
    }

    /// Every fault of the file with its place and its remedy, on one line.
    pub fn summary(&self) -> String {
        let each = |fault: &ConfigFault| match &fault.hint {
            Some(hint) => format!("{} (hint: {hint})", fault.located()),
            None => fault.located(),
        };
        let all: Vec<String> = std::iter::once(self).chain(self.others.iter()).map(each).collect();
        all.join("; ")
    }

    /// Where it is and what is wrong, on one line.
    pub fn located(&self) -> String {
        match &self.place {
            Some(place) => format!("{place}: {}", self.what),
            None => self.what.clone(),
        }
    }

    pub(crate) fn unread(path: &Path, error: &std::io::Error) -> Self {
        let file = path.display();
        if error.kind() != std::io::ErrorKind::NotFound {
            return ConfigFault::at("", "", None, format!("cannot read `{file}`: {error}"));
        }
        let fault = ConfigFault::at("", "", None, format!("there is no `{file}`"));
        match near_file(path) {
            Some(near) => fault.hint(format!("did you mean `{near}`?")),
            None => fault.hint(format!("name another file; `toolmux init {file}` writes a configuration")),
        }
    }

    /// Adds what to do about it.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}
