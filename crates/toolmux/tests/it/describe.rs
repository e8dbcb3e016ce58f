//! Documents from real headers, checked, loaded and called.

use serde_json::{Value, json};

use crate::opendyn_fixture::Libraries;
use crate::process::{stderr, stdout, toolmux};

/// Describes a header; the document, and how many functions are ready, undecided, impossible, missing.
fn describe(header: &str, library: &str, more: &[&str]) -> (Value, Vec<usize>, String) {
    let folder = tempfile::tempdir().expect("it is there");
    let header = format!("/usr/include/{header}");
    let arguments = [&["describe", &header, "--library", library, "--out", "it.json"], more].concat();
    let output = toolmux(folder.path(), &arguments);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(stdout(&output), "", "the document goes to the file");
    let checked = toolmux(folder.path(), &["check", "it.json"]);
    assert_eq!(stdout(&checked), "it.json: valid OpenDyn document\n");
    let document = std::fs::read_to_string(folder.path().join("it.json")).expect("it is there");
    let told = stderr(&output);
    let first = told.lines().next().expect("it is there");
    let number = |part: &str| part.split_whitespace().find_map(|word| word.parse().ok());
    let counts = first.split(',').map(|part| number(part).expect("it is there")).collect();
    (serde_json::from_str(&document).expect("it is there"), counts, told)
}

/// At least so many ready functions, and this sum of all.
#[track_caller]
fn check(header: &str, library: &str, ready: usize, all: std::ops::Range<usize>) -> (Value, String) {
    let (document, counts, told) = describe(header, library, &[]);
    assert!(counts[0] >= ready, "{counts:?}");
    assert!(all.contains(&counts.iter().sum()), "{counts:?}");
    assert_eq!(document["functions"].as_array().expect("it is there").len(), counts[0]);
    (document, told)
}

fn named<'a>(document: &'a Value, name: &str) -> &'a Value {
    let functions = document["functions"].as_array().expect("it is there");
    functions.iter().find(|function| function["name"] == name).expect("it is there")
}

#[tokio::test]
async fn zlib_is_described_and_called() {
    let (document, told) = check("zlib.h", "libz.so.1", 60, 75..110);
    assert!(!told.contains("gzprintf"), "{told}");
    let review = &named(&document, "crc32")["review"];
    assert_eq!(*review, json!(["`len` is taken for the length of `buf`"]));
    let libraries = Libraries::new();
    libraries.add("Zip", &document, "libz.so.1".as_ref(), Value::Null).await;
    let crc = libraries.call("Zip.crc32", json!({ "crc": 0, "buf": "hello" })).await;
    assert_eq!(crc, Ok(json!({ "result": 907_060_870 })));
    let packed =
        libraries.call("Zip.compress", json!({ "source": "hello hello" })).await.expect("compressed");
    assert_eq!(packed["code"], "Z_OK");
    let unpacked =
        libraries.call("Zip.uncompress", json!({ "source": packed["dest"] })).await.expect("unpacked");
    assert_eq!(unpacked["dest"], "hello hello");
    libraries.close().await;
}

