//! What goes beyond the specification: names of values, NULL that must be given, bytes in base64, codes beside values.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::{document, encoded, function, planned, read, refused, scalar, schema};
use crate::opendyn::plan::check;

fn parameter(schema: Value) -> Value {
    json!({ "name": "x", "schema": schema })
}

#[test]
fn misspelt_members_are_refused_with_the_nearest() {
    let int = scalar("integer", "int");
    for (parameter, expect) in [
        (json!({ "name": "x", "schema": int, "requierd": false }), "did you mean `required`?"),
        (json!({ "name": "x", "schema": int, "isin": false }), "did you mean `isIn`?"),
        (
            json!({ "name": "x", "schema": { "type": "integer", "cType": { "type": "int", "ispointer": true } } }),
            "did you mean `isPointer`?",
        ),
        (
            json!({ "name": "x", "schema": { "type": "integer", "cType": { "type": "int" }, "defualt": 1 } }),
            "did you mean `default`?",
        ),
    ] {
        let (book, faults) = read(&document(&function(json!([parameter]), Value::Null)));
        assert!(faults.iter().any(|fault| fault.remedy == expect), "{faults:?}");
        assert_eq!(book.expect("a document").unusable.len(), 1, "{expect}");
    }
    let foreign = json!({ "name": "x", "schema": int, "x-isIn": 1, "units": "metres" });
    assert_eq!(check(&document(&function(json!([foreign]), Value::Null))), []);
}

