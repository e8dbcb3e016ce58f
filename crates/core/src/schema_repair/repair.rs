//! The steps of a repair: as it is, repaired, and at last without references and patterns.

use std::sync::Arc;

use serde_json::{Value, json};

use super::walk::{Mode, Walk};
use crate::schema::{Schema, SchemaError, Validator, is_too_long};

/// A schema that can be used.
#[derive(Clone, Debug)]
pub(crate) struct Repaired {
    pub(crate) schema: Schema,
    pub(crate) validator: Arc<Validator>,
    /// What was changed; empty when nothing was.
    pub(crate) repairs: Vec<String>,
}

/// Compiles an input schema, repaired where it has to be. At most three times as much work as compiling it.
pub(crate) fn compile(schema: &Schema) -> Result<Repaired, SchemaError> {
    let unchanged = |validator| Repaired { schema: schema.clone(), validator, repairs: Vec::new() };
    let as_it_is = schema.compile().map(Arc::new);
    let good = as_it_is.is_ok() && !mentions_nullable(schema.value());
    if good || is_too_long(schema.value()) {
        return as_it_is.map(unchanged);
    }
    let mut value = schema.value().clone();
    let mut repairs = Walk::over(&mut value, Mode::Repair);
    let repaired = Schema::new(value.clone());
    let error = match (repaired.compile().map(Arc::new), as_it_is) {
        (_, Ok(validator)) if repairs.is_empty() => return Ok(unchanged(validator)),
        (Ok(validator), _) => return Ok(Repaired { schema: repaired, validator, repairs }),
        (Err(_), Ok(validator)) => return Ok(unchanged(validator)),
        (Err(_), Err(error)) => error,
    };
    repairs.extend(Walk::over(&mut value, Mode::Strip));
    let stripped = Schema::new(value);
    let validator = Arc::new(stripped.compile().map_err(|_| error)?);
    Ok(Repaired { schema: stripped, validator, repairs })
}

/// A schema that every reader of JSON Schema 2020-12 takes, for documents that hold the schemas of many tools: one that
/// cannot be read would make the whole document unreadable. What has no meaning there is left out. The result is an
/// object, also for a schema that is true or false.
pub fn readable(schema: &Value) -> Value {
    let mut value = schema.clone();
    Walk::over_any(&mut value);
    match value {
        object @ Value::Object(_) => object,
        Value::Bool(false) => json!({ "not": {} }),
        _ => json!({}),
    }
}

