//! C functions as tools: values of every kind, objects, texts, time limits, many callers.

use serde_json::{Value, json};

use crate::opendyn_fixture::{Libraries, document, function, objects, output};
use crate::process::{stderr, stdout, toolmux};

const WAYS: [bool; 2] = [false, true];

/// The same through a worker and in this process.
async fn check(functions: Value, tool: &str, arguments: Value, expect: Result<Value, &str>) {
    for in_process in WAYS {
        let settings = json!({ "in_process": in_process });
        let libraries = Libraries::fixture(functions.clone(), settings).await;
        let answer = libraries.call(&format!("Fixture.{tool}"), arguments.clone()).await;
        match &expect {
            Ok(value) => assert_eq!(answer.as_ref(), Ok(value)),
            Err(words) => assert!(answer.as_ref().expect_err("it fails").contains(words), "{answer:?}"),
        }
        libraries.close().await;
    }
}

#[tokio::test]
async fn numbers_of_every_type_come_back_as_they_went() {
    let ends: [(&str, [Value; 2]); 11] = [
        ("char", [json!(-128), json!(127)]),
        ("unsigned char", [json!(0), json!(255)]),
        ("short", [json!(i16::MIN), json!(i16::MAX)]),
        ("unsigned short", [json!(0), json!(u16::MAX)]),
        ("int", [json!(i32::MIN), json!(i32::MAX)]),
        ("unsigned int", [json!(0), json!(u32::MAX)]),
        ("long", [json!(i64::MIN), json!(i64::MAX)]),
        ("unsigned long long", [json!(0), json!(u64::MAX)]),
        ("bool", [json!(false), json!(true)]),
        ("float", [json!(0.1), json!("Infinity")]),
        ("double", [json!(-1e308), json!("NaN")]),
    ];
    let symbol = |c: &str| format!("id_{}", c.replace(' ', "_"));
    let functions: Vec<Value> = ends.iter().map(|(c, _)| function(&symbol(c), c, &[("x", c)])).collect();
    for in_process in WAYS {
        let libraries = Libraries::fixture(json!(functions), json!({ "in_process": in_process })).await;
        for (c, values) in &ends {
            for value in values {
                let answer = libraries.call(&format!("Fixture.{}", symbol(c)), json!({ "x": value })).await;
                assert_eq!(answer, Ok(json!({ "result": value })), "{c}");
            }
        }
        libraries.close().await;
    }
}

#[tokio::test]
async fn texts_and_buffers_cross() {
    let greet = json!({ "name": "greet", "description": "d", "parameters": [
        { "name": "name", "schema": { "type": "string", "cType": { "type": "char", "isPointer": true } } },
        output("buf", "string", json!({ "type": "char", "isPointer": true, "size": 64 })),
        { "name": "cap", "schema": { "type": "integer", "cType": { "type": "unsigned long", "lengthOf": "buf" } } },
    ] });
    let text = json!({ "buf": "Hello, Ana é 😀!" });
    check(json!([greet]), "greet", json!({ "name": "Ana é 😀" }), Ok(text)).await;
    let doubled = json!({ "name": "dbl_int", "description": "d", "parameters": [
        { "name": "in", "schema": { "type": "array", "cType": { "type": "int", "isPointer": true } } },
        { "name": "n", "schema": { "type": "integer", "cType": { "type": "int", "lengthOf": "in" } } },
        output("out", "array", json!({ "type": "int", "isPointer": true, "size": "n" })),
    ] });
    check(json!([doubled]), "dbl_int", json!({ "in": [1, -2, 3] }), Ok(json!({ "out": [2, -4, 6] }))).await;
    check(json!([doubled]), "dbl_int", json!({ "in": [] }), Ok(json!({ "out": [] }))).await;
    let huge: Vec<i32> = (0..200_000).collect();
    let twice: Vec<i32> = huge.iter().map(|n| n * 2).collect();
    check(json!([doubled]), "dbl_int", json!({ "in": huge }), Ok(json!({ "out": twice }))).await;
}

#[tokio::test]
async fn what_is_no_text_comes_as_base64_and_null_as_null() {
    let functions = json!([function("bad_utf8", "char*", &[]), function("ret_null", "char*", &[])]);
    let bytes = json!({ "result": { "base64": "Yf/+", "reason": "not UTF-8" } });
    check(functions.clone(), "bad_utf8", json!({}), Ok(bytes)).await;
    check(functions, "ret_null", json!({}), Ok(json!({ "result": null }))).await;
    let functions = json!([function("unterminated", "char*", &[])]);
    check(functions, "unterminated", json!({}), Err("gave too much")).await;
}

