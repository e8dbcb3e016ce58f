//! JSON Schemas of tools, compiled once, and the words in which a model is told what to repair.

use std::sync::Arc;

use jsonschema::PatternOptions;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::arguments::kind_of;
use crate::nearest::nearest;
use crate::refusal::ParameterError;

/// The largest schema we compile, as JSON text.
const MOST_BYTES: usize = 1 << 20;
/// The deepest schema we compile.
pub(crate) const MOST_DEPTH: usize = 64;
/// How many faults of one call are told at most.
const MOST_FAULTS: usize = 32;
/// How long a given value may be when it is quoted in a message.
const MOST_QUOTED: usize = 60;
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
    /// The compiler refused it.
    #[error("the schema cannot be compiled: {0}")]
    Compile(String),
}

/// A schema ready to check arguments.
#[derive(Debug)]
pub struct Validator {
    compiled: jsonschema::Validator,
    parameters: Vec<String>,
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
        if depth(&self.0) > MOST_DEPTH || is_too_long(&self.0) {
            return Err(SchemaError::TooLarge);
        }
        match self.0.get("type") {
            None => {}
            Some(Value::String(kind)) if kind == "object" => {}
            Some(other) => return Err(SchemaError::NotAnObject(other.to_string())),
        }
        let compiled = build(&self.0).map_err(|error| SchemaError::Compile(error.to_string()))?;
        let properties = self.0.get("properties").and_then(Value::as_object);
        let parameters = properties.into_iter().flat_map(|map| map.keys().cloned()).collect();
        Ok(Validator { compiled, parameters })
    }
}

impl Validator {
    /// What is wrong with the arguments, one entry per parameter; empty when nothing is.
    pub fn faults(&self, arguments: &Value) -> Vec<ParameterError> {
        if self.compiled.is_valid(arguments) {
            return Vec::new();
        }
        let mut faults: Vec<ParameterError> = Vec::new();
        for error in self.compiled.iter_errors(arguments).take(MOST_FAULTS) {
            for fault in describe(&error, &self.parameters) {
                match faults.iter_mut().find(|known| known.parameter == fault.parameter) {
                    Some(known) if known.message.contains(&fault.message) => {}
                    Some(known) => known.message = format!("{}; {}", known.message, fault.message),
                    None => faults.push(fault),
                }
            }
        }
        faults.sort_by(|a, b| a.parameter.cmp(&b.parameter));
        faults
    }
}

fn build(schema: &Value) -> Result<jsonschema::Validator, jsonschema::ValidationError<'static>> {
    jsonschema::options()
        .with_pattern_options(PatternOptions::fancy_regex().backtrack_limit(MOST_BACKTRACKS))
        .build(schema)
}

/// True for a pattern that schemas can use.
pub(crate) fn is_pattern(text: &str) -> bool {
    build(&json!({ "pattern": text })).is_ok()
}

/// True for a schema that nobody should spend time on.
pub(crate) fn is_too_long(schema: &Value) -> bool {
    schema.to_string().len() > MOST_BYTES
}

pub(crate) fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

fn describe(error: &jsonschema::ValidationError<'_>, known: &[String]) -> Vec<ParameterError> {
    let at = readable_path(error.instance_path().as_str());
    let below = |name: &str| if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") };
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            vec![ParameterError { parameter: below(name), message: "is required but missing".into() }]
        }
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => unexpected
            .iter()
            .take(MOST_FAULTS)
            .map(|name| ParameterError { parameter: below(name), message: unknown(name, &at, known) })
            .collect(),
        kind => {
            let message = format!("{}, got {}", wanted(kind, error, &at), quoted(error.instance()));
            vec![ParameterError { parameter: at, message }]
        }
    }
}

fn unknown(name: &str, at: &str, known: &[String]) -> String {
    match nearest(name, known.iter().map(String::as_str)).filter(|_| at.is_empty()) {
        Some(meant) => format!("is not a known parameter; did you mean `{meant}`?"),
        None => "is not a known parameter".to_owned(),
    }
}

