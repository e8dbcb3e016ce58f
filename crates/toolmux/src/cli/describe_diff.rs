//! `toolmux describe --diff`: what a new header changes in a document.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use serde_json::Value;

use super::failure::{Failure, TOOL_FAILED};
use super::terminal::print_line;

/// Prints which functions came, went and changed; the exit code is 1 if there are any.
pub(super) fn print_differences(old: &Path, document: &Value) -> Result<ExitCode, Failure> {
    let text = std::fs::read_to_string(old).with_context(|| format!("cannot read `{}`", old.display()))?;
    let before: Value =
        serde_json::from_str(&text).with_context(|| format!("`{}` is not JSON", old.display()))?;
    let lines = differences(&before, document);
    for line in &lines {
        print_line(line);
    }
    Ok(if lines.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(TOOL_FAILED) })
}

fn differences(before: &Value, after: &Value) -> Vec<String> {
    let (old, new) = (functions(before), functions(after));
    let mut lines = Vec::new();
    for name in old.keys().filter(|name| !new.contains_key(*name)) {
        lines.push(format!("- {name}"));
    }
    for (name, function) in &new {
        match old.get(name) {
            None => lines.push(format!("+ {name}")),
            Some(old) => lines.extend(changes(old, function).map(|change| format!("~ {name}: {change}"))),
        }
    }
    lines
}

/// The functions of a document by name, whether they are decided or not.
fn functions(document: &Value) -> BTreeMap<&str, &Value> {
    let lists = ["functions", "undecided"].into_iter().filter_map(|list| document[list].as_array());
    lists.flatten().filter_map(|function| Some((function["name"].as_str()?, function))).collect()
}

/// What is different about a function, the first of it in words.
fn changes(old: &Value, new: &Value) -> Option<String> {
    let named = |function: &Value| -> BTreeMap<String, Value> {
        let parameters = function["parameters"].as_array().into_iter().flatten();
        parameters
            .map(|parameter| (parameter["name"].as_str().unwrap_or_default().to_owned(), parameter.clone()))
            .collect()
    };
    let (before, after) = (named(old), named(new));
    let gone =
        before.keys().filter(|name| !after.contains_key(*name)).map(|name| format!("`{name}` is gone"));
    let come = after.keys().filter(|name| !before.contains_key(*name)).map(|name| format!("`{name}` is new"));
    let other = after
        .iter()
        .filter(|(name, value)| before.get(*name).is_some_and(|old| shape(old) != shape(value)))
        .map(|(name, _)| format!("`{name}` is another type"));
    let returned =
        (shape(&old["return"]) != shape(&new["return"])).then(|| "it returns another type".to_owned());
    let all: Vec<String> = gone.chain(come).chain(other).chain(returned).collect();
    if !all.is_empty() {
        return Some(all.join(", "));
    }
    (old["description"] != new["description"]).then(|| "another description".to_owned())
}

/// What of a parameter or a return is about the call and not about its reader.
fn shape(part: &Value) -> Value {
    let mut part = part.clone();
    if let Some(members) = part.as_object_mut() {
        for member in ["description", "guess", "question", "proposals"] {
            members.remove(member);
        }
    }
    part
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn functions_that_came_went_and_changed_are_listed() {
        let function = |name: &str, c: &str| {
            let schema = json!({ "type": "integer", "cType": { "type": c } });
            json!({ "name": name, "description": "", "parameters": [{ "name": "a", "schema": schema }] })
        };
        let before = json!({ "functions": [function("gone", "int"), function("same", "int"), function("other", "int")] });
        let after = json!({ "functions": [function("same", "int"), function("other", "long")], "undecided": [function("new", "int")] });
        assert_eq!(differences(&before, &after), ["- gone", "+ new", "~ other: `a` is another type"]);
        assert_eq!(differences(&after, &after), [] as [String; 0]);
    }
}
