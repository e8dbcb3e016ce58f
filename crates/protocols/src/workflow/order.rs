//! The order in which steps run, and that every reference of a step points to one before it.

use std::collections::HashMap;

use serde_json::Value;
use toolmux_core::nearest::nearest;

use super::document::{START, Step};
use super::reference::{Part, Reference};
use crate::documents::fault::{Faults, Path, Weight};

/// The longest workflow.
const MOST_STEPS: usize = 1_000;

/// The steps from `start` on, each where `next` of the one before leads; a name that is no step ends them.
pub(super) fn ordered(steps: Vec<Step>, faults: &mut Faults) -> Option<Vec<Step>> {
    let workflow = Path::Root.member("workflow");
    if steps.len() > MOST_STEPS {
        let what = format!("there are {} steps, more than {MOST_STEPS}", steps.len());
        faults.fatal(&workflow, what, "split it into several workflows");
        return None;
    }
    let names: Vec<String> = steps.iter().map(|step| step.name.clone()).collect();
    let mut waiting: HashMap<String, Step> =
        steps.into_iter().map(|step| (step.name.clone(), step)).collect();
    let Some(first) = waiting.remove(START) else {
        faults.missing(&workflow, START, Weight::Fatal, "call the first step `start`");
        return None;
    };
    let mut ordered = vec![first];
    while let Some(next) = ordered.last().and_then(|step| step.next.clone()) {
        match waiting.remove(&next) {
            Some(step) => ordered.push(step),
            None => {
                back(&ordered, &next, faults);
                break;
            }
        }
    }
    unreached(&names, &waiting, faults);
    for place in 0..ordered.len() {
        let (before, rest) = ordered.split_at(place);
        if let Some(step) = rest.first() {
            let at = workflow.member(&step.name);
            Check { before, names: &names, faults }
                .value(&Value::from(step.arguments.clone()), &at.member("arguments"));
        }
    }
    Some(ordered)
}

/// A workflow has no branches, so that a step that leads back would run for ever.
fn back(ordered: &[Step], next: &str, faults: &mut Faults) {
    let Some(last) = ordered.last().filter(|_| ordered.iter().any(|step| step.name == next)) else { return };
    let workflow = Path::Root.member("workflow");
    let at = workflow.member(&last.name);
    let what = format!("`next` leads back to `{next}`: the workflow would never end");
    faults.fatal(&at.member("next"), what, "name another step, or write `null` to end");
}

fn unreached(names: &[String], waiting: &HashMap<String, Step>, faults: &mut Faults) {
    let workflow = Path::Root.member("workflow");
    for name in names.iter().filter(|name| waiting.contains_key(*name)) {
        let what = format!("no step leads to `{name}`");
        faults.fatal(
            &workflow.member(name),
            what,
            format!("write `\"next\": \"{name}\"` in the step before it"),
        );
    }
}

struct Check<'a> {
    before: &'a [Step],
    names: &'a [String],
    faults: &'a mut Faults,
}

impl Check<'_> {
    fn value(&mut self, value: &Value, at: &Path<'_>) {
        match value {
            Value::Array(items) => {
                items.iter().enumerate().for_each(|(index, item)| self.value(item, &at.item(index)));
            }
            Value::Object(members) => {
                members.iter().for_each(|(name, value)| self.value(value, &at.member(name)));
            }
            Value::String(text) => self.text(text, at),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn text(&mut self, text: &str, at: &Path<'_>) {
        let reference = match Reference::read(text) {
            None => return,
            Some(Err(what)) => return self.faults.fatal(at, what, "write `#/step/results/key`"),
            Some(Ok(reference)) => reference,
        };
        let Some(step) = self.before.iter().find(|step| step.name == reference.step) else {
            return self.nowhere(&reference, at);
        };
        let Some(key) = reference.path.first() else { return };
        match reference.part {
            Part::Arguments if !step.arguments.contains_key(key) => {
                let what = format!("step `{}` has no argument `{key}`", step.name);
                self.faults.fatal(at, what, format!("give `{}` an argument `{key}`", step.name));
            }
            Part::Results if !step.results.contains_key(key) => {
                let what = format!("step `{}` does not say that it gives `{key}`", step.name);
                let remedy = format!("list `{key}` in `results` of `{}`", step.name);
                self.faults.tolerable(at, what, remedy);
            }
            Part::Arguments | Part::Results => {}
        }
    }

    fn nowhere(&mut self, reference: &Reference, at: &Path<'_>) {
        let step = &reference.step;
        if self.names.contains(step) {
            let what = format!("step `{step}` does not run before this one");
            return self.faults.fatal(at, what, "refer to an earlier step");
        }
        let meant = nearest(step, self.names.iter().map(String::as_str));
        let remedy = meant.map_or_else(
            || "refer to an earlier step".to_owned(),
            |meant| format!("did you mean `{meant}`?"),
        );
        self.faults.fatal(at, format!("there is no step `{step}`"), remedy);
    }
}