fn wanted(kind: &ValidationErrorKind, error: &jsonschema::ValidationError<'_>, at: &str) -> String {
    use ValidationErrorKind as Kind;
    match kind {
        Kind::Type { kind: TypeKind::Single(kind) } => format!("must be {}", article(&kind.to_string())),
        Kind::Type { kind: TypeKind::Multiple(kinds) } => {
            let kinds: Vec<String> = kinds.iter().map(|kind| article(&kind.to_string())).collect();
            format!("must be {}", kinds.join(" or "))
        }
        Kind::Enum { options } => {
            let options: Vec<String> =
                options.as_array().into_iter().flatten().take(20).map(ToString::to_string).collect();
            format!("must be one of {}", options.join(", "))
        }
        Kind::Constant { expected_value } => format!("must be {expected_value}"),
        Kind::Minimum { limit } => format!("must be at least {limit}"),
        Kind::Maximum { limit } => format!("must be at most {limit}"),
        Kind::ExclusiveMinimum { limit } => format!("must be greater than {limit}"),
        Kind::ExclusiveMaximum { limit } => format!("must be less than {limit}"),
        Kind::MultipleOf { multiple_of } => format!("must be a multiple of {multiple_of}"),
        Kind::MinLength { limit } => format!("must have at least {limit} characters"),
        Kind::MaxLength { limit } => format!("must have at most {limit} characters"),
        Kind::MinItems { limit } => format!("must have at least {limit} items"),
        Kind::MaxItems { limit } => format!("must have at most {limit} items"),
        Kind::UniqueItems => "must not repeat an item".to_owned(),
        Kind::Pattern { pattern } => format!("must match the pattern {pattern}"),
        Kind::Format { format } => format!("must be a valid {format}"),
        Kind::FalseSchema => "is not allowed".to_owned(),
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => alternatives(context, at),
        Kind::OneOfMultipleValid { .. } => {
            "must fit exactly one of its alternatives but fits several".to_owned()
        }
        _ => format!("does not satisfy `{}`: {}", kind.keyword(), error.masked()),
    }
}

/// The alternatives of `anyOf` and `oneOf`, each by its first fault.
fn alternatives(context: &[Vec<jsonschema::ValidationError<'static>>], at: &str) -> String {
    let words = |told: ParameterError| {
        let wanted = told.message.split(", got ").next().unwrap_or_default().to_owned();
        match told.parameter.strip_prefix(at).map(|below| below.trim_start_matches('.')) {
            Some("") | None => wanted,
            Some(below) => format!("{below} {wanted}"),
        }
    };
    let firsts = context.iter().filter_map(|faults| faults.first());
    let each: Vec<String> = firsts.flat_map(|fault| describe(fault, &[])).map(words).take(8).collect();
    each.join(" or ")
}

fn article(kind: &str) -> String {
    match kind {
        "null" => "null".to_owned(),
        "array" | "integer" | "object" => format!("an {kind}"),
        other => format!("a {other}"),
    }
}

fn quoted(value: &Value) -> String {
    if value.is_null() {
        return "null".to_owned();
    }
    let text = value.to_string();
    let short = match text.char_indices().nth(MOST_QUOTED) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    };
    format!("{} {short}", kind_of(value))
}

/// `/items/0/price` as `items[0].price`.
fn readable_path(pointer: &str) -> String {
    let mut path = String::new();
    for part in pointer.split('/').skip(1) {
        if !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()) {
            path.extend(["[", part, "]"]);
        } else {
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(&part.replace("~1", "/").replace("~0", "~"));
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(schema: Value, arguments: Value, expect: &[(&str, &str)]) {
        let validator = Schema::new(schema).compile().expect("schema");
        let faults = validator.faults(&arguments);
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
