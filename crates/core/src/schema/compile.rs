//! JSON Schemas of tools, compiled once. What would cost too much to check is refused here.

use std::sync::Arc;

use jsonschema::{PatternOptions, ValidationError};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::expansion::{MOST_EXPANSION, MOST_STEPS, longest_row};
use super::metered::{Meter, Metered, Patterns, SchemaCosts};
use super::pattern_bounds::with_bounded_patterns;
use super::validator::Validator;

/// The largest schema we compile, as JSON text.
const MOST_BYTES: usize = 1 << 20;
/// The deepest schema we compile.
pub(crate) const MOST_DEPTH: usize = 64;
/// How often one pattern may backtrack on one value.
const MOST_BACKTRACKS: usize = 100_000;

/// A JSON Schema as its author wrote it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Schema(Arc<Value>);

/// Why a schema cannot be used; the tool it belongs to is not served.
#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    /// Over a bound.
    #[error("the schema is larger than {MOST_BYTES} bytes or deeper than {MOST_DEPTH} levels")]
    TooLarge,
    /// Input schemas describe an object.
    #[error("the input schema must describe an object, not {0}")]
    NotAnObject(String),
    /// One value would be checked against too many schemas.
    #[error(
        "the references of the schema expand to more than {MOST_EXPANSION} schemas, or {MOST_STEPS} in a row, for one value"
    )]
    TooCostly,
    /// The compiler refused it.
    #[error("the schema cannot be compiled: {0}")]
    Compile(String),
}

impl Schema {
    /// Wraps a schema.
    pub fn new(value: Value) -> Self {
        Schema(Arc::new(value))
    }

    /// The schema of a tool without parameters.
    pub fn no_parameters() -> Self {
        Schema::new(json!({ "type": "object", "properties": {} }))
    }

    /// True for the same schema, seen at once where both are clones of one.
    pub(crate) fn is_same(&self, other: &Schema) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self == other
    }

    /// The schema as its author wrote it.
    pub fn value(&self) -> &Value {
        &self.0
    }

    /// Compiles an input schema. Nothing is fetched: `$ref` works inside the document only.
    pub fn compile(&self) -> Result<Validator, SchemaError> {
        match self.0.get("type") {
            None => {}
            Some(Value::String(kind)) if kind == "object" => {}
            Some(other) => return Err(SchemaError::NotAnObject(other.to_string())),
        }
        self.compile_output()
    }

    /// The same for what a tool returns, which may be any value.
    pub fn compile_output(&self) -> Result<Validator, SchemaError> {
        let bytes = length(&self.0);
        if bytes > MOST_BYTES || depth(&self.0) > MOST_DEPTH {
            return Err(SchemaError::TooLarge);
        }
        // Before anything is compiled: compiling follows the same references.
        let row = longest_row(&self.0).ok_or(SchemaError::TooCostly)?;
        let (compiled, patterns) = build(&self.0).map_err(|error| SchemaError::Compile(error.to_string()))?;
        let properties = self.0.get("properties").and_then(Value::as_object);
        let parameters = properties.into_iter().flat_map(|map| map.keys().cloned()).collect();
        let depth = Meter::depth_within_stack(row);
        Ok(Validator { compiled, parameters, costs: SchemaCosts { depth, bytes, patterns } })
    }
}

/// Patterns are matched in linear time unless one of them looks around or back, which only backtracking can do.
fn build(schema: &Value) -> Result<(jsonschema::Validator<Metered>, Patterns), ValidationError<'static>> {
    let options = jsonschema::options_for::<Metered>;
    let schema = &*with_bounded_patterns(schema);
    if let Ok(compiled) = options().with_pattern_options(PatternOptions::regex()).build(schema) {
        return Ok((compiled, Patterns::Linear));
    }
    let backtracking = PatternOptions::fancy_regex().backtrack_limit(MOST_BACKTRACKS);
    let compiled = options().with_pattern_options(backtracking).build(schema)?;
    let anchored = patterns_of(schema).all(is_anchored);
    Ok((compiled, if anchored { Patterns::Anchored } else { Patterns::Backtracking }))
}

/// Every pattern of a schema, and some texts that are none.
fn patterns_of(schema: &Value) -> Box<dyn Iterator<Item = &str> + '_> {
    match schema {
        Value::Array(items) => Box::new(items.iter().flat_map(patterns_of)),
        Value::Object(members) => Box::new(members.iter().flat_map(|(key, value)| {
            let names = (key == "patternProperties").then(|| value.as_object()).flatten();
            let own = (key == "pattern").then(|| value.as_str()).flatten();
            let names = names.into_iter().flat_map(|names| names.keys().map(String::as_str));
            names.chain(own).chain(patterns_of(value))
        })),
        _ => Box::new(std::iter::empty()),
    }
}

/// True for a pattern that is tried at the beginning of a text alone, or that needs no backtracking.
fn is_anchored(pattern: &str) -> bool {
    let linear = PatternOptions::regex();
    (pattern.starts_with('^') && !pattern.contains('|'))
        || jsonschema::options_for::<Metered>()
            .with_pattern_options(linear)
            .build(&json!({ "pattern": pattern }))
            .is_ok()
}

/// True for a pattern that schemas can use.
pub(crate) fn is_pattern(text: &str) -> bool {
    build(&json!({ "pattern": text })).is_ok()
}

