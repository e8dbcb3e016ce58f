//! Which of the described functions can be called at all: those whose objects some other callable function gives.

use std::collections::HashSet;

use serde_json::Value;

/// How many functions can be called.
pub(super) fn callable(functions: &[Value]) -> usize {
    let mut made: HashSet<&str> = HashSet::new();
    loop {
        let can = functions.iter().filter(|function| needed(function).all(|kind| made.contains(kind)));
        let kinds: HashSet<&str> = can.clone().flat_map(given).collect();
        if kinds.is_subset(&made) {
            return can.count();
        }
        made.extend(kinds);
    }
}

/// Kinds of objects without which a function cannot be called.
fn needed(function: &Value) -> impl Iterator<Item = &str> {
    let parameters = function["parameters"].as_array().into_iter().flatten();
    let taken = parameters.filter(|parameter| {
        parameter["isIn"] == true && parameter["required"] == true && parameter["schema"]["nullable"] != true
    });
    taken.filter_map(|parameter| parameter["schema"]["cType"]["handle"].as_str())
}

/// Kinds of objects that a function gives.
fn given(function: &Value) -> impl Iterator<Item = &str> {
    let parameters = function["parameters"].as_array().into_iter().flatten();
    let written = parameters.filter(|parameter| parameter["isIn"] == false);
    let all = written.chain([&function["return"]]);
    all.filter_map(|part| part["schema"]["cType"]["handle"].as_str())
}

#[cfg(test)]
mod tests {
    use super::callable;
    use serde_json::json;

    #[test]
    fn a_function_needs_a_maker_of_its_objects() {
        let handle = |kind: &str| json!({ "cType": { "handle": kind } });
        let takes = |kind: &str| json!([{ "isIn": true, "required": true, "schema": handle(kind) }]);
        let functions = [
            json!({ "parameters": [], "return": { "schema": handle("a") } }),
            json!({ "parameters": takes("a"), "return": { "schema": handle("b") } }),
            json!({ "parameters": takes("b") }),
            json!({ "parameters": takes("c"), "return": { "schema": handle("c") } }),
        ];
        assert_eq!(callable(&functions), 3);
    }
}
