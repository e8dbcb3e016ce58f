//! Corrections of a document: JSON Patch (RFC 6902) with pointers of RFC 6901. All operations are applied, or none counts.

use serde::Deserialize;
use serde_json::Value;

/// How many values the operations of one patch may add by copying, so that copies of copies end.
const MOST_COPIED: usize = 1_000_000;

/// One operation, as RFC 6902 writes it.
#[derive(Debug, Deserialize)]
#[serde(tag = "op", rename_all = "lowercase")]
enum Operation {
    Add { path: String, value: Value },
    Remove { path: String },
    Replace { path: String, value: Value },
    Move { from: String, path: String },
    Copy { from: String, path: String },
    Test { path: String, value: Value },
}

/// Why a patch cannot be applied.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PatchError {
    /// Where in the patch, as faults name places: `$[3]`.
    pub(crate) place: String,
    pub(crate) what: String,
}

/// Applies a patch to a document. The error names the operation, from 0, and what is wrong with it.
pub(crate) fn apply_patch(document: &mut Value, patch: &Value) -> Result<(), PatchError> {
    let no_list = || {
        let what = "a patch is a list of operations (RFC 6902)".to_owned();
        PatchError { place: "$".to_owned(), what }
    };
    let operations = patch.as_array().ok_or_else(no_list)?;
    let mut copied = 0;
    for (index, operation) in operations.iter().enumerate() {
        let place = |why: String| PatchError {
            place: format!("$[{index}]"),
            what: format!("operation {index} of the patch: {why}"),
        };
        let operation = Operation::deserialize(operation).map_err(|error| place(error.to_string()))?;
        apply(document, operation, &mut copied).map_err(place)?;
    }
    Ok(())
}

fn apply(document: &mut Value, operation: Operation, copied: &mut usize) -> Result<(), String> {
    match operation {
        Operation::Add { path, value } => add(document, &path, value),
        Operation::Remove { path } => remove(document, &path).map(drop),
        Operation::Replace { path, value } => {
            *find_mut(document, &path)? = value;
            Ok(())
        }
        Operation::Move { from, path } => {
            let below = path.strip_prefix(&from).is_some_and(|rest| rest.starts_with('/'));
            if below {
                return Err(format!("`{from}` cannot be moved into itself"));
            }
            let value = remove(document, &from)?;
            add(document, &path, value)
        }
        Operation::Copy { from, path } => {
            let value = find(document, &from)?;
            *copied += count(value);
            if *copied > MOST_COPIED {
                return Err(format!("the patch copies more than {MOST_COPIED} values"));
            }
            let value = value.clone();
            add(document, &path, value)
        }
        Operation::Test { path, value } if *find(document, &path)? == value => Ok(()),
        Operation::Test { path, .. } => Err(format!("`{path}` has another value than the one expected")),
    }
}

fn count(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(count).sum::<usize>(),
        Value::Object(members) => 1 + members.values().map(count).sum::<usize>(),
        _ => 1,
    }
}

fn find<'a>(document: &'a Value, path: &str) -> Result<&'a Value, String> {
    document.pointer(path).ok_or_else(|| nothing(path))
}

fn find_mut<'a>(document: &'a mut Value, path: &str) -> Result<&'a mut Value, String> {
    document.pointer_mut(path).ok_or_else(|| nothing(path))
}

fn nothing(path: &str) -> String {
    format!("there is nothing at `{path}`")
}

/// The container that a path leads into, and the last step, decoded.
fn container<'a>(document: &'a mut Value, path: &str) -> Result<(&'a mut Value, String), String> {
    let (parent, last) =
        path.rsplit_once('/').ok_or_else(|| format!("`{path}` is not a JSON pointer (RFC 6901)"))?;
    let last = last.replace("~1", "/").replace("~0", "~");
    Ok((find_mut(document, parent)?, last))
}

fn add(document: &mut Value, path: &str, value: Value) -> Result<(), String> {
    if path.is_empty() {
        *document = value;
        return Ok(());
    }
    match container(document, path)? {
        (Value::Object(members), name) => drop(members.insert(name, value)),
        (Value::Array(items), last) if last == "-" => items.push(value),
        (Value::Array(items), last) => {
            let index = index(&last).filter(|index| *index <= items.len()).ok_or_else(|| nothing(path))?;
            items.insert(index, value);
        }
        _ => return Err(format!("`{path}` is not in an object or an array")),
    }
    Ok(())
}