#[tokio::test]
async fn sqlite_is_described_with_its_objects() {
    let (document, told) = check("sqlite3.h", "libsqlite3.so.0", 150, 270..340);
    assert!(told.contains("sqlite3_create_function: decide: `xFunc` is a function"), "{told}");
    let close = named(&document, "sqlite3_close");
    assert_eq!(close["parameters"][0]["schema"]["cType"]["closes"], true);
    let libraries = Libraries::new();
    libraries.add("Db", &document, "libsqlite3.so.0".as_ref(), Value::Null).await;
    let opened =
        libraries.call("Db.sqlite3_open", json!({ "filename": ":memory:" })).await.expect("it is there");
    assert_eq!(opened["result"], 0);
    let db = &opened["ppDb"];
    let exec = |sql: &str| libraries.call("Db.sqlite3_exec", json!({ "sqlite3": db, "sql": sql }));
    assert_eq!(
        exec("create table t(a, b); insert into t values('x', null)").await.expect("made")["result"],
        0
    );
    assert_eq!(exec("select * from t").await.expect("selected")["rows"], json!([{ "a": "x", "b": null }]));
    let failed = exec("selec 1").await.expect_err("it is not SQL");
    let reason = "near \"selec\": syntax error";
    assert!(failed.starts_with(&format!("`sqlite3_exec` returned 1: SQLITE_ERROR; {reason}")), "{failed}");
    assert_eq!(named(&document, "sqlite3_step")["return"]["success"], "==0|27|28|100|101");
    assert_eq!(named(&document, "sqlite3_keyword_count")["return"].get("success"), None);
    let unmade = libraries.call("Db.sqlite3_prepare_v2", json!({ "db": db, "zSql": "select absent" })).await;
    let unmade = unmade.expect_err("there is no such column");
    assert!(unmade.contains("SQLITE_ERROR; no such column: absent"), "{unmade}");
    let prepare = json!({ "db": db, "zSql": "select a from t" });
    let prepared = libraries.call("Db.sqlite3_prepare_v2", prepare).await.expect("prepared");
    let statement = json!({ "sqlite3_stmt": prepared["ppStmt"] });
    let row = libraries.call("Db.sqlite3_step", statement).await.expect("stepped");
    assert_eq!(row, json!({ "result": 100, "code": "SQLITE_ROW" }));
    let column = json!({ "sqlite3_stmt": prepared["ppStmt"], "iCol": 0 });
    assert_eq!(libraries.call("Db.sqlite3_column_text", column).await, Ok(json!({ "result": "x" })));
    libraries.call("Db.sqlite3_finalize", json!({ "pStmt": prepared["ppStmt"] })).await.expect("finalized");
    let closed = libraries.call("Db.sqlite3_close", json!({ "sqlite3": db })).await;
    assert_eq!(closed, Ok(json!({ "result": 0, "code": "SQLITE_OK" })));
    libraries.close().await;
}

#[test]
fn the_parts_of_math_are_its_own() {
    let (document, _) = check("math.h", "libm.so.6", 130, 400..500);
    assert_eq!(named(&document, "pow")["parameters"].as_array().expect("it is there").len(), 2);
}

#[test]
fn comments_behind_and_patterns_are_chosen() {
    let (document, counts, _) =
        describe("zlib.h", "libz.so.1", &["--comments", "after", "--only", "adler32*", "--only", "crc32"]);
    assert!(counts[0] >= 3, "{counts:?}");
    let text = named(&document, "crc32")["description"].as_str().expect("it is there");
    assert!(text.starts_with("Update a running CRC-32 with the bytes buf[0..len-1]"), "{text}");
}

#[test]
fn a_header_or_library_that_is_not_there_is_told() {
    let folder = tempfile::tempdir().expect("it is there");
    let no_header = toolmux(folder.path(), &["describe", "nowhere.h", "--library", "libz.so.1"]);
    assert_eq!(no_header.status.code(), Some(2));
    assert!(stderr(&no_header).contains("cannot describe `nowhere.h`"), "{}", stderr(&no_header));
    let no_library =
        toolmux(folder.path(), &["describe", "/usr/include/zlib.h", "--library", "libnowhere.so"]);
    assert_eq!(no_library.status.code(), Some(2));
    assert!(stderr(&no_library).contains("hint: name the file"), "{}", stderr(&no_library));
}

#[test]
fn a_document_that_was_changed_by_hand_is_not_replaced_unasked() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("some.h"), "double cos(double x);\n").expect("written");
    let describe = |more: &[&str]| {
        let words = ["describe", "some.h", "--library", "libm.so.6", "--out", "it.json"];
        toolmux(folder.path(), &[&words, more].concat())
    };
    let text = || std::fs::read_to_string(folder.path().join("it.json")).expect("it is there");
    assert!(describe(&[]).status.success());
    let made = text();
    assert!(describe(&[]).status.success(), "the same again is no change");
    std::fs::write(folder.path().join("it.json"), "mine").expect("written");
    let refused = describe(&[]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("hint: --force replaces it"), "{}", stderr(&refused));
    assert_eq!(text(), "mine");
    assert!(describe(&["--force"]).status.success());
    assert_eq!(text(), made);
}
