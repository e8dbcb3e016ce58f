//! Arguments that fit a schema, for the lines that show a newcomer how to call a tool.

use serde_json::{Map, Value, json};

/// How deep an example follows its schema.
const DEEPEST: usize = 8;

/// An object that gives every required parameter something plausible.
pub fn example_arguments(schema: &Value) -> Value {
    let example = example(schema, schema, 0);
    if example.is_object() { example } else { json!({}) }
}

fn example(schema: &Value, root: &Value, depth: usize) -> Value {
    let below = |schema: &Value| if depth < DEEPEST { example(schema, root, depth + 1) } else { Value::Null };
    if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
        return root.pointer(target.trim_start_matches('#')).map_or(Value::Null, below);
    }
    let given = [
        schema.get("default"),
        schema.get("const"),
        schema.pointer("/examples/0"),
        schema.pointer("/enum/0"),
    ];
    if let Some(given) = given.into_iter().flatten().find(|given| !given.is_null()) {
        return given.clone();
    }
    if let Some(first) = ["/anyOf/0", "/oneOf/0", "/allOf/0"].iter().find_map(|at| schema.pointer(at)) {
        return below(first);
    }
    let kind = schema.get("type").and_then(|kind| kind.as_str().or_else(|| kind.get(0)?.as_str()));
    match kind {
        Some("string") => json!("text"),
        Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or(json!(1)),
        Some("boolean") => json!(true),
        Some("array") => json!(schema.get("items").map(|items| vec![below(items)]).unwrap_or_default()),
        Some("object") | None => members(schema, below),
        Some(_) => Value::Null,
    }
}

fn members(schema: &Value, below: impl Fn(&Value) -> Value) -> Value {
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    let member = |name: &Value| {
        let name = name.as_str()?;
        Some((
            name.to_owned(),
            schema.pointer("/properties").and_then(|all| all.get(name)).map_or(Value::Null, &below),
        ))
    };
    Value::Object(required.filter_map(member).collect::<Map<_, _>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(schema: Value, expect: Value) {
        assert_eq!(example_arguments(&schema), expect);
    }

    #[test]
    fn required_parameters_get_something_plausible() {
        check(
            json!({ "type": "object", "required": ["a", "unit", "to", "zone"], "properties": {
                "a": { "type": "number" }, "b": { "type": "number" }, "unit": { "enum": ["c", "f"] },
                "zone": { "type": "string", "default": "UTC" },
                "to": { "type": "array", "items": { "type": "string" } } } }),
            json!({ "a": 1, "unit": "c", "to": ["text"], "zone": "UTC" }),
        );
    }

    #[test]
    fn a_schema_that_refers_to_itself_ends() {
        let schema = json!({ "required": ["x"], "properties": { "x": { "$ref": "#" } } });
        assert!(example_arguments(&schema).is_object());
    }

    #[test]
    fn no_parameters_is_an_empty_object() {
        check(json!({}), json!({}));
    }
}
