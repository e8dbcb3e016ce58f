//! What a document becomes, and what is wrong with it.

mod accepted;
mod extensions;

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};
use toolmux_dylib_host::scalar::Scalar;

use super::{Planned, read};
use crate::opendyn::document::c_word;
use crate::opendyn::handles::{HandleTable, Owner, TableSettings, UsedHandles};

fn document(function: &Value) -> String {
    let info = json!({ "title": "t", "version": "1.0.0", "callingConvention": "cdecl" });
    json!({ "opendyn": "1.0.0", "info": info, "functions": [function] }).to_string()
}

fn planned(function: &Value) -> Planned {
    let (book, faults) = read(&document(function));
    let mut book = book.unwrap();
    assert_eq!(book.unusable, [], "{faults:?}");
    book.functions.remove(0)
}

fn function(parameters: Value, returns: Value) -> Value {
    json!({ "name": "f", "description": "d", "parameters": parameters, "return": returns })
}

fn schema(kind: &str, c: Value) -> Value {
    json!({ "type": kind, "cType": c })
}

fn scalar(kind: &str, c: &str) -> Value {
    schema(kind, json!({ "type": c, "isPointer": false }))
}

/// The first fault of a function with one parameter of this schema.
#[track_caller]
fn check(parameter: Value, expect: &str) {
    let text = document(&function(json!([parameter]), Value::Null));
    let faults = super::check(&text);
    let told: Vec<String> = faults.iter().map(|fault| format!("{} at {}", fault.what, fault.path)).collect();
    assert!(told.iter().any(|words| words.contains(expect)), "{told:?}");
    assert!(faults.iter().all(|fault| !fault.remedy.is_empty()));
}

fn encoded(planned: &Planned, arguments: &str) -> Result<Vec<u8>, String> {
    let (mut scratch, mut out) = (Vec::new(), Vec::new());
    let settings = TableSettings { quota: 1, idle: Duration::MAX, closable: HashSet::new() };
    let table = HandleTable::new(settings);
    let mut used = UsedHandles::new(&table, Owner { caller: "somebody", user: None, session: None });
    planned
        .encode(arguments, &mut used, &mut scratch, &mut out)
        .map(|()| out)
        .map_err(|fault| format!("{} {}", fault.parameter, fault.message))
}

#[track_caller]
fn refused(planned: &Planned, arguments: &str, expect: &str) {
    let fault = encoded(planned, arguments).unwrap_err();
    assert!(fault.contains(expect), "{arguments}: {fault}");
}

#[test]
fn what_c_cannot_do_is_told_with_its_place() {
    let at = "at $.functions[0].parameters[0]";
    let x = |schema: Value| json!({ "name": "x", "schema": schema });
    let out = |schema: Value| json!({ "name": "x", "schema": schema, "isIn": false });
    let pointer = |c: &str| json!({ "type": c, "isPointer": true });
    check(x(json!({ "type": "integer" })), &format!("`cType` is missing {at}.schema.cType"));
    check(x(scalar("object", "int")), "C has nothing for `object`");
    check(x(scalar("array", "int")), "an array is passed by pointer");
    check(x(scalar("integer", "double")), "`integer` and the C type `double` contradict each other");
    check(x(scalar("integer", "int32_t")), &format!("no C type `int32_t` here {at}.schema.cType.type"));
    check(x(scalar("void", "int")), "there is no type `void`");
    check(x(scalar("integer", "void")), "a parameter cannot be `void`");
    check(x(schema("integer", pointer("void"))), "a `void` pointer cannot be integer");
    check(x(schema("string", pointer("int"))), "contradict");
    check(out(schema("string", pointer("char"))), "how large the output buffer must be");
    check(out(schema("array", pointer("int"))), "how large the output buffer must be");
    check(x(json!({ "$ref": "#/schemas/nowhere" })), "nothing is at the reference");
    check(x(scalar("double", "double")), "`double` is a C type, not a JSON type");
    check(out(scalar("integer", "int")), "an output is a pointer");
    check(x(schema("array", pointer("int"))), "how many elements there are");
    check(
        x(json!({ "type": "integer", "minimum": 9, "maximum": 1, "cType": { "type": "int" } })),
        "no value is within",
    );
    check(
        x(json!({ "type": "integer", "const": 300, "cType": { "type": "unsigned char" } })),
        "the value 300 is out of range",
    );
    check(x(schema("integer", json!({ "type": "int", "isIn": false }))), "`isIn` belongs to the parameter");
}