#[test]
fn another_version_of_the_specification_is_a_fault() {
    let text = document(&function(json!([]), Value::Null));
    for (version, count) in [("1.0.0", 0), ("1.2.0", 0), ("9.0.0", 1)] {
        let text = text.replacen(r#""opendyn":"1.0.0""#, &format!(r#""opendyn":"{version}""#), 1);
        assert_eq!(check(&text).len(), count, "{version}");
    }
}

#[test]
fn values_are_given_by_name() {
    let mut named = scalar("integer", "int");
    named["names"] = json!({ "READ": 1, "WRITE": 2, "ALL": -1 });
    let one = planned(&function(json!([parameter(named.clone())]), Value::Null));
    let bytes = |value: i64| Ok(value.to_le_bytes().to_vec());
    assert_eq!(encoded(&one, r#"{"x":"WRITE"}"#), bytes(2));
    assert_eq!(encoded(&one, r#"{"x":7}"#), bytes(7));
    refused(&one, r#"{"x":"WRTE"}"#, "x has no value `WRTE`; did you mean `WRITE`?");
    refused(&one, r#"{"x":["READ"]}"#, "takes one value");
    named["flags"] = true.into();
    let many = planned(&function(json!([parameter(named)]), Value::Null));
    assert_eq!(encoded(&many, r#"{"x":["READ","WRITE"]}"#), bytes(3));
    assert_eq!(encoded(&many, r#"{"x":[]}"#), bytes(0));
    let listed = many.input()["properties"]["x"].to_string();
    assert!(listed.contains(r#"{"type":"string","enum":["READ","WRITE","ALL"]}"#), "{listed}");
}

#[test]
fn null_may_have_to_be_given() {
    let mut text = schema("string", json!({ "type": "char", "isPointer": true }));
    text["nullable"] = true.into();
    let planned = planned(&function(json!([parameter(text)]), Value::Null));
    assert_eq!(encoded(&planned, r#"{"x":null}"#), Ok(vec![255; 4]));
    refused(&planned, "{}", "x is required but missing");
    assert_eq!(planned.input()["properties"]["x"]["type"], json!(["string", "null"]));
}

#[test]
fn bytes_are_taken_as_they_are_given() {
    let bytes = schema("string", json!({ "type": "unsigned char", "isPointer": true }));
    let planned = planned(&function(json!([parameter(bytes)]), Value::Null));
    assert_eq!(
        encoded(&planned, r#"{"x":{"base64":"/wA=","reason":"not UTF-8"}}"#),
        Ok(b"\x02\0\0\0\xff\0".to_vec())
    );
    assert_eq!(encoded(&planned, r#"{"x":"ab"}"#), Ok(b"\x02\0\0\0ab".to_vec()));
    refused(&planned, r#"{"x":{"base64":"?"}}"#, "is not base64");
    refused(&planned, r#"{"x":{"hex":"00"}}"#, "an object with `base64`");
    refused(&planned, r#"{"x":7}"#, "x must be a text");
}

#[test]
fn codes_are_shown_beside_the_value() {
    let returns = |schema: Value| function(json!([]), json!({ "name": "status", "schema": schema }));
    let with_codes = |function: &Value| {
        let mut whole: Value = serde_json::from_str(&document(function)).expect("JSON");
        whole["code"] = json!({ "0": "fine" });
        let mut book = read(&whole.to_string()).0.expect("a document");
        (book.functions.remove(0), book.codes)
    };
    let (plain, codes) = with_codes(&returns(scalar("integer", "int")));
    let decoded = |value: i64, codes: &HashMap<String, String>| {
        plain.decode(&value.to_le_bytes(), None, codes).expect("read")
    };
    assert_eq!(decoded(0, &codes).json, r#"{"status":0,"code":"fine"}"#);
    assert_eq!(decoded(7, &codes).json, r#"{"status":7}"#);
    assert_eq!(decoded(0, &codes).failure, None);
    let mut named = scalar("integer", "int");
    named["names"] = json!({ "BUSY": 5 });
    let named = planned(&returns(named));
    let busy = named.decode(&5_i64.to_le_bytes(), None, &HashMap::new()).expect("read");
    assert_eq!(busy.json, r#"{"status":5,"code":"BUSY"}"#);
}

#[test]
fn a_returned_number_that_does_not_fit_is_an_error_code() {
    let c = json!({ "type": "unsigned char", "isPointer": true, "size": 4, "lengthFrom": "return" });
    let out = json!({ "name": "out", "isIn": false, "schema": schema("string", c) });
    let returns = json!({ "name": "n", "success": "fits", "schema": scalar("integer", "unsigned long") });
    let planned = planned(&function(json!([out]), returns));
    let result = |word: u64, out: &[u8]| [&word.to_le_bytes(), out, &[0; 4], &[255; 4]].concat();
    let good = planned.decode(&result(2, b"\x02\0\0\0ab"), None, &HashMap::new()).expect("read");
    assert_eq!((good.json.as_str(), good.failure), (r#"{"n":2,"out":"ab"}"#, None));
    let bad = planned.decode(&result(u64::MAX, &[255; 4]), None, &HashMap::new()).expect("read");
    let words = "`f` returned 18446744073709551615: `out` is too small, or this is an error code";
    assert_eq!(bad.failure.as_deref(), Some(words));
}

#[test]
fn the_members_of_a_structure_are_an_object() {
    let fields = json!([
        { "name": "n", "offset": 0, "type": "int" },
        { "name": "x", "offset": 8, "type": "double" },
        { "name": "text", "offset": 16, "type": "char", "count": 4 },
        { "name": "two", "offset": 20, "type": "short", "count": 2 },
    ]);
    let c = json!({ "type": "void", "isPointer": true, "structure": { "size": 24, "fields": fields } });
    let out = json!({ "name": "it", "isIn": false, "schema": schema("object", c.clone()) });
    let planned = planned(&function(json!([out]), Value::Null));
    let bytes = [&7_i32.to_le_bytes()[..], &[0; 4], &1.5_f64.to_le_bytes(), b"ab\0x", &[1, 0, 2, 0]].concat();
    let result = [&24_u32.to_le_bytes()[..], &bytes].concat();
    let decoded = planned.decode(&result, None, &HashMap::new()).expect("read");
    assert_eq!(decoded.json, r#"{"it":{"n":7,"x":1.5,"text":"ab","two":[1,2]}}"#);
    assert!(planned.decode(b"\x04\0\0\0abcd", None, &HashMap::new()).is_err(), "it is too short");
    let outside = json!({ "type": "void", "isPointer": true, "structure": { "size": 8, "fields": fields } });
    let given = json!({ "name": "it", "schema": schema("object", outside) });
    let faults = check(&document(&function(json!([given]), Value::Null)));
    assert!(faults.iter().any(|fault| fault.what.contains("outside of the structure")), "{faults:?}");
}
