//! What is listed for a number and what is read as one are the same values.

use proptest::prelude::*;
use serde_json::{Value, json};
use toolmux_core::schema::Schema;
use toolmux_dylib_host::scalar::Scalar;

use super::{encoded, function, planned, scalar};
use crate::opendyn::document::c_word;

/// Whether the schema and the encoder agree about a value, for a parameter of this type with these members beside it.
fn agree(kind: &str, c: Scalar, beside: &Value, value: &Value) -> Result<(), String> {
    let mut schema = scalar(kind, c_word(Some(c)));
    for (name, bound) in beside.as_object().expect("an object") {
        schema[name] = bound.clone();
    }
    let planned = planned(&function(json!([{ "name": "x", "schema": schema }]), Value::Null));
    let listed = planned.input();
    let arguments = json!({ "x": value });
    let fits = Schema::new(listed.clone()).compile().expect("a schema").faults(&arguments, 100).is_empty();
    match encoded(&planned, &arguments.to_string()) {
        Ok(_) if fits => Ok(()),
        Err(_) if !fits => Ok(()),
        // Which number a text stands for is beyond a pattern of bearable length.
        Err(fault) if value.is_string() && fault.contains("out of range") => Ok(()),
        read => Err(format!("{kind} {c:?} {listed}: {value} fits: {fits}, read: {read:?}")),
    }
}

fn kinds() -> impl Strategy<Value = (&'static str, Scalar)> {
    let kinds = prop::sample::select(vec!["integer", "number", "string", "boolean"]);
    (kinds, prop::sample::select(Scalar::ALL.to_vec())).prop_filter("JSON and C contradict", |(kind, c)| {
        let float = matches!(c, Scalar::Float | Scalar::Double);
        match *kind {
            "integer" => !float && *c != Scalar::Bool,
            "boolean" => *c == Scalar::Bool,
            "string" => matches!(c, Scalar::Char | Scalar::LongLong | Scalar::UnsignedLongLong),
            _ => float,
        }
    })
}

const WORDS: &[&str] = &[
    "NaN",
    "Infinity",
    "-Infinity",
    "nan",
    "2",
    "-5",
    "+5",
    "-",
    "",
    "007",
    "-0",
    "1.0",
    "1e3",
    " 1",
    "1\n",
    "a",
    "é",
    "\u{0}",
    "18446744073709551615",
    "18446744073709551616",
    "9223372036854775807",
    "-9223372036854775808",
    "123456789012345678901",
];

const EDGES: &[f64] = &[
    0.0,
    -0.0,
    0.5,
    127.0,
    128.0,
    255.0,
    32_768.0,
    65_536.0,
    2_147_483_648.0,
    4_294_967_296.0,
    9e15,
    1e18,
    9.3e18,
    2e19,
    f32::MAX as f64,
    3.402_823_5e38,
    3.402_823_567_797_336_6e38,
    3.5e38,
    f64::MAX,
];

/// Values near every edge, and any others.
fn values() -> impl Strategy<Value = Value> {
    prop_oneof![
        prop::sample::select(WORDS).prop_map(Value::from),
        prop::sample::select(EDGES).prop_map(Value::from),
        prop::sample::select(EDGES).prop_map(|edge| Value::from(-edge)),
        prop::sample::select(vec![
            json!(null),
            json!(true),
            json!([]),
            json!({}),
            json!(u64::MAX),
            json!(i64::MIN),
            json!(i64::MAX)
        ]),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-300_i64..70_000).prop_map(Value::from),
        any::<f64>().prop_filter("JSON has no such number", |value| value.is_finite()).prop_map(Value::from),
        "[-+]?[0-9]{0,21}".prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ]
}

fn bounds() -> impl Strategy<Value = Value> {
    let each = vec![
        json!({}),
        json!({}),
        json!({ "minimum": 0 }),
        json!({ "maximum": 100 }),
        json!({ "minimum": 1, "maximum": 9 }),
    ];
    prop::sample::select(each)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn what_is_listed_for_a_number_is_what_is_read((kind, c) in kinds(), beside in bounds(), value in values()) {
        prop_assert_eq!(agree(kind, c, &beside, &value), Ok(()));
    }
}

#[test]
fn a_double_is_a_number_or_a_word_for_what_json_has_no_number_for() {
    let listed = |c: &str, beside: Value| {
        let mut schema = scalar("number", c);
        schema.as_object_mut().expect("an object").extend(beside.as_object().cloned().unwrap_or_default());
        planned(&function(json!([{ "name": "x", "schema": schema }]), Value::Null)).input()["properties"]["x"]
            .clone()
    };
    let words = json!({ "type": "string", "enum": ["NaN", "Infinity", "-Infinity"] });
    assert_eq!(listed("double", json!({})), json!({ "anyOf": [{ "type": "number" }, words] }));
    let bounded = json!({ "minimum": 0, "maximum": 1 });
    assert_eq!(listed("double", bounded), json!({ "type": "number", "minimum": 0.0, "maximum": 1.0 }));
    let positive = json!([{ "type": "number", "minimum": 0.0 }, { "type": "string", "enum": ["Infinity"] }]);
    assert_eq!(listed("double", json!({ "minimum": 0 }))["anyOf"], positive);
}

#[test]
fn a_wide_integer_says_which_texts_stand_for_one() {
    let x = json!([{ "name": "x", "schema": scalar("integer", "long long") }]);
    let expect = json!({ "anyOf": [
        { "type": "integer", "minimum": i64::MIN, "exclusiveMaximum": 9_223_372_036_854_775_808.0 },
        { "type": "string", "pattern": "^-?[0-9]{1,19}$" },
    ] });
    assert_eq!(planned(&function(x, Value::Null)).input()["properties"]["x"], expect);
}

#[test]
fn a_pointer_that_may_be_left_out_may_be_null() {
    let listed = |kind: &str, c: &str| {
        let schema = json!({ "type": kind, "cType": { "type": c, "isPointer": true } });
        let x = json!([{ "name": "x", "schema": schema, "required": false }]);
        let input = planned(&function(x, Value::Null)).input();
        Schema::new(input.clone()).compile().expect("a schema");
        input["properties"]["x"].clone()
    };
    assert_eq!(listed("string", "char"), json!({ "type": ["string", "null"] }));
    assert_eq!(listed("integer", "int")["type"], json!(["integer", "null"]));
    let double = listed("number", "double");
    assert_eq!(double["anyOf"][2], json!({ "type": "null" }), "{double}");
}
