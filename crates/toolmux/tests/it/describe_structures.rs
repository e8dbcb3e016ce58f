//! Structures, callbacks, lists of texts and variables: a header is described, and each function of it is called.

use serde_json::{Value, json};

use crate::opendyn_fixture::{LIBRARY, Libraries};
use crate::process::{stderr, toolmux};

const HEADER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../dylib-host/tests/fixture/structures.h");

/// The document that `describe` makes of the fixture's header.
fn document() -> Value {
    let folder = tempfile::tempdir().expect("a folder");
    let library = LIBRARY.to_str().expect("a path");
    let output = toolmux(folder.path(), &["describe", HEADER, "--library", library, "--out", "it.json"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let refuted = "packed_sum: the compiler does not confirm the layout of a structure that it uses";
    assert!(stderr(&output).contains(refuted), "{}", stderr(&output));
    let text = std::fs::read_to_string(folder.path().join("it.json")).expect("it is there");
    assert_eq!(toolmux_protocols::opendyn::check(&text), []);
    serde_json::from_str(&text).expect("JSON")
}

/// Calls through a worker and in this process must agree.
async fn check(calls: &[(&str, Value, Result<Value, &str>)]) {
    let document = document();
    for in_process in [false, true] {
        let libraries = Libraries::new();
        libraries.add("It", &document, &LIBRARY, json!({ "in_process": in_process })).await;
        assert_eq!(libraries.unserved(), [] as [String; 0]);
        for (tool, arguments, expect) in calls {
            let answer = libraries.call(&format!("It.{tool}"), arguments.clone()).await;
            match expect {
                Ok(value) => assert_eq!(answer.as_ref(), Ok(value), "{tool} {arguments}"),
                Err(words) => {
                    let error = answer.expect_err(tool);
                    assert!(error.contains(words), "{tool}: {error}");
                }
            }
        }
        libraries.close().await;
    }
}

fn every(b: bool, n: i64, float: f64, double: f64) -> Value {
    json!({ "b": b, "c": n, "uc": n, "s": n, "us": n, "i": n, "ui": n, "l": n, "ul": n, "ll": n, "ull": n,
        "f": float, "d": double })
}

#[tokio::test]
async fn every_number_crosses_in_a_structure_whatever_the_way() {
    let most = json!({ "b": true, "c": 127, "uc": 255, "s": i16::MIN, "us": u16::MAX, "i": i32::MIN, "ui": u32::MAX,
        "l": i64::MIN, "ul": u64::MAX, "ll": i64::MAX, "ull": u64::MAX, "f": 0.1, "d": -1e308 });
    check(&[
        ("every_echo", json!({ "value": most }), Ok(json!({ "result": most }))),
        ("every_echo", json!({ "value": {} }), Ok(json!({ "result": every(false, 0, 0.0, 0.0) }))),
        ("every_out", json!({ "factor": 7 }), Ok(json!({ "value": every(true, 7, 3.5, 1.75) }))),
        (
            "every_change",
            json!({ "value": every(true, 1, 0.5, 0.25) }),
            Ok(json!({ "value": every(false, 2, 1.5, 1.25) })),
        ),
        ("every_change", json!({}), Ok(json!({ "value": every(true, 1, 1.0, 1.0) }))),
        ("every_static", json!({}), Ok(json!({ "result": every(true, 9, 4.5, 2.25) }))),
        ("every_echo", json!({ "value": { "uc": 256 } }), Err("`value.uc` must be at most 255")),
        ("every_echo", json!({ "value": { "us": "x" } }), Err("`value.us`")),
        ("every_echo", json!({ "value": { "dd": 1 } }), Err("dd")),
    ])
    .await;
}

#[tokio::test]
async fn structures_cross_by_value_by_pointer_and_in_rows() {
    let point = |x: f64, y: f64| json!({ "x": x, "y": y });
    check(&[
        ("point_length", json!({ "p": point(3.0, 4.0) }), Ok(json!({ "result": 5.0 }))),
        (
            "point_add",
            json!({ "a": point(1.0, 2.0), "b": point(3.0, -4.0) }),
            Ok(json!({ "result": point(4.0, -2.0) })),
        ),
        (
            "pixel_mix",
            json!({ "a": { "r": 10, "g": 20, "b": 255 }, "b": { "r": 30, "g": 0, "b": 255 } }),
            Ok(json!({ "result": { "r": 20, "g": 10, "b": 255 } })),
        ),
        (
            "mixed_echo",
            json!({ "value": { "f": 1.5, "i": -2, "d": 2.25 } }),
            Ok(json!({ "result": { "f": 1.5, "i": -2, "d": 2.25 } })),
        ),
        (
            "points_middle",
            json!({ "points": [point(0.0, 0.0), point(4.0, 2.0)] }),
            Ok(json!({ "result": point(2.0, 1.0) })),
        ),
        ("points_middle", json!({ "points": [] }), Ok(json!({ "result": point(0.0, 0.0) }))),
        (
            "points_line",
            json!({ "count": 2 }),
            Ok(json!({ "result": 0, "points": [point(0.0, 0.0), point(1.0, 2.0)] })),
        ),
        ("point_length", json!({ "p": [3, 4] }), Err("`p`")),
    ])
    .await;
    check(&[("points_middle", json!({ "points": [point(0.0, 0.0), 7] }), Err("`points[1]`"))]).await;
}

#[tokio::test]
async fn members_are_texts_bits_rows_unions_and_pointers() {
    let shape = json!({ "name": "a square", "label": "it", "corner": [{ "x": 1, "y": 2 }, { "x": 3, "y": 4 }],
        "color": "GREEN", "visible": 1, "depth": -16, "layer": 255, "values": [1, 2, -3] });
    let made = json!({ "name": "square", "label": "a label",
        "corner": [{ "x": 0.0, "y": 0.0 }, { "x": 3.0, "y": 4.0 }],
        "color": "BLUE", "visible": 1, "depth": -3, "layer": 200, "values": [0, -2, 0] });
    let tagged = |kind: i32, value: Value| json!({ "value": { "kind": kind, "value": value } });
    check(&[
        (
            "shape_describe",
            json!({ "value": shape }),
            Ok(json!({ "result": 30, "out": "a square it 1 4 5 1 -16 255 -3" })),
        ),
        ("shape_describe", json!({ "value": {} }), Ok(json!({ "result": 16, "out": " - 0 0 0 0 0 0 0" }))),
        ("shape_make", json!({}), Ok(json!({ "value": made }))),
        ("tagged_value", tagged(0, json!({ "whole": 7 })), Ok(json!({ "result": 7.0 }))),
        ("tagged_value", tagged(1, json!({ "real": 0.5 })), Ok(json!({ "result": 0.5 }))),
        ("tagged_value", tagged(2, json!({ "pair": { "a": 2, "b": 3 } })), Ok(json!({ "result": 2003.0 }))),
        ("tagged_value", tagged(0, json!({ "whole": 7, "real": 0.5 })), Err("value")),
        ("shape_describe", json!({ "value": { "depth": 16 } }), Err("depth")),
        ("shape_describe", json!({ "value": { "name": "more than twelve" } }), Err("name")),
        ("shape_describe", json!({ "value": { "colour": "RED" } }), Err("colour")),
        (
            "picture_sum",
            json!({ "value": { "width": 2, "height": 2, "data": [1, 2, 3, 250] } }),
            Ok(json!({ "result": 256 })),
        ),
        (
            "picture_static",
            json!({ "width": 2, "height": 3 }),
            Ok(json!({ "result": { "width": 2, "height": 3, "data": "AAECAwQF" } })),
        ),
    ])
    .await;
}

#[tokio::test]
async fn callbacks_collect_compare_and_stay_with_their_object() {
    let items = json!([
        { "number": 0, "half": 0.0, "text": "number 0" },
        { "number": 1, "half": 0.5, "text": "number 1" },
    ]);
    let most = json!([{ "arg0": 1, "arg1": 2.5, "arg2": 3, "arg3": 4.5, "arg4": 5, "arg5": 6, "arg6": 7, "arg7": 8,
        "arg8": 9, "arg9": "ten" }]);
    check(&[
        ("each_number", json!({ "count": 2 }), Ok(json!({ "result": 0, "each": items }))),
        (
            "each_bytes",
            json!({ "text": "halves" }),
            Ok(json!({ "result": 0, "sink": [{ "data": "hal" }, { "data": "ves" }] })),
        ),
        ("sort_ints", json!({ "values": [3, -1, 2] }), Ok(json!({ "values": [-1, 2, 3] }))),
        ("most_arguments", json!({}), Ok(json!({ "result": 0.5, "call": most }))),
    ])
    .await;
    let libraries = Libraries::new();
    libraries.add("It", &document(), &LIBRARY, Value::Null).await;
    let call = async |tool: &str, arguments: Value| {
        libraries.call(&format!("It.{tool}"), arguments).await.expect(tool)
    };
    let it = call("emitter_new", json!({})).await["result"].clone();
    let other = call("emitter_new", json!({})).await["result"].clone();
    for object in [&it, &other] {
        call("emitter_listen", json!({ "it": object })).await;
    }
    call("emitter_emit", json!({ "it": it, "number": 1, "text": "one" })).await;
    call("emitter_emit", json!({ "it": other, "number": 2, "text": null })).await;
    let heard = call("emitter_collected", json!({ "emitter": it })).await;
    assert_eq!(heard, json!({ "items": [{ "callback": "heard", "number": 1, "text": "one" }] }));
    let nothing_new = call("emitter_collected", json!({ "emitter": it })).await;
    assert_eq!(nothing_new, json!({ "items": [] }));
    call("emitter_keep", json!({ "it": it, "text": "kept" })).await;
    call("emitter_emit", json!({ "it": it, "number": 3, "text": "something else to overwrite buffers" }))
        .await;
    assert_eq!(call("emitter_letter", json!({ "it": it, "at": 3 })).await, json!({ "result": 116 }));
    call("emitter_free", json!({ "it": it })).await;
    let heard = call("emitter_collected", json!({ "emitter": other })).await;
    assert_eq!(heard, json!({ "items": [{ "callback": "heard", "number": 2, "text": null }] }));
    let engine = call("the_engine", json!({})).await["value"].clone();
    assert_eq!(call("engine_number", json!({ "it": engine })).await, json!({ "result": 42 }));
    libraries.close().await;
}

#[tokio::test]
async fn lists_of_texts_and_variables_are_read() {
    check(&[
        ("texts_length", json!({ "texts": ["one", "", "three"] }), Ok(json!({ "result": 8 }))),
        ("texts_count", json!({ "texts": ["a", null, "b"] }), Ok(json!({ "result": 103 }))),
        ("texts_split", json!({ "text": "any" }), Ok(json!({ "result": ["one", "two"], "count": 2 }))),
        (
            "texts_words",
            json!({ "text": "any" }),
            Ok(json!({ "result": 3, "words": ["one", "two", "three"] })),
        ),
        ("fixture_number", json!({}), Ok(json!({ "value": -7 }))),
        ("fixture_text", json!({}), Ok(json!({ "value": "a variable" }))),
        ("fixture_point", json!({}), Ok(json!({ "value": { "x": 1.5, "y": -2.5 } }))),
        ("text_span", json!({ "text": "five!" }), Ok(json!({ "result": 5 }))),
    ])
    .await;
}