#[test]
fn the_public_example_is_read_with_warnings() {
    let parameter = |name: &str| {
        let c = json!({ "type": "double", "isPointer": false, "isIn": true });
        json!({ "name": name, "schema": { "type": "double", "cType": c } })
    };
    let planned = planned(&function(
        json!([parameter("a"), parameter("b")]),
        json!({ "name": "sum", "schema": scalar("double", "double") }),
    ));
    assert_eq!(planned.inputs.len(), 2);
    assert_eq!(planned.input()["required"], json!(["a", "b"]));
}

#[test]
fn references_lead_to_schemas() {
    let text = json!({ "opendyn": "1.0.0", "info": { "title": "t", "version": "2.1.0", "callingConvention": "cdecl" },
        "schemas": { "N": scalar("integer", "int") },
        "functions": [function(json!([{ "name": "a", "schema": { "$ref": "#/schemas/N" } }]), Value::Null)] });
    let (book, faults) = read(&text.to_string());
    assert_eq!(faults, []);
    let book = book.unwrap();
    assert_eq!((book.version.as_str(), book.functions.len()), ("2.1.0", 1));
}

#[test]
fn one_bad_function_costs_only_itself() {
    let good = function(json!([]), Value::Null);
    let mut bad = function(json!([{ "name": "x", "schema": scalar("object", "int") }]), Value::Null);
    bad["name"] = "g".into();
    let text = json!({ "functions": [bad, good, { "name": 7 }] }).to_string();
    let book = read(&text).0.unwrap();
    assert_eq!(book.functions.len(), 1);
    let names: Vec<&str> = book.unusable.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["?", "g"]);
}

