//! The text of a configuration as [`Raw`], with every fault that is in it: what cannot be read is taken out, and the
//! rest is read again.

use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue, Error};

use super::fault::{Found, MOST_FAULTS};
use super::keys::{self, CheckedKeys, Spans, misread};
use super::raw::Raw;

/// What was read of a text.
pub(super) struct Reading {
    /// Without what could not be read.
    pub(super) raw: Raw,
    pub(super) spans: Spans,
    pub(super) faults: Vec<Found>,
}

/// Reads a text; `Err` has the faults of one that is not TOML.
pub(super) fn read(text: &str) -> Result<Reading, Vec<Found>> {
    let table = match DeTable::parse_recoverable(text) {
        (table, errors) if errors.is_empty() => table,
        (_, errors) => return Err(errors.iter().take(MOST_FAULTS).map(not_toml).collect()),
    };
    let CheckedKeys { spans, unknown } = keys::check(table.get_ref());
    let mut faulty = Faulty { text, table, removed: Vec::new(), faults: Vec::new() };
    for (path, found) in unknown {
        faulty.remove(path);
        faulty.faults.push(found);
    }
    match faulty.read() {
        Some(raw) => Ok(Reading { raw, spans, faults: faulty.faults }),
        None => Err(faulty.faults),
    }
}

fn not_toml(error: &Error) -> Found {
    Found { what: error.message().to_owned(), span: error.span().unwrap_or(0..0), hint: None }
}

/// A table that may hold faults.
struct Faulty<'a> {
    text: &'a str,
    table: Spanned<DeTable<'a>>,
    /// The paths of what was taken out.
    removed: Vec<Vec<String>>,
    faults: Vec<Found>,
}

impl Faulty<'_> {
    /// Takes out one member after the other that cannot be read. Ends, as each round takes one out.
    fn read(&mut self) -> Option<Raw> {
        loop {
            let error = match Raw::deserialize(toml::Deserializer::from(self.table.clone())) {
                Ok(raw) => return Some(raw),
                Err(error) => error,
            };
            let span = error.span().unwrap_or(0..0);
            let path = member_at(self.table.get_ref(), &span);
            if !self.is_consequence(path.as_deref(), &error) {
                let what = misread(self.text, &span, error.message());
                self.faults.push(Found { what, span, hint: None });
            }
            let path = path.filter(|_| self.faults.len() < MOST_FAULTS)?;
            self.remove(path);
        }
    }

    /// Whether a member is missing only because it was taken out.
    fn is_consequence(&self, path: Option<&[String]>, error: &Error) -> bool {
        let missing = error.message().strip_prefix("missing field `").and_then(|rest| rest.split_once('`'));
        let (Some(path), Some((name, _))) = (path, missing) else { return false };
        self.removed
            .iter()
            .any(|removed| removed.split_last().is_some_and(|(last, table)| last == name && table == path))
    }

    fn remove(&mut self, path: Vec<String>) {
        remove(self.table.get_mut(), &path);
        self.removed.push(path);
    }
}

/// Removes a member; of a path that leads into a list, the whole list.
fn remove(table: &mut DeTable<'_>, path: &[String]) {
    let Some((first, rest)) = path.split_first() else { return };
    let inner = table.get_mut(first.as_str()).map(Spanned::get_mut);
    match inner {
        Some(DeValue::Table(inner)) if !rest.is_empty() => remove(inner, rest),
        _ => drop(table.remove(first.as_str())),
    }
}

/// The path of the innermost member around a place.
fn member_at(table: &DeTable<'_>, span: &Range<usize>) -> Option<Vec<String>> {
    table.iter().find_map(|(key, value)| {
        // The span of a table may be that of its head alone, so its members are always looked at.
        let below = match value.get_ref() {
            DeValue::Table(table) => member_at(table, span),
            _ => None,
        };
        let outer = value.span();
        let is_within = outer.start <= span.start && span.end <= outer.end;
        let below = below.or_else(|| is_within.then(Vec::new))?;
        Some(std::iter::once(key.get_ref().to_string()).chain(below).collect())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: &[&str]) {
        let faults = match read(text) {
            Ok(reading) => reading.faults,
            Err(faults) => faults,
        };
        let found: Vec<&str> = faults.iter().map(|fault| fault.what.as_str()).collect();
        assert_eq!(found, expect, "{text}");
    }

    #[test]
    fn every_fault_is_found_and_none_because_of_another() {
        check("listen = '127.0.0.1:1'\n", &[]);
        check(
            "lisen = 1\nlisten = 2\n[limits]\nqueue = 'x'\ndrain = 'soon'\n[toolsets.a]\n[toolsets.b]\ntools = 5\n",
            &[
                "unknown key `lisen`",
                "`listen` must be a string",
                "`limits.queue` must be a whole number of at least 0",
                "`limits.drain` must be a time such as \"500ms\", \"5s\" or \"2m\"",
                "`toolsets.a` needs `tools`",
                "`toolsets.b.tools` must be a list of strings",
            ],
        );
    }
}
