//! The documents of `examples/opendyn` against the real libraries.

use serde_json::{Value, json};

use crate::opendyn_fixture::Libraries;

const GALLERY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/opendyn");

async fn library(document: &str, file: &str) -> Libraries {
    let text = std::fs::read_to_string(format!("{GALLERY}/{document}.opendyn.json")).expect("it is there");
    assert_eq!(toolmux_protocols::opendyn::check(&text), [], "{document} has no fault");
    let document: Value = serde_json::from_str(&text).expect("JSON");
    let libraries = Libraries::new();
    libraries.add("It", &document, file.as_ref(), Value::Null).await;
    assert_eq!(libraries.unserved(), [] as [String; 0]);
    assert_eq!(libraries.names().len(), document["functions"].as_array().expect("functions").len());
    libraries
}

async fn check(libraries: &Libraries, tool: &str, arguments: Value, expect: Value) {
    let answer = libraries.call(&format!("It.{tool}"), arguments).await;
    assert_eq!(answer, Ok(expect), "{tool}");
}

#[tokio::test]
async fn libm_computes() {
    let libm = library("libm", "libm.so.6").await;
    check(&libm, "pow", json!({ "x": 2, "y": 10 }), json!({ "result": 1024.0 })).await;
    check(&libm, "hypot", json!({ "x": 3, "y": 4 }), json!({ "result": 5.0 })).await;
    check(&libm, "sqrt", json!({ "x": -1 }), json!({ "result": "NaN" })).await;
    check(&libm, "log", json!({ "x": 0 }), json!({ "result": "-Infinity" })).await;
    check(&libm, "frexp", json!({ "x": 8 }), json!({ "fraction": 0.5, "exponent": 4 })).await;
    check(&libm, "modf", json!({ "x": -2.5 }), json!({ "fraction": -0.5, "whole": -2.0 })).await;
    libm.close().await;
}

#[tokio::test]
async fn zlib_compresses_and_gives_back() {
    let zlib = library("zlib", "libz.so.1").await;
    check(&zlib, "crc32", json!({ "data": "hello" }), json!({ "crc": 907_060_870 })).await;
    let text = "so much text ".repeat(500);
    let packed = zlib.call("It.compress", json!({ "data": text, "level": 9 })).await.expect("compressed");
    assert_eq!(packed["code"], "Z_OK");
    let length = packed["compressed"].as_str().expect("base64").len();
    assert!(length < text.len() / 10, "{length}");
    let unpacked = zlib.call("It.uncompress", json!({ "compressed": packed["compressed"] })).await;
    assert_eq!(unpacked, Ok(json!({ "status": 0, "code": "Z_OK", "data": text })));
    let broken = zlib.call("It.uncompress", json!({ "compressed": "AAAA" })).await.expect_err("no zlib data");
    assert_eq!(broken, "`uncompress` returned -3: Z_DATA_ERROR: the data is not what zlib wrote");
    zlib.close().await;
}

#[tokio::test]
async fn sqlite_goes_through_handles() {
    let sqlite = library("sqlite3", "libsqlite3.so.0").await;
    let opened = sqlite.call("It.open", json!({})).await.expect("opened");
    let db = &opened["db"];
    let done = |extra: Value| {
        let mut expect = json!({ "status": 0, "code": "SQLITE_OK" });
        expect.as_object_mut().expect("an object").extend(extra.as_object().cloned().unwrap_or_default());
        expect
    };
    let sql = "create table t(a text, b integer); insert into t values('eins', 1), ('zwei', 2)";
    check(&sqlite, "exec", json!({ "db": db, "sql": sql }), done(json!({ "error": null }))).await;
    let bad = sqlite.call("It.exec", json!({ "db": db, "sql": "select * from nowhere" })).await;
    assert_eq!(bad, Err("`exec` returned 1: SQLITE_ERROR; error: no such table: nowhere".to_owned()));
    check(&sqlite, "errmsg", json!({ "db": db }), json!({ "message": "no such table: nowhere" })).await;
    let sql = "select a, b from t where b >= ? order by b";
    let prepared = sqlite.call("It.prepare", json!({ "db": db, "sql": sql })).await.expect("prepared");
    let statement = &prepared["statement"];
    let at = |column: i32| json!({ "statement": statement, "column": column });
    check(
        &sqlite,
        "bind_int64",
        json!({ "statement": statement, "index": 1, "value": 2 }),
        done(Value::Null),
    )
    .await;
    let row = json!({ "status": 100, "code": "SQLITE_ROW: there is a row" });
    check(&sqlite, "step", json!({ "statement": statement }), row).await;
    check(&sqlite, "column_name", at(0), json!({ "name": "a" })).await;
    check(&sqlite, "column_text", at(0), json!({ "text": "zwei" })).await;
    check(&sqlite, "column_int64", at(1), json!({ "value": 2 })).await;
    let end = json!({ "status": 101, "code": "SQLITE_DONE: there are no more rows" });
    check(&sqlite, "step", json!({ "statement": statement }), end).await;
    check(&sqlite, "finalize", json!({ "statement": statement }), done(Value::Null)).await;
    let gone = sqlite.call("It.step", json!({ "statement": statement })).await.expect_err("finalized");
    assert!(gone.contains("is not open"), "{gone}");
    check(&sqlite, "close", json!({ "db": db }), done(Value::Null)).await;
    sqlite.close().await;
}

#[tokio::test]
async fn libcrypto_digests() {
    let crypto = library("libcrypto", "libcrypto.so.3").await;
    let digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    check(&crypto, "SHA256", json!({ "data": "abc" }), json!({ "digest": digest })).await;
    let empty = "da39a3ee5e6b4b0d3255bfef95601890afd80709";
    check(&crypto, "SHA1", json!({ "data": "" }), json!({ "digest": empty })).await;
    let random = crypto.call("It.RAND_bytes", json!({ "count": 16 })).await.expect("random bytes");
    assert_eq!(random["bytes"].as_str().map(str::len), Some(32));
    crypto.close().await;
}
