//! A compiled schema, and how much checking one call's arguments may cost.

use serde_json::Value;

use super::faults::{MOST_FAULTS, describe};
use super::metered::{Measured, Meter, Metered, Patterns, SchemaCosts};
use super::preview::is_unknown;
use crate::refusal::ParameterError;

/// From how many values on only the first fault is looked for.
const MANY_VALUES: usize = 4_096;
/// How often validation may look at a value of a call, whatever its size.
const BASE_WORK: usize = 1_000_000;
/// How often more for each byte of the arguments.
const WORK_PER_BYTE: usize = 64;
/// How many bytes the errors of one call may take before those that are told are chosen.
const MOST_ERROR_BYTES: usize = 4 << 20;

/// A schema ready to check arguments.
#[derive(Debug)]
pub struct Validator {
    pub(super) compiled: jsonschema::Validator<Metered>,
    pub(super) parameters: Vec<String>,
    pub(super) costs: SchemaCosts,
}

impl Validator {
    /// What is wrong with the arguments, one entry per parameter; empty when nothing is. `bytes` is the length of their
    /// text. The cost is linear in it: where a schema needs more, the arguments are refused.
    pub fn faults(&self, arguments: &Value, bytes: usize) -> Vec<ParameterError> {
        let meter = self.meter(bytes);
        let valid = self.compiled.is_valid(Measured::new(arguments, &meter));
        if meter.is_used_up() {
            return vec![whole(
                "take too much work to check against the schema of the tool; send fewer, shorter or less deeply nested values",
            )];
        }
        if valid {
            return Vec::new();
        }
        // The error of such a pattern holds a copy of the whole, and there may be many.
        if self.costs.patterns != Patterns::Linear && bytes > 2 * MANY_VALUES {
            return vec![somewhere()];
        }
        let mut faults = Vec::new();
        if bytes <= 2 * MANY_VALUES || !has_many(arguments, &mut { MANY_VALUES }) {
            faults = self.every_fault(arguments, bytes);
        }
        if faults.is_empty() { vec![self.first_fault(arguments, bytes)] } else { faults }
    }

    fn meter(&self, bytes: usize) -> Meter {
        let work = BASE_WORK.saturating_add(bytes.saturating_mul(WORK_PER_BYTE));
        Meter::new(work, MOST_ERROR_BYTES, self.costs)
    }

    /// All faults; none when there are too many to collect.
    fn every_fault(&self, arguments: &Value, bytes: usize) -> Vec<ParameterError> {
        let meter = self.meter(bytes);
        let errors = self.compiled.iter_errors(Measured::new(arguments, &meter));
        if meter.is_used_up() {
            return Vec::new();
        }
        let mut faults: Vec<ParameterError> = Vec::new();
        for fault in errors.take(MOST_FAULTS).flat_map(|error| describe(&error, &self.parameters)) {
            match faults.iter_mut().find(|known| known.parameter == fault.parameter) {
                Some(known) if known.message.contains(&fault.message) => {}
                Some(known) => known.message = format!("{}; {}", known.message, fault.message),
                None => faults.push(fault),
            }
        }
        faults.sort_by(|a, b| a.parameter.cmp(&b.parameter));
        faults
    }

    /// The first fault. The errors of alternatives are collected for it too, and what was collected before there were
    /// too many is told.
    fn first_fault(&self, arguments: &Value, bytes: usize) -> ParameterError {
        use jsonschema::error::ValidationErrorKind as Kind;
        let meter = self.meter(bytes);
        let Err(error) = self.compiled.validate(Measured::new(arguments, &meter)) else {
            return somewhere();
        };
        let collects = matches!(
            error.kind(),
            Kind::AnyOf { .. }
                | Kind::OneOfNotValid { .. }
                | Kind::OneOfMultipleValid { .. }
                | Kind::UnevaluatedItems { .. }
                | Kind::UnevaluatedProperties { .. }
        );
        // These collect and then fail: where they stand is true, however much they could collect. Anything else that was
        // seen after something was used up is not what the caller sent.
        if is_unknown(error.instance()) && !(collects && meter.is_full_of_errors()) {
            return somewhere();
        }
        let mut faults = describe(&error, &self.parameters);
        faults.truncate(1);
        faults.pop().unwrap_or_else(somewhere)
    }
}

/// Where the errors do not say which parameter is wrong.
fn somewhere() -> ParameterError {
    whole("do not fit the schema of the tool; they are too large to say where, send fewer or shorter values")
}

fn whole(message: &str) -> ParameterError {
    ParameterError { parameter: String::new(), message: message.to_owned() }
}

