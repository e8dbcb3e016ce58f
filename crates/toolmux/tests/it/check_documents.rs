//! `toolmux check` of documents: what the specification allows is good, warnings or not.

use std::fs;

use serde_json::{Value, json};

use crate::process::{ECHO, folder, stderr, stdout, toolmux};

/// The exit code of `check`, and what it prints on each stream.
fn check(text: &str) -> (Option<i32>, String, String) {
    let folder = folder(ECHO);
    fs::write(folder.path().join("it.json"), text).expect("written");
    let output = toolmux(folder.path(), &["check", "it.json"]);
    (output.status.code(), stdout(&output), stderr(&output))
}

fn opendyn(convention: &str, schema: Value) -> Value {
    let info = json!({ "title": "t", "version": "1.0.0", "callingConvention": convention });
    let parameter = json!({ "name": "x", "schema": schema, "isIn": true, "required": true });
    let function = json!({ "name": "f", "description": "d", "parameters": [parameter] });
    json!({ "opendyn": "1.0.0", "info": info, "functions": [function] })
}

fn int() -> Value {
    json!({ "type": "integer", "cType": { "type": "int", "isPointer": false } })
}

#[track_caller]
fn good(document: &Value, warning: &str) {
    let (code, out, err) = check(&document.to_string());
    assert_eq!(code, Some(0), "{err}");
    let expect = if warning.is_empty() { "document\n" } else { "document with 1 warning\n" };
    assert!(out.ends_with(expect), "{out}");
    assert!(err.contains(warning), "{err}");
}

#[test]
fn what_the_opendyn_page_allows_is_good() {
    good(&opendyn("cdecl", int()), "");
    good(&opendyn("stdcall", int()), "`stdcall` exists on 32-bit Windows only");
    good(
        &opendyn("cdecl", json!({ "type": "integer" })),
        "schema.cType` (warning: the function is not served)",
    );
    good(
        &opendyn("cdecl", json!({ "type": "object", "cType": { "type": "int" } })),
        "C has nothing for `object`",
    );
    let array = json!({ "type": "array", "cType": { "type": "int", "isPointer": true } });
    good(&opendyn("cdecl", array), "how many elements there are");
}

#[test]
fn the_shapes_of_the_public_opendyn_sample_are_good() {
    let c = json!({ "type": "double", "isPointer": false, "isIn": true });
    let parameter =
        json!({ "name": "a", "description": "The first", "schema": { "type": "double", "cType": c } });
    let mut document = opendyn("cdecl", int());
    document["functions"][0]["parameters"] = json!([parameter]);
    document["code"] = json!({ "0": "OK" });
    let (code, out, err) = check(&document.to_string());
    assert_eq!((code, out.trim_end()), (Some(0), "it.json: valid OpenDyn document with 2 warnings"), "{err}");
}

#[test]
fn what_the_opendyn_page_forbids_is_still_a_fault() {
    for (member, expect) in
        [("callingConvention", "`callingConvention` is missing"), ("title", "`title` is missing")]
    {
        let mut document = opendyn("cdecl", int());
        document["info"].as_object_mut().expect("an object").remove(member);
        let (code, _, err) = check(&document.to_string());
        assert!(
            code == Some(2) && err.contains(expect) && err.contains("has 1 fault as an OpenDyn"),
            "{err}"
        );
    }
}

#[test]
fn choices_of_an_opentool_integer_may_be_texts_or_numbers() {
    for choices in [json!(["1", "2"]), json!([1, 2])] {
        let schema = json!({ "type": "integer", "enum": choices });
        let parameter = json!({ "name": "n", "schema": schema, "required": true });
        let function = json!({ "name": "f", "description": "d", "parameters": [parameter] });
        let info = json!({ "title": "t", "version": "1.0.0" });
        good(&json!({ "opentool": "1.1.0", "info": info, "functions": [function] }), "");
    }
}

#[test]
fn a_byte_order_mark_is_no_fault() {
    let document = opendyn("cdecl", int());
    let (code, out, err) = check(&format!("\u{feff}{document}"));
    assert_eq!((code, out.trim_end()), (Some(0), "it.json: valid OpenDyn document"), "{err}");
}

#[test]
fn faults_of_an_openrpc_document_have_their_place() {
    let method = json!({ "name": "add", "params": [{ "name": "a", "schema": { "type": "number" } }], "result": { "name": "r", "schema": {} } });
    let document =
        json!({ "openrpc": "1.3.2", "info": { "title": "t", "version": "1.0.0" }, "methods": [method] });
    let (code, out, err) = check(&document.to_string());
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(
        (code, lines[..2].join("\n")),
        (Some(0), "it.json: valid OpenRPC document\n0 of 1 operation served".into()),
        "{err}"
    );
    assert!(lines[2].contains("not served: add: The document names no server"), "{out}");
    let mut served = document;
    served["servers"] = json!([{ "url": "https://h/" }]);
    let (_, out, _) = check(&served.to_string());
    assert_eq!(out.trim_end(), "it.json: valid OpenRPC document\n1 of 1 operation served");
    let (code, _, err) = check(
        "{\"openrpc\": \"1.3.2\", \"info\": {\"version\": \"1\"}, \"methods\": [\n  {\"params\": []}]}",
    );
    assert_ne!(code, Some(0));
    assert!(err.contains("it.json:2:3") && err.contains("`name` is missing at `$.methods[0].name`"), "{err}");
}
