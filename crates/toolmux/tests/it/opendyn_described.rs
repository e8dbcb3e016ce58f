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

#[tokio::test]
async fn what_describe_made_of_real_headers_works() {
    let packed = "hello hello hello hello";
    let sodium_key = format!(r#""n":"{}","k":"{}""#, "00".repeat(24), "00".repeat(32));
    let seal = format!(r#"{{"m":"secret",{sodium_key}}}"#);
    let open = format!(r#"{{"c":"$",{sodium_key}}}"#);
    let name_id = r#"{"ns":"00000000000000000000000000000000","name":"abc"}"#;
    let shape = r#"{"handle":"$first","reader":"$","wkt":"POLYGON((0 0,0 2,2 2,2 0,0 0))"}"#;
    let compress = |level: &str| format!(r#"{{"src":"{packed}"{level}}}"#);
    let (zstd, lz4) = (compress(r#","compressionLevel":3"#), compress(""));
    let bzip2 = format!(r#"{{"source":"{packed}","blockSize100k":9,"verbosity":0,"workFactor":0}}"#);
    for (document, file, steps, expect) in [
        (
            "zstd",
            "libzstd.so.1",
            &[("ZSTD_compress", &*zstd, "dst"), ("ZSTD_decompress", r#"{"src":"$"}"#, "dst")][..],
            json!(packed),
        ),
        (
            "lz4",
            "liblz4.so.1",
            &[("LZ4_compress_default", &*lz4, "dst"), ("LZ4_decompress_safe", r#"{"src":"$"}"#, "dst")],
            json!(packed),
        ),
        (
            "bzip2",
            "libbz2.so.1.0",
            &[
                ("BZ2_bzBuffToBuffCompress", &*bzip2, "dest"),
                ("BZ2_bzBuffToBuffDecompress", r#"{"source":"$","small":0,"verbosity":0}"#, "dest"),
            ],
            json!(packed),
        ),
        (
            "uuid",
            "libuuid.so.1",
            &[("uuid_generate_sha1", name_id, "out"), ("uuid_unparse", r#"{"uu":"$"}"#, "out")],
            json!("b01d8779-68c6-576d-bef4-26488c9c9223"),
        ),
        (
            "cmark",
            "libcmark.so.0.30.2",
            &[
                ("cmark_parse_document", r##"{"buffer":"# Hi","options":"CMARK_OPT_DEFAULT"}"##, "result"),
                ("cmark_render_html", r#"{"root":"$","options":0}"#, "result"),
            ],
            json!("<h1>Hi</h1>\n"),
        ),
        (
            "jansson",
            "libjansson.so.4",
            &[
                ("json_loads", r#"{"input":"{\"a\": [1, 2]}","flags":0}"#, "result"),
                ("json_dumps", r#"{"json":"$","flags":["JSON_COMPACT"]}"#, "result"),
            ],
            json!(r#"{"a":[1,2]}"#),
        ),
        (
            "geos",
            "libgeos_c.so.1",
            &[
                ("GEOS_init_r", "{}", "result"),
                ("GEOSWKTReader_create_r", r#"{"handle":"$first"}"#, "result"),
                ("GEOSWKTReader_read_r", shape, "result"),
                ("GEOSArea_r", r#"{"handle":"$first","g":"$"}"#, "area"),
            ],
            json!(4.0),
        ),
        (
            "sodium",
            "libsodium.so.23",
            &[("crypto_secretbox_easy", &*seal, "c"), ("crypto_secretbox_open_easy", &*open, "m")],
            json!("secret"),
        ),
        ("magic", "libmagic.so.1", &[("magic_version", "{}", "none")], Value::Null),
    ] {
        if let Some(result) = play(document, file, steps).await {
            assert_eq!(result, expect, "{document}");
        }
    }
}