/// Whether there are more values than `left`.
fn has_many(value: &Value, left: &mut usize) -> bool {
    let Some(fewer) = left.checked_sub(1) else { return true };
    *left = fewer;
    match value {
        Value::Array(items) => items.iter().any(|item| has_many(item, left)),
        Value::Object(members) => members.values().any(|member| has_many(member, left)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::schema::Schema;

    /// The faults of arguments `{ "list": … }` whose list has this schema.
    fn faults(list: &Value, schema: &Value) -> Vec<ParameterError> {
        let schema = json!({ "type": "object", "properties": { "list": schema } });
        let arguments = json!({ "list": list });
        let validator = Schema::new(schema).compile().expect("a schema");
        validator.faults(&arguments, arguments.to_string().len())
    }

    fn check(list: Value, schema: Value, parameter: &str, message: &str) {
        let faults = faults(&list, &schema);
        let [fault] = faults.as_slice() else { panic!("{schema}: {} faults", faults.len()) };
        assert_eq!(fault.parameter, parameter, "{schema}: {}", fault.message);
        assert!(fault.message.contains(message), "{schema}: {}", fault.message);
    }

    fn texts(count: usize) -> Value {
        vec![Value::from("text"); count].into()
    }

    #[test]
    fn of_many_values_the_first_fault_is_told() {
        let many = || texts(20_000);
        check(many(), json!({ "items": { "type": "integer" } }), "list[0]", "must be an integer, got string");
        check(
            many(),
            json!({ "items": { "not": { "type": "string" } } }),
            "list[0]",
            "does not satisfy `not`",
        );
        let four =
            json!([{ "type": "integer" }, { "type": "null" }, { "type": "array" }, { "type": "boolean" }]);
        check(
            many(),
            json!({ "items": { "anyOf": four } }),
            "list[0]",
            "must be an integer or must be null or",
        );
        check(
            many(),
            json!({ "items": { "oneOf": four } }),
            "list[0]",
            "must be an integer or must be null or",
        );
        check(many(), json!({ "uniqueItems": true }), "list", "must not repeat an item");
        check(many(), json!({ "contains": { "type": "integer" } }), "list", "does not satisfy `contains`");
        let few = faults(&texts(3), &json!({ "items": { "type": "integer" } }));
        assert_eq!(few.len(), 3, "all faults of few values are told");
    }

    #[test]
    fn of_alternatives_with_many_faults_each_what_was_seen_is_told() {
        let lists = json!([{ "items": { "type": "integer" } }, { "items": { "type": "null" } }]);
        check(texts(20_000), json!({ "anyOf": lists }), "list", "must be an integer");
        let nested = json!({ "anyOf": [{ "oneOf": lists }, { "anyOf": lists }] });
        check(texts(20_000), nested, "list", "must");
    }

    #[test]
    fn a_value_that_is_long_is_quoted_from_its_beginning() {
        let long = vec![Value::from("x".repeat(10_000)); 10];
        check(json!(long), json!({ "type": "string" }), "list", "got array [\"xxx");
        check(json!("é".repeat(5_000)), json!({ "type": "integer" }), "list", "got string \"éé");
    }

    #[test]
    fn a_long_name_is_not_copied_into_thousands_of_errors() {
        let list = json!({ "n".repeat(1 << 20): texts(4_000) });
        let schema = json!({ "additionalProperties": { "items": { "type": "integer" } } });
        let faults = faults(&list, &schema);
        assert_eq!(faults.len(), 1);
    }

    #[test]
    fn arguments_that_need_more_work_than_their_size_are_refused() {
        // Each level of the arguments is checked twice as often as the one above.
        let twice = json!({ "properties": { "next": { "$ref": "#/$defs/node" } } });
        let schema = json!({ "type": "object", "$ref": "#/$defs/node", "$defs": { "node": {
            "allOf": [twice, twice], "unevaluatedProperties": { "$ref": "#/$defs/node" } } } });
        let validator = Schema::new(schema).compile().expect("a schema");
        let deep = (0..100).fold(json!({ "other": 1 }), |inner, _| json!({ "next": inner }));
        for fault in validator.faults(&deep, deep.to_string().len()) {
            assert!(fault.message.contains("too much work"), "{}", fault.message);
        }
    }

    #[test]
    fn a_pattern_that_looks_around_does_not_read_a_long_text_again_and_again() {
        let long = Value::from("a".repeat(1 << 20));
        check(long, json!({ "pattern": "(?=.*[A-Z])(?=.*[0-9]).{8,}" }), "", "too much work");
        check(json!("a".repeat(1_000)), json!({ "pattern": "(?=.*[A-Z]).{8,}" }), "list", "must match");
        let text = Value::from("not blank ".repeat(10_000));
        assert_eq!(faults(&text, &json!({ "pattern": "^(?!\\s*$).+" })), []);
    }

    #[test]
    fn the_longest_row_of_schemas_at_the_deepest_value_fits_the_stack() {
        let shapes: [fn(Value) -> Value; 6] = [
            |inner| json!({ "anyOf": [inner, { "type": "null" }] }),
            |inner| json!({ "oneOf": [inner, { "type": "null" }] }),
            |inner| json!({ "allOf": [inner], "unevaluatedProperties": false }),
            |inner| json!({ "not": { "not": inner } }),
            |inner| json!({ "if": inner, "then": true, "else": false }),
            |inner| json!({ "dependentSchemas": { "next": inner } }),
        ];
        for (shape, rows) in shapes.into_iter().flat_map(|shape| [(shape, 1), (shape, 4), (shape, 15)]) {
            let node = json!({ "type": "object", "properties": { "next": { "$ref": "#/$defs/node" } } });
            let inner = (0..rows).fold(node, |inner, _| shape(inner));
            let schema = json!({ "type": "object", "$ref": "#/$defs/node", "$defs": { "node": inner } });
            let Ok(validator) = Schema::new(schema).compile() else { continue };
            for depth in [4, 8, 16, 40, 120] {
                let deep = (0..depth).fold(json!(1), |inner, _| json!({ "next": inner }));
                validator.faults(&deep, deep.to_string().len());
            }
        }
    }
}