/// True for a schema that nobody should spend time on.
pub(crate) fn is_too_long(schema: &Value) -> bool {
    length(schema) > MOST_BYTES
}

/// How long the text of a schema is.
fn length(schema: &Value) -> usize {
    schema.to_string().len()
}

pub(crate) fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(schema: Value, arguments: Value, expect: &[(&str, &str)]) {
        let validator = Schema::new(schema).compile().expect("schema");
        let faults = validator.faults(&arguments, arguments.to_string().len());
        let told: Vec<(&str, &str)> =
            faults.iter().map(|f| (f.parameter.as_str(), f.message.as_str())).collect();
        assert_eq!(told, expect);
    }

    fn numbers() -> Value {
        json!({ "type": "object", "properties": { "a": { "type": "number" }, "b": { "type": "number" } },
                "required": ["a", "b"], "additionalProperties": false })
    }

    #[test]
    fn good_arguments_have_no_faults() {
        check(numbers(), json!({ "a": 1, "b": 2.5 }), &[]);
    }

    #[test]
    fn each_parameter_says_what_is_wanted_and_what_came() {
        check(
            numbers(),
            json!({ "a": "infinity", "c": 1 }),
            &[
                ("a", "must be a number, got string \"infinity\""),
                ("b", "is required but missing"),
                ("c", "is not a known parameter"),
            ],
        );
    }

    #[test]
    fn a_mistyped_parameter_is_told_what_was_meant() {
        check(
            json!({ "properties": { "timezone": {} }, "additionalProperties": false }),
            json!({ "timezon": 1 }),
            &[("timezon", "is not a known parameter; did you mean `timezone`?")],
        );
    }

    #[test]
    fn nested_faults_carry_their_path() {
        let schema = json!({ "properties": { "items": { "type": "array", "items": {
            "properties": { "price": { "minimum": 0 } }, "required": ["name"] } } } });
        check(
            schema,
            json!({ "items": [{ "name": "x" }, { "price": -1 }] }),
            &[
                ("items[1].name", "is required but missing"),
                ("items[1].price", "must be at least 0, got integer -1"),
            ],
        );
    }

    #[test]
    fn choices_are_listed() {
        check(
            json!({ "properties": { "unit": { "enum": ["c", "f"] } } }),
            json!({ "unit": "k" }),
            &[("unit", "must be one of \"c\", \"f\", got string \"k\"")],
        );
        check(
            json!({ "properties": { "x": { "anyOf": [{ "type": "integer" }, { "type": "null" }] } } }),
            json!({ "x": "1" }),
            &[("x", "must be an integer or must be null, got string \"1\"")],
        );
        check(
            json!({ "properties": { "x": { "type": "string" } } }),
            json!({ "x": null }),
            &[("x", "must be a string, got null")],
        );
    }

    #[test]
    fn a_value_of_null_is_named_once() {
        let wanted = [
            (json!({ "enum": ["c"] }), "must be one of \"c\", got null"),
            (json!({ "const": 1 }), "must be 1, got null"),
            (json!({ "anyOf": [{ "type": "integer" }] }), "must be an integer, got null"),
            (json!({ "type": ["integer", "string"] }), "must be an integer or a string, got null"),
            (json!({ "type": "array", "items": {} }), "must be an array, got null"),
        ];
        for (schema, expect) in wanted {
            check(json!({ "properties": { "x": schema } }), json!({ "x": null }), &[("x", expect)]);
        }
        let items = json!({ "properties": { "x": { "items": { "type": "string" } } } });
        check(items, json!({ "x": [null] }), &[("x[0]", "must be a string, got null")]);
    }

    #[test]
    fn old_drafts_and_inner_references_work() {
        let schema = json!({ "$schema": "http://json-schema.org/draft-04/schema#", "type": "object",
            "definitions": { "n": { "type": "number", "minimum": 0, "exclusiveMinimum": true } },
            "properties": { "a": { "$ref": "#/definitions/n" } } });
        check(schema, json!({ "a": 0 }), &[("a", "must be greater than 0, got integer 0")]);
    }

    #[test]
    fn a_reference_to_itself_ends() {
        let itself = json!({ "$ref": "#/$defs/a" });
        let schema =
            json!({ "properties": { "a": itself.clone(), "b": { "$ref": "#" } }, "$defs": { "a": itself } });
        check(schema.clone(), json!({ "a": 1, "b": { "b": {} } }), &[]);
        check(json!({ "$ref": "#" }), json!({ "a": 1 }), &[]);
    }

    #[test]
    fn unusable_schemas_say_why() {
        let refused = |schema: Value| Schema::new(schema).compile().expect_err("must be refused").to_string();
        assert!(refused(json!({ "type": "array" })).contains("must describe an object"));
        assert!(
            refused(json!({ "properties": { "a": { "type": "strin" } } })).contains("cannot be compiled")
        );
        assert!(refused(json!({ "$ref": "https://example.com/schema.json" })).contains("cannot be compiled"));
        assert!(refused(json!({ "$ref": "#/nowhere" })).contains("cannot be compiled"));
        let deep = (0..100).fold(json!({}), |inner, _| json!({ "not": inner }));
        assert!(refused(deep).contains("deeper than"));
    }
}
