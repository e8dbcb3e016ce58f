//! Constants of a header: macros that stand for a whole number, and enumerators.

use std::cell::Cell;
use std::collections::HashMap;

use super::expression::{evaluate, evaluate_within};
use super::preprocess::Macro;

/// How many names one expression may lead to: macros that name each other twice would double with every step.
const MOST_NAMES: u32 = 1_000;

/// The most constants of one kind.
const MOST_RUN: usize = 40;

/// Names and values, in the order of the header where they are the library's own.
#[derive(Debug, Default)]
pub(super) struct Constants {
    bodies: HashMap<String, String>,
    enumerators: HashMap<String, i128>,
    own: Vec<String>,
    /// Names that the running evaluation may still follow.
    budget: Cell<u32>,
}

impl Constants {
    pub(super) fn of_macros(macros: &[Macro]) -> Self {
        let mut constants = Constants::default();
        for found in macros {
            let is_new = constants.bodies.insert(found.name.clone(), found.body.clone()).is_none();
            if found.own && is_new {
                constants.own.push(found.name.clone());
            }
        }
        constants
    }

    pub(super) fn add_enumerator(&mut self, name: &str, value: i128, is_own: bool) {
        if self.enumerators.insert(name.to_owned(), value).is_none() && is_own {
            self.own.push(name.to_owned());
        }
    }

    /// The value of an expression over these names.
    pub(super) fn evaluate(&self, text: &str) -> Option<i128> {
        self.budget.set(MOST_NAMES);
        evaluate(text, &|name, depth| self.lookup(name, depth))
    }

    /// The value of a name.
    pub(super) fn value(&self, name: &str) -> Option<i128> {
        self.budget.set(MOST_NAMES);
        self.lookup(name, 0)
    }

    /// The library's own constants whose names begin so.
    pub(super) fn with_prefix<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, i128)> {
        let own = self.own.iter().filter(move |name| name.starts_with(prefix));
        own.filter_map(|name| Some((name.as_str(), self.value(name)?)))
    }

    /// The constants of one kind from a name on: those that follow it with the same prefix, until a value comes twice.
    pub(super) fn run_from(&self, first: &str) -> Vec<(String, i128)> {
        let Some(start) = self.own.iter().position(|name| name == first) else { return Vec::new() };
        let prefix = first.split_inclusive('_').next().unwrap_or_default();
        let mut run: Vec<(String, i128)> = Vec::new();
        for name in self.own[start..].iter().take(MOST_RUN) {
            let Some(value) = self.value(name).filter(|_| name.starts_with(prefix)) else { break };
            if run.iter().any(|(_, known)| *known == value) {
                break;
            }
            run.push((name.clone(), value));
        }
        run
    }

    fn lookup(&self, name: &str, depth: usize) -> Option<i128> {
        if let Some(value) = self.enumerators.get(name) {
            return Some(*value);
        }
        self.budget.set(self.budget.get().checked_sub(1)?);
        let body = self.bodies.get(name)?;
        evaluate_within(body, &|name, depth| self.lookup(name, depth), depth + 1)
    }
}