/// True when `nullable: true` stands anywhere, be it in a schema or in a value.
fn mentions_nullable(value: &Value) -> bool {
    match value {
        Value::Object(members) => {
            members.get("nullable") == Some(&Value::Bool(true)) || members.values().any(mentions_nullable)
        }
        Value::Array(items) => items.iter().any(mentions_nullable),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What a parameter's schema becomes, and how many repairs that took.
    fn check(parameter: Value, expect: Value) {
        let schema = Schema::new(json!({ "type": "object", "properties": { "a": parameter.clone() } }));
        let repaired = compile(&schema).unwrap_or_else(|error| panic!("{parameter}: {error}"));
        assert_eq!(repaired.schema.value()["properties"]["a"], expect, "{parameter}");
        assert_eq!(repaired.repairs.is_empty(), parameter == expect, "{:?}", repaired.repairs);
    }

    /// What a whole schema becomes.
    fn check_root(schema: Value, expect: Value) {
        let repaired = compile(&Schema::new(schema.clone())).unwrap_or_else(|e| panic!("{schema}: {e}"));
        assert_eq!(*repaired.schema.value(), expect, "{:?}", repaired.repairs);
        assert_eq!(repaired.repairs.is_empty(), schema == expect);
    }

    fn faults(schema: Value, arguments: Value) -> usize {
        compile(&Schema::new(schema)).expect("repaired").validator.faults(&arguments, 100).len()
    }

    #[test]
    fn keywords_that_cannot_be_read_are_left_out() {
        check_root(json!({ "type": "object", "required": null }), json!({ "type": "object" }));
        check_root(json!({ "type": "object", "properties": null }), json!({ "type": "object" }));
        check_root(json!({ "type": "object", "additionalProperties": null }), json!({ "type": "object" }));
        check_root(
            json!({ "type": "object", "required": ["a", "a", 7, "b"] }),
            json!({ "type": "object", "required": ["a", "b"] }),
        );
        check_root(
            json!({ "$schema": "https://example.com/own-dialect", "type": "object" }),
            json!({ "type": "object" }),
        );
        check(json!({ "minLength": -1, "maxLength": "9", "title": 7 }), json!({}));
        check(json!({ "multipleOf": 0, "enum": "a", "anyOf": [] }), json!({}));
        check(json!(null), json!({}));
        check(json!("string"), json!({}));
    }

    #[test]
    fn types_of_other_languages_are_read_as_what_they_mean() {
        for (word, kind) in [
            ("str", "string"),
            ("int", "integer"),
            ("float", "number"),
            ("bool", "boolean"),
            ("dict", "object"),
            ("list", "array"),
            ("STRING", "string"),
        ] {
            check(json!({ "type": word }), json!({ "type": kind }));
        }
        for unknown in [json!("any"), json!("file"), json!(7), json!([]), json!(["string", "any"])] {
            check(json!({ "type": unknown, "title": "t" }), json!({ "title": "t" }));
        }
        check(json!({ "type": ["str", "string", "None"] }), json!({ "type": ["string", "null"] }));
        check_root(json!({ "type": ["object", "null"] }), json!({ "type": "object" }));
    }

    #[test]
    fn old_forms_are_written_as_today() {
        check(json!({ "minimum": 3, "exclusiveMinimum": true }), json!({ "exclusiveMinimum": 3 }));
        check(json!({ "maximum": 3, "exclusiveMaximum": false }), json!({ "maximum": 3 }));
        check(json!({ "exclusiveMaximum": true }), json!({}));
        check(
            json!({ "items": [{ "type": "str" }], "additionalItems": false }),
            json!({ "prefixItems": [{ "type": "string" }], "items": false }),
        );
        let required = json!({ "type": "object", "required": ["b"],
            "properties": { "a": { "type": "string", "required": true }, "c": { "required": false } } });
        check_root(
            required,
            json!({ "type": "object", "required": ["b", "a"],
                "properties": { "a": { "type": "string" }, "c": {} } }),
        );
    }

    #[test]
    fn null_is_taken_where_it_is_said_to_be() {
        check(json!({ "type": "string", "nullable": true }), json!({ "type": ["string", "null"] }));
        check(
            json!({ "type": "string", "enum": ["x"], "nullable": true }),
            json!({ "type": ["string", "null"], "enum": ["x", null] }),
        );
        check(
            json!({ "anyOf": [{ "type": "string" }], "nullable": true }),
            json!({ "anyOf": [{ "type": "string" }, { "type": "null" }] }),
        );
        check(json!({ "type": "string", "nullable": false }), json!({ "type": "string", "nullable": false }));
        let named =
            json!({ "properties": { "nullable": { "type": "boolean" } }, "default": { "nullable": true } });
        check(named.clone(), named);
    }

    #[test]
    fn references_that_lead_nowhere_accept_anything() {
        check(json!({ "$ref": "https://example.com/a.json", "title": "t" }), json!({ "title": "t" }));
        check(json!({ "$ref": "#/definitions/none" }), json!({}));
        check(json!({ "$ref": 7 }), json!({}));
        let good = json!({ "type": "object", "properties": { "a": { "$ref": "#/$defs/a%20b" }, "b": null },
            "$defs": { "a b": { "type": "integer" } } });
        assert_eq!(faults(good.clone(), json!({ "a": "x" })), 1, "a good one still holds");
        assert_eq!(faults(good, json!({ "a": 1, "b": [] })), 0);
    }

    #[test]
    fn patterns_of_other_dialects_are_translated_or_left_out() {
        check(json!({ "pattern": r"\A\d+\Z" }), json!({ "pattern": r"^\d+$" }));
        check(json!({ "pattern": r"^[\w-.]+$" }), json!({ "pattern": r"^[\w\-.]+$" }));
        check(json!({ "pattern": "(?P<x" }), json!({}));
        check(
            json!({ "patternProperties": { "(": {}, "^a": { "type": "str" } } }),
            json!({ "patternProperties": { "^a": { "type": "string" } } }),
        );
    }

    #[test]
    fn what_is_nested_too_deeply_accepts_anything() {
        let deep =
            (0..100).fold(json!({ "type": "integer" }), |inner, _| json!({ "properties": { "a": inner } }));
        let repaired = compile(&Schema::new(deep)).expect("served");
        assert_eq!(repaired.repairs.len(), 1, "{:?}", repaired.repairs);
        let arguments = (0..100).fold(json!("x"), |inner, _| json!({ "a": inner }));
        assert!(repaired.validator.faults(&arguments, 100).is_empty());
    }

    #[test]
    fn a_repair_never_refuses_more_than_its_keyword_did() {
        let one_of = json!({ "oneOf": [{ "type": "any" }, { "type": "string" }] });
        check(one_of, json!({ "anyOf": [{}, { "type": "string" }] }));
        check(json!({ "not": { "type": "file" } }), json!({}));
        check(json!({ "if": { "type": "any" }, "then": { "type": "string" }, "else": false }), json!({}));
    }

    #[test]
    fn every_repair_says_where() {
        let schema = json!({ "type": "object", "properties": { "a": { "items": { "type": "str" } } } });
        let repaired = compile(&Schema::new(schema)).expect("served");
        assert_eq!(repaired.repairs, ["`properties.a.items.type` \"str\" is read as \"string\""]);
    }

    #[test]
    fn what_is_told_of_a_repair_is_short_and_in_one_line() {
        let name = format!("{}\n", "long".repeat(100));
        let schema =
            json!({ "type": "object", "properties": { &*name: { "type": "x".repeat(1000) }, "b": null } });
        let repaired = compile(&Schema::new(schema)).expect("served");
        assert_eq!(repaired.repairs.len(), 2);
        assert!(repaired.repairs.iter().all(|told| told.len() < 200 && !told.contains('\n')));
    }

    #[test]
    fn what_describes_no_object_is_refused() {
        for schema in [json!({ "type": "array" }), json!({ "type": "str" }), json!([]), json!("x"), json!(7)]
        {
            assert!(compile(&Schema::new(schema.clone())).is_err(), "{schema}");
        }
    }

    fn keyword() -> impl Strategy<Value = String> {
        let words = [
            "type",
            "properties",
            "required",
            "items",
            "anyOf",
            "oneOf",
            "not",
            "enum",
            "$ref",
            "pattern",
            "minimum",
            "exclusiveMinimum",
            "nullable",
            "additionalProperties",
            "$defs",
            "a",
            "format",
            "$schema",
            "$id",
            "$anchor",
            "dependencies",
            "if",
            "then",
            "patternProperties",
            "minLength",
            "const",
            "$dynamicRef",
        ];
        prop_oneof![4 => proptest::sample::select(words.to_vec()).prop_map(str::to_owned), 1 => ".{0,6}"]
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let words = ["string", "str", "object", "#", "#/properties/a", "#/$defs/a", "^[a", "x", "http://a/b"];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (-3i64..9).prop_map(Value::from),
            proptest::sample::select(words.to_vec()).prop_map(Value::from),
            ".{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(5, 40, 6, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::vec((keyword(), inner), 0..6)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_json_compiles_after_repair_or_says_why(value in any_json()) {
            let schema = Schema::new(value.clone());
            let valid = schema.compile().is_ok();
            match compile(&schema) {
                Ok(repaired) => {
                    repaired.validator.faults(&json!({ "a": 1 }), 100);
                    let again = compile(&repaired.schema).expect("what was repaired is good");
                    prop_assert_eq!(again.repairs, Vec::<String>::new());
                    if valid && !mentions_nullable(&value) {
                        prop_assert_eq!(repaired.schema.value(), &value);
                        prop_assert!(repaired.repairs.is_empty());
                    }
                }
                Err(error) => prop_assert!(!valid && !error.to_string().is_empty()),
            }
        }
    }
}