fn remove(document: &mut Value, path: &str) -> Result<Value, String> {
    let removed = match container(document, path)? {
        (Value::Object(members), name) => members.shift_remove(&name),
        (Value::Array(items), last) => {
            let index = index(&last).filter(|index| *index < items.len());
            index.map(|index| items.remove(index))
        }
        _ => None,
    };
    removed.ok_or_else(|| nothing(path))
}

/// RFC 6901: digits without leading zeros.
fn index(step: &str) -> Option<usize> {
    let plain = step == "0" || (!step.starts_with('0') && step.bytes().all(|byte| byte.is_ascii_digit()));
    plain.then(|| step.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(document: Value, patch: Value, expect: Result<Value, &str>) {
        let mut patched = document;
        match (apply_patch(&mut patched, &patch), expect) {
            (Ok(()), Ok(expect)) => assert_eq!(patched, expect, "{patch}"),
            (Err(error), Err(expect)) => assert!(error.what.contains(expect), "{patch}: {error:?}"),
            (came, expect) => panic!("{patch}: {came:?}, expected {expect:?}"),
        }
    }

    #[test]
    fn operations_do_what_the_standard_says() {
        let list = json!({ "a": [1, 2], "b": { "c/d": 3 } });
        let one = |operation: Value| json!([operation]);
        for (operation, expect) in [
            (
                json!({ "op": "add", "path": "/a/1", "value": 9 }),
                json!({ "a": [1, 9, 2], "b": { "c/d": 3 } }),
            ),
            (
                json!({ "op": "add", "path": "/a/-", "value": 9 }),
                json!({ "a": [1, 2, 9], "b": { "c/d": 3 } }),
            ),
            (json!({ "op": "add", "path": "", "value": 9 }), json!(9)),
            (json!({ "op": "remove", "path": "/b/c~1d" }), json!({ "a": [1, 2], "b": {} })),
            (json!({ "op": "remove", "path": "/a/0" }), json!({ "a": [2], "b": { "c/d": 3 } })),
            (json!({ "op": "replace", "path": "/a", "value": 0 }), json!({ "a": 0, "b": { "c/d": 3 } })),
            (
                json!({ "op": "move", "from": "/a/0", "path": "/b/e" }),
                json!({ "a": [2], "b": { "c/d": 3, "e": 1 } }),
            ),
            (
                json!({ "op": "copy", "from": "/a", "path": "/b/e" }),
                json!({ "a": [1, 2], "b": { "c/d": 3, "e": [1, 2] } }),
            ),
            (json!({ "op": "test", "path": "/a/1", "value": 2 }), list.clone()),
        ] {
            check(list.clone(), one(operation), Ok(expect));
        }
    }

    #[test]
    fn what_cannot_be_applied_says_which_operation_and_why() {
        let document = json!({ "a": [1], "b": {} });
        let after_one = |operation: Value| json!([{ "op": "test", "path": "/a/0", "value": 1 }, operation]);
        for (operation, expect) in [
            (json!({ "op": "remove", "path": "/x" }), "operation 1 of the patch: there is nothing at `/x`"),
            (json!({ "op": "add", "path": "/a/5", "value": 1 }), "nothing at `/a/5`"),
            (json!({ "op": "add", "path": "/a/00", "value": 1 }), "nothing at `/a/00`"),
            (json!({ "op": "add", "path": "a", "value": 1 }), "not a JSON pointer"),
            (json!({ "op": "test", "path": "/a/0", "value": 2 }), "another value"),
            (json!({ "op": "move", "from": "/b", "path": "/b/c" }), "into itself"),
            (json!({ "op": "frob", "path": "/b" }), "frob"),
            (json!({ "op": "add", "path": "/b/c" }), "value"),
        ] {
            check(document.clone(), after_one(operation), Err(expect));
        }
        check(document, json!({}), Err("a list of operations"));
    }

    #[test]
    fn copies_of_copies_end() {
        let doubling = |step: usize| json!({ "op": "copy", "from": "", "path": format!("/{step}") });
        check(json!({ "x": 1 }), (0..100).map(doubling).collect(), Err("copies more than"));
    }
}