#[test]
fn callers_see_inputs_only() {
    let bytes = json!({ "type": "string", "cType": { "type": "unsigned char", "isPointer": true } });
    let parameters = json!([
        { "name": "seed", "schema": { "type": "integer", "const": 0, "cType": { "type": "unsigned long" } } },
        { "name": "data", "description": "What to check", "schema": bytes },
        { "name": "len", "schema": schema("integer", json!({ "type": "unsigned int", "lengthOf": "data" })) },
        { "name": "level", "schema": { "type": "integer", "default": 6, "maximum": 9, "cType": { "type": "int" } } },
        { "name": "out", "isIn": false, "schema": schema("integer", json!({ "type": "short", "isPointer": true })) },
    ]);
    let planned = planned(&function(
        parameters,
        json!({ "name": "crc", "schema": scalar("integer", "unsigned long") }),
    ));
    insta::assert_json_snapshot!(planned.input(), @r#"
    {
      "type": "object",
      "properties": {
        "data": {
          "type": [
            "string",
            "object"
          ],
          "description": "What to check"
        },
        "level": {
          "type": "integer",
          "minimum": -2147483648,
          "maximum": 9,
          "default": 6
        }
      },
      "required": [
        "data"
      ],
      "additionalProperties": false
    }
    "#);
    insta::assert_json_snapshot!(planned.output(), @r#"
    {
      "type": "object",
      "properties": {
        "crc": {
          "type": "integer"
        },
        "out": {
          "type": "integer"
        }
      },
      "required": [
        "crc",
        "out"
      ]
    }
    "#);
    let call = encoded(&planned, r#"{"data":"ab"}"#).unwrap();
    assert_eq!(call, [&[0; 8][..], &[2, 0, 0, 0], b"ab", &[6, 0, 0, 0, 0, 0, 0, 0]].concat());
}

#[test]
fn arguments_that_do_not_fit_name_themselves() {
    let element = schema("array", json!({ "type": "unsigned char", "isPointer": true, "size": 3 }));
    let text = schema("string", json!({ "type": "char", "isPointer": true }));
    let parameters = json!([
        { "name": "a", "schema": scalar("integer", "int") },
        { "name": "t", "schema": text, "required": false },
        { "name": "in", "schema": element, "required": false },
        { "name": "b", "schema": scalar("boolean", "bool"), "required": false },
        { "name": "c", "schema": scalar("string", "char"), "required": false },
        { "name": "f", "schema": scalar("number", "float"), "required": false },
    ]);
    let planned = planned(&function(parameters, Value::Null));
    refused(&planned, "{}", "a is required but missing");
    refused(&planned, r#"{"a":1,"a":2}"#, "a is given twice");
    refused(&planned, r#"{"a":1,"z":2}"#, "z is not a known parameter");
    refused(&planned, r#"{"a":2147483648}"#, "a is out of range: must be a whole number from -2147483648 to");
    refused(&planned, r#"{"a":18446744073709551616}"#, "a is out of range");
    refused(&planned, r#"{"a":2.5}"#, "a must be a whole number");
    refused(&planned, r#"{"a":"2"}"#, "a must be a whole number");
    refused(&planned, r#"{"a":null}"#, "a must be a whole number");
    refused(&planned, r#"{"a":1,"t":"x\u0000y"}"#, "t must not contain a NUL");
    refused(&planned, r#"{"a":1,"in":[1,256]}"#, "in has at [1] a value that is out of range");
    refused(&planned, r#"{"a":1,"b":1}"#, "b must be true or false");
    refused(&planned, r#"{"a":1,"c":"é"}"#, "c must be a text of exactly one byte");
    refused(&planned, r#"{"a":1,"f":1e39}"#, "f is out of range");
    refused(&planned, r#"{"a":1"#, "EOF");
    assert!(encoded(&planned, r#"{"a":2.0,"t":null,"f":"NaN"}"#).is_ok());
}

#[test]
fn codes_speak_only_where_success_is_defined() {
    let returns = |success: Option<&str>| {
        let mut returns = json!({ "name": "status", "schema": scalar("integer", "int") });
        if let Some(success) = success {
            returns["success"] = success.into();
        }
        planned(&function(json!([]), returns))
    };
    let codes = HashMap::from([("0".to_owned(), "Success".to_owned()), ("-1".into(), "Broken".into())]);
    let decoded = |planned: &Planned, value: i64| {
        let errno: &[u8] = if planned.success.is_some() { &[0, 0, 0, 0, 255, 255, 255, 255] } else { &[] };
        let result = [&value.to_le_bytes(), errno].concat();
        let decoded = planned.decode(&result, None, &codes).unwrap();
        (decoded.json, decoded.failure)
    };
    assert_eq!(decoded(&returns(None), 0), (r#"{"status":0}"#.to_owned(), None));
    let strict = returns(Some("==0"));
    assert_eq!(decoded(&strict, 0), (r#"{"status":0,"code":"Success"}"#.to_owned(), None));
    let (json, failure) = decoded(&strict, -1);
    assert_eq!(json, r#"{"status":-1,"code":"Broken"}"#);
    assert_eq!(failure.unwrap(), "`f` returned -1: Broken");
    assert!(decoded(&returns(Some(">0")), 0).1.is_some());
    assert!(decoded(&returns(Some("nonnull")), 1).1.is_none());
}

#[test]
fn results_that_do_not_fit_the_plan_are_refused() {
    let array = schema("array", json!({ "type": "int", "isPointer": true, "size": 4 }));
    let planned = planned(&function(json!([{ "name": "o", "isIn": false, "schema": array }]), Value::Null));
    for bytes in [&b""[..], b"\x03\0\0\0abc", b"\x04\0\0\0abc", b"\x04\0\0\0abcdx"] {
        assert!(planned.decode(bytes, None, &HashMap::new()).is_err(), "{bytes:?}");
    }
    assert_eq!(planned.decode(b"\x04\0\0\0\x01\0\0\0", None, &HashMap::new()).unwrap().json, r#"{"o":[1]}"#);
    assert_eq!(planned.decode(b"\xff\xff\xff\xff", None, &HashMap::new()).unwrap().json, r#"{"o":null}"#);
}

fn identity(kind: &str, scalar_: Scalar) -> Planned {
    let x = json!({ "name": "x", "schema": scalar(kind, c_word(Some(scalar_))) });
    planned(&function(json!([x]), json!({ "name": "y", "schema": scalar(kind, c_word(Some(scalar_))) })))
}

/// A value by value has the same bytes on the way in and on the way out.
#[track_caller]
fn round(planned: &Planned, json: &str) {
    let call = encoded(planned, &format!(r#"{{"x":{json}}}"#)).unwrap();
    let result = planned.decode(&call, None, &HashMap::new()).unwrap();
    assert_eq!(result.json, format!(r#"{{"y":{json}}}"#));
}

#[test]
fn both_ends_of_every_integer_type_survive() {
    for scalar in Scalar::ALL {
        let Some((low, high)) = scalar.range().filter(|_| scalar != Scalar::Bool) else { continue };
        let planned = identity("integer", scalar);
        round(&planned, &low.to_string());
        round(&planned, &high.to_string());
        refused(&planned, &format!(r#"{{"x":{}}}"#, high + 1), "out of range");
        refused(&planned, &format!(r#"{{"x":{}}}"#, low - 1), "out of range");
    }
    round(&identity("boolean", Scalar::Bool), "true");
    round(&identity("string", Scalar::LongLong), "\"-9223372036854775808\"");
    round(&identity("string", Scalar::Char), "\"x\"");
}

#[test]
fn floats_are_told_in_their_own_precision() {
    for scalar in [Scalar::Float, Scalar::Double] {
        for json in ["0.1", "-0.0", "\"NaN\"", "\"Infinity\"", "\"-Infinity\"", "3.4e+38"] {
            round(&identity("number", scalar), json);
        }
    }
}

proptest! {
    #[test]
    fn any_double_survives(value: f64) {
        prop_assume!(value.is_finite());
        let json = serde_json::to_string(&value).unwrap();
        round(&identity("number", Scalar::Double), &json);
    }

    #[test]
    fn any_text_survives(text: String) {
        prop_assume!(!text.contains('\0'));
        let c = json!({ "type": "char", "isPointer": true });
        let out = json!({ "name": "y", "isIn": true, "isOut": true, "schema": schema("string", c) });
        let planned = planned(&function(json!([out]), Value::Null));
        let json = json!({ "y": text }).to_string();
        let call = encoded(&planned, &json).unwrap();
        prop_assert_eq!(planned.decode(&call, None, &HashMap::new()).unwrap().json, json);
    }

    #[test]
    fn any_array_survives(values: Vec<i32>) {
        let c = json!({ "type": "int", "isPointer": true });
        let io = json!({ "name": "y", "isOut": true, "schema": schema("array", c) });
        let planned = planned(&function(json!([io]), Value::Null));
        let json = json!({ "y": values }).to_string();
        let call = encoded(&planned, &json).unwrap();
        prop_assert_eq!(planned.decode(&call, None, &HashMap::new()).unwrap().json, json);
    }

    #[test]
    fn any_bytes_are_decoded_without_panic(bytes: Vec<u8>) {
        let text = schema("string", json!({ "type": "char", "isPointer": true, "size": 8 }));
        let many = schema("array", json!({ "type": "double", "isPointer": true, "size": 8 }));
        let handle = schema("string", json!({ "type": "void", "isPointer": true, "handle": "h" }));
        let out = |name: &str, schema: &Value| json!({ "name": name, "isIn": false, "schema": schema });
        let mut f = function(json!([out("a", &text), out("b", &many), out("c", &handle)]), Value::Null);
        f["errno"] = true.into();
        let _ = planned(&f).decode(&bytes, None, &HashMap::new());
    }

    #[test]
    fn any_text_is_read_as_a_document_without_panic(text: String) {
        let _ = super::check(&text);
    }
}
