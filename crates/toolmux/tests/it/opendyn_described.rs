//! The documents of `examples/opendyn` that `describe` made and nobody touched, against the libraries that are there.

use serde_json::{Value, json};

use crate::opendyn_fixture::Libraries;

const GALLERY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/opendyn");

/// A library with its document; nothing where the library is not installed.
async fn library(document: &str, file: &str) -> Option<Libraries> {
    let text = std::fs::read_to_string(format!("{GALLERY}/{document}.opendyn.json")).expect("it is there");
    assert_eq!(toolmux_protocols::opendyn::check(&text), [], "{document} has no fault");
    let document: Value = serde_json::from_str(&text).expect("JSON");
    let libraries = Libraries::new();
    libraries.add("It", &document, file.as_ref(), Value::Null).await;
    if libraries.names().is_empty() {
        eprintln!("`{file}` is not installed");
        libraries.close().await;
        return None;
    }
    assert_eq!(libraries.unserved(), [] as [String; 0]);
    Some(libraries)
}

/// Calls, and the member of each result that is kept for `$` in the next.
async fn play(document: &str, file: &str, steps: &[(&str, &str, &str)]) -> Option<Value> {
    let libraries = library(document, file).await?;
    let mut last = Value::Null;
    let mut first = Value::Null;
    for (tool, arguments, member) in steps {
        let filled = arguments.replace("\"$first\"", &first.to_string()).replace("\"$\"", &last.to_string());
        let arguments: Value = serde_json::from_str(&filled).expect("JSON");
        let answer = libraries.call(&format!("It.{tool}"), arguments).await;
        let answer = answer.unwrap_or_else(|words| panic!("{document} {tool}: {words}"));
        last = answer[*member].clone();
        if first.is_null() {
            first = last.clone();
        }
    }
    libraries.close().await;
    Some(last)
}

/// Plays a story whose last result must be this, where the library is installed.
async fn check(document: &str, file: &str, steps: &[(&str, &str, &str)], expect: Value) {
    if let Some(result) = play(document, file, steps).await {
        assert_eq!(result, expect, "{document}");
    }
}

#[tokio::test]
async fn compressors_give_back_what_they_took() {
    let text = json!("hello hello hello hello");
    let source = r#"{"src":"hello hello hello hello","compressionLevel":3}"#;
    let steps = [("ZSTD_compress", source, "dst"), ("ZSTD_decompress", r#"{"src":"$"}"#, "dst")];
    check("zstd", "libzstd.so.1", &steps, text.clone()).await;
    let source = r#"{"src":"hello hello hello hello"}"#;
    let steps = [("LZ4_compress_default", source, "dst"), ("LZ4_decompress_safe", r#"{"src":"$"}"#, "dst")];
    check("lz4", "liblz4.so.1", &steps, text.clone()).await;
    let source = r#"{"source":"hello hello hello hello","blockSize100k":9,"verbosity":0,"workFactor":0}"#;
    let back = r#"{"source":"$","small":0,"verbosity":0}"#;
    let steps = [("BZ2_bzBuffToBuffCompress", source, "dest"), ("BZ2_bzBuffToBuffDecompress", back, "dest")];
    check("bzip2", "libbz2.so.1.0", &steps, text).await;
}

#[tokio::test]
async fn bytes_of_a_fixed_size_cross_in_hexadecimal() {
    let name = r#"{"ns":"00000000000000000000000000000000","name":"abc"}"#;
    let steps = [("uuid_generate_sha1", name, "out"), ("uuid_unparse", r#"{"uu":"$"}"#, "out")];
    check("uuid", "libuuid.so.1", &steps, json!("b01d8779-68c6-576d-bef4-26488c9c9223")).await;
    let key = format!(r#""n":"{}","k":"{}""#, "00".repeat(24), "00".repeat(32));
    let (seal, open) = (format!(r#"{{"m":"secret",{key}}}"#), format!(r#"{{"c":"$",{key}}}"#));
    let steps = [("crypto_secretbox_easy", &*seal, "c"), ("crypto_secretbox_open_easy", &*open, "m")];
    check("sodium", "libsodium.so.23", &steps, json!("secret")).await;
}

#[tokio::test]
async fn objects_are_made_used_and_printed() {
    let source = r##"{"buffer":"# Hi","options":"CMARK_OPT_DEFAULT"}"##;
    let render = r#"{"root":"$","options":0}"#;
    let steps = [("cmark_parse_document", source, "result"), ("cmark_render_html", render, "result")];
    check("cmark", "libcmark.so.0.30.2", &steps, json!("<h1>Hi</h1>\n")).await;
    let source = r#"{"input":"{\"a\": [1, 2]}","flags":0}"#;
    let print = r#"{"json":"$","flags":["JSON_COMPACT"]}"#;
    let steps = [("json_loads", source, "result"), ("json_dumps", print, "result")];
    check("jansson", "libjansson.so.4", &steps, json!(r#"{"a":[1,2]}"#)).await;
    let shape = r#"{"handle":"$first","reader":"$","wkt":"POLYGON((0 0,0 2,2 2,2 0,0 0))"}"#;
    let steps = [
        ("GEOS_init_r", "{}", "result"),
        ("GEOSWKTReader_create_r", r#"{"handle":"$first"}"#, "result"),
        ("GEOSWKTReader_read_r", shape, "result"),
        ("GEOSArea_r", r#"{"handle":"$first","g":"$"}"#, "area"),
    ];
    check("geos", "libgeos_c.so.1", &steps, json!(4.0)).await;
    check("magic", "libmagic.so.1", &[("magic_version", "{}", "none")], Value::Null).await;
}
