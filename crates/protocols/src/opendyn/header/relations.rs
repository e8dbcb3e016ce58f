//! What one parameter of a function is to another beside its length: how much of it was written, its end, and what keeps it.

use serde_json::Value;

use super::c_type::CType;
use super::classify::Function;
use super::facts::object_of;
use super::forms::{bytes, input};
use super::guess::{Confidence, guess};
use super::parameter::signature_of;
use super::words::words;

impl Function<'_> {
    /// `size_t *out_pos`, `size_t *bytes_written`: how much of a buffer was written.
    pub(super) fn written_by(&self, buffer: &str) -> Option<&str> {
        let is_count = |at: &usize| {
            matches!(&self.declaration.parameters[*at].c, CType::Pointer { to, constant: false }
                if matches!(**to, CType::Scalar("int" | "unsigned int" | "long" | "unsigned long")))
        };
        let is_named = |name: &str| {
            let own = ["pos", "written", "len"].iter().any(|end| name == format!("{buffer}_{end}"));
            own || matches!(name, "bytes_written" | "nwritten" | "written")
        };
        (0..self.names.len()).filter(is_count).map(|at| self.names[at].as_str()).find(|name| is_named(name))
    }

    /// A pointer to the end of another parameter, or to its start once more: `pattern` and `pattern_end`.
    pub(super) fn edge(&self, index: usize) -> Option<Value> {
        let name = self.names[index].as_str();
        let last = words(name).pop()?;
        let edge = match (last.as_str(), name) {
            ("end", _) | (_, "limit" | "range") => "endOf",
            (_, "start" | "at") => "startOf",
            _ => return None,
        };
        let c = &self.declaration.parameters[index].c;
        let CType::Pointer { to, constant: true } = c else { return None };
        if !matches!(**to, CType::Scalar("char" | "unsigned char") | CType::Void) {
            return None;
        }
        let is_edge = |at: usize| words(&self.names[at]).pop().is_some_and(|last| last == "end");
        let of = (0..index).rev().find(|at| self.declaration.parameters[*at].c == *c && !is_edge(*at))?;
        let has_end = (0..self.names.len()).any(|at| self.declaration.parameters[at].c == *c && is_edge(at));
        let is_other = matches!(self.names[of].as_str(), "start" | "at");
        let of = if is_other {
            (0..of).rev().find(|at| self.declaration.parameters[*at].c == *c && !is_edge(*at))?
        } else {
            of
        };
        if !has_end {
            return None;
        }
        let buffer = &self.names[of];
        let mut parameter = input(name, bytes());
        parameter["schema"]["cType"][edge] = buffer.as_str().into();
        let what = if edge == "endOf" { "end" } else { "start" };
        guess(&mut parameter, Confidence::Medium, format!("`{name}` is taken for the {what} of `{buffer}`"));
        Some(parameter)
    }

    /// `imageCreateFromPngPtr(int size, void *data)`: an object is made from what it is given.
    pub(super) fn makes_from(&self) -> bool {
        let is_from = words(&self.declaration.name).iter().any(|word| word == "from");
        is_from && object_of(&self.declaration.returns).is_some()
    }

    /// Whether it takes a function that compares.
    pub(super) fn orders(&self) -> bool {
        self.declaration
            .parameters
            .iter()
            .any(|one| signature_of(&one.c).is_some_and(|own| self.compared(own).is_some()))
    }

    /// What a function that only notes the pointer reads later must live as long as the object that has it.
    pub(super) fn add_keeper(&self, index: usize, parameter: &mut Value) {
        const WORDS: [&str; 7] = ["memory", "source", "input", "keep", "borrow", "static", "nocopy"];
        let named = words(&self.declaration.name);
        let keeps = named.iter().any(|word| WORDS.contains(&word.as_str()));
        let kind = |at: usize| {
            object_of(&self.declaration.parameters[at].c).filter(|kind| !self.facts.is_value(kind))
        };
        let object = (0..index).find(|at| keeps && kind(*at).is_some());
        // Where a match was found is told by what notes it, long after the call.
        let is_match = named.iter().any(|word| word == "match" || word == "search");
        let notes = |at: &usize| {
            is_match
                && kind(*at).is_some_and(|kind| kind.contains("match_data") || kind.contains("MatchData"))
        };
        if let Some(object) = object.or_else(|| (index + 1..self.names.len()).find(notes)) {
            let name = &self.names[object];
            parameter["schema"]["cType"]["keptBy"] = name.as_str().into();
            guess(
                parameter,
                Confidence::Low,
                format!("it is taken to be read later: it is kept as long as `{name}`"),
            );
        }
    }
}