#[tokio::test]
async fn errno_and_variadic_functions_are_told_apart() {
    let mut set_errno = function("set_errno", "int", &[("e", "int")]);
    set_errno["errno"] = true.into();
    let errno = json!({ "result": -1, "errno": { "number": 2, "text": "No such file or directory" } });
    check(json!([set_errno]), "set_errno", json!({ "e": 2 }), Ok(errno)).await;
    check(json!([set_errno]), "set_errno", json!({ "e": 0 }), Ok(json!({ "result": 0 }))).await;
    let mut vsum = function("vsum", "long", &[("n", "int"), ("a", "int"), ("b", "int")]);
    vsum["fixedParameters"] = 1.into();
    check(json!([vsum]), "vsum", json!({ "n": 2, "a": 5, "b": 7 }), Ok(json!({ "result": 19 }))).await;
}

#[tokio::test]
async fn objects_live_until_they_are_closed_or_their_worker_dies() {
    let libraries = Libraries::fixture(objects(), Value::Null).await;
    let made = libraries.call("Fixture.obj_new", json!({ "v": 7 })).await.expect("it is there");
    assert!(made["obj"].as_str().is_some_and(|text| text.starts_with("obj#") && text.len() == 26), "{made}");
    assert_eq!(libraries.call("Fixture.obj_get", made.clone()).await, Ok(json!({ "v": 7 })));
    let wrong = libraries.call("Fixture.obj_get", json!({ "obj": "other#1.1" })).await.expect_err("it fails");
    assert!(wrong.contains("`obj` is a handle of `other`"), "{wrong}");
    assert_eq!(libraries.call("Fixture.obj_free", made.clone()).await, Ok(json!({})));
    let closed = libraries.call("Fixture.obj_get", made).await.expect_err("it fails");
    assert!(closed.contains("`obj` is not open"), "{closed}");
    let made = libraries.call("Fixture.obj_new", json!({ "v": 8 })).await.expect("it is there");
    assert!(libraries.call("Fixture.segv", json!({})).await.is_err());
    let lost = libraries.call("Fixture.obj_get", made).await.expect_err("it fails");
    assert_eq!(lost, closed);
    let again = libraries.call("Fixture.obj_new", json!({ "v": 9 })).await.expect("it is there");
    assert_eq!(libraries.call("Fixture.obj_get", again).await, Ok(json!({ "v": 9 })));
    libraries.close().await;
}

#[tokio::test]
async fn objects_stay_with_the_worker_that_made_them() {
    let libraries = Libraries::fixture(objects(), json!({ "workers": 3 })).await;
    let mut made = Vec::new();
    for v in 0..12 {
        made.push(libraries.call("Fixture.obj_new", json!({ "v": v })).await.expect("it is there"));
    }
    for (v, object) in made.into_iter().enumerate() {
        assert_eq!(libraries.call("Fixture.obj_get", object).await, Ok(json!({ "v": v })));
    }
    libraries.close().await;
}

#[tokio::test]
async fn a_function_that_is_not_there_is_listed_with_its_reason() {
    let functions = json!([
        function("add", "int", &[("a", "int"), ("b", "int")]),
        function("nowhere", "int", &[]),
        function("system", "int", &[("command", "char*")]),
        { "name": "odd", "description": "d", "parameters": [{ "name": "x", "schema": { "type": "object", "cType": { "type": "int" } } }] },
    ]);
    let libraries = Libraries::fixture(functions, Value::Null).await;
    assert_eq!(libraries.names(), ["add"]);
    let unserved = libraries.unserved().join("\n");
    for words in
        ["the library has no function `nowhere`", "no function `system`", "C has nothing for `object`"]
    {
        assert!(unserved.contains(words), "{unserved}");
    }
    libraries.close().await;
}

#[tokio::test]
async fn a_library_that_cannot_be_loaded_costs_only_itself() {
    let functions = json!([function("add", "int", &[("a", "int"), ("b", "int")])]);
    let libraries = Libraries::fixture(functions.clone(), Value::Null).await;
    libraries.add("Missing", &document(functions), "libnowhere.so.1".as_ref(), Value::Null).await;
    let three = libraries.call("Fixture.add", json!({ "a": 1, "b": 2 })).await;
    assert_eq!(three, Ok(json!({ "result": 3 })));
    assert_eq!(libraries.names(), ["add"]);
    libraries.close().await;
}

#[tokio::test]
async fn many_callers_get_their_own_answers() {
    let functions = json!([function("add", "int", &[("a", "int"), ("b", "int")])]);
    let libraries = Libraries::fixture(functions, Value::Null).await;
    let calls = (0..50).map(|a| libraries.call("Fixture.add", json!({ "a": a, "b": 1000 })));
    let answers = futures_util::future::join_all(calls).await;
    for (a, answer) in answers.into_iter().enumerate() {
        assert_eq!(answer, Ok(json!({ "result": a + 1000 })));
    }
    libraries.close().await;
}

#[test]
fn the_quickstart_computes() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let config = "examples/quickstart/toolmux.toml";
    let output = toolmux(root.as_ref(), &["call", "Math.pow", "x=2", "y=10", "--config", config]);
    assert_eq!(stdout(&output), "{\"result\":1024.0}\n", "{}", stderr(&output));
}
