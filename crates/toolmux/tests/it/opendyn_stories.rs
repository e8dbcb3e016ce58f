//! Documents of `examples/opendyn` that `describe` made, with callbacks, options, structures and memory that is kept: a
//! page is fetched, a document searched, groups of a match told, content stored, and a picture drawn.

use std::io::{Read, Write};
use std::net::TcpListener;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::opendyn_fixture::Libraries;

const GALLERY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/opendyn");

/// A library with its document; nothing where the library is not installed.
struct Story(Libraries);

impl Story {
    async fn of(document: &str, file: &str, settings: Value) -> Option<Self> {
        let text =
            std::fs::read_to_string(format!("{GALLERY}/{document}.opendyn.json")).expect("it is there");
        assert_eq!(toolmux_protocols::opendyn::check(&text), [], "{document} has no fault");
        let libraries = Libraries::new();
        let document = serde_json::from_str(&text).expect("JSON");
        libraries.add("It", &document, file.as_ref(), settings).await;
        if libraries.names().is_empty() {
            eprintln!("`{file}` is not installed");
            libraries.close().await;
            return None;
        }
        assert_eq!(libraries.unserved(), [] as [String; 0]);
        Some(Story(libraries))
    }

    async fn call(&self, tool: &str, arguments: Value) -> Value {
        let answer = self.0.call(&format!("It.{tool}"), arguments).await;
        answer.unwrap_or_else(|words| panic!("{tool}: {words}"))
    }
}

/// Answers one request with a page; gives its port.
fn page() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a request");
        let mut request = [0; 4096];
        let length = stream.read(&mut request).expect("a request");
        assert!(request[..length].starts_with(b"GET /page HTTP/1.1"));
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello").expect("it reads");
    });
    port
}

#[tokio::test]
async fn curl_fetches_a_page() {
    let Some(curl) = Story::of("curl", "libcurl.so.4", json!({ "sandbox": "off" })).await else { return };
    let url = format!("http://127.0.0.1:{}/page", page());
    let handle = curl.call("curl_easy_init", json!({})).await["result"].clone();
    let option = json!({ "curl": handle, "option": "CURLOPT_URL", "value": url });
    curl.call("curl_easy_setopt_text", option).await;
    let timeout = json!({ "curl": handle, "option": "CURLOPT_TIMEOUT_MS", "value": 5000 });
    curl.call("curl_easy_setopt_long", timeout).await;
    curl.call("curl_easy_setopt_write", json!({ "curl": handle })).await;
    let performed = curl.call("curl_easy_perform", json!({ "curl": handle })).await;
    assert_eq!(performed["code"], "CURLE_OK");
    let received = curl.call("CURL_collected", json!({ "CURL": handle })).await;
    assert_eq!(received["items"], json!([{ "callback": "received", "data": "hello" }]));
    let status = json!({ "curl": handle, "info": "CURLINFO_RESPONSE_CODE" });
    assert_eq!(curl.call("curl_easy_getinfo_long", status).await["value"], 200);
    let bad = json!({ "curl": handle, "option": "CURLOPT_URL", "value": "nonsense://x" });
    curl.call("curl_easy_setopt_text", bad).await;
    let failed =
        curl.0.call("It.curl_easy_perform", json!({ "curl": handle })).await.expect_err("no such protocol");
    assert!(failed.contains("CURLE_UNSUPPORTED_PROTOCOL"), "{failed}");
    curl.call("curl_easy_cleanup", json!({ "curl": handle })).await;
    curl.0.close().await;
}

#[tokio::test]
async fn libxml2_searches_a_document() {
    let Some(xml) = Story::of("xml2", "libxml2.so.2", Value::Null).await else { return };
    let text = "<list><item price='2'>tea</item><item price='3'>cake</item></list>";
    let read = json!({ "buffer": text, "URL": null, "encoding": null, "options": 0 });
    let document = xml.call("xmlReadMemory", read).await["result"].clone();
    let context = xml.call("xmlXPathNewContext", json!({ "doc": document })).await["result"].clone();
    let search = json!({ "str": "sum(//item/@price)", "ctxt": context });
    let found = xml.call("xmlXPathEvalExpression", search).await["result"].clone();
    let read = xml.call("xmlXPathObject_read", json!({ "xmlXPathObject": found })).await;
    assert_eq!(
        (&read["members"]["type"], &read["members"]["floatval"]),
        (&json!("XPATH_NUMBER"), &json!(5.0))
    );
    xml.call("xmlXPathFreeObject", json!({ "obj": found })).await;
    xml.call("xmlXPathFreeContext", json!({ "ctxt": context })).await;
    xml.call("xmlFreeDoc", json!({ "cur": document })).await;
    xml.0.close().await;
}

#[tokio::test]
async fn pcre2_tells_the_groups_of_a_match_after_other_calls() {
    let Some(pcre) = Story::of("pcre2", "libpcre2-8.so.0", Value::Null).await else { return };
    let pattern = json!({ "arg0": "(?<year>\\d{4})-(\\d\\d)", "arg2": 0, "pcre2_compile_context_8": null });
    let code = pcre.call("pcre2_compile_8", pattern).await["result"].clone();
    let wanted = json!({ "pcre2_code_8": code, "pcre2_general_context_8": null });
    let data = pcre.call("pcre2_match_data_create_from_pattern_8", wanted).await["result"].clone();
    let subject = json!({ "pcre2_code_8": code, "arg1": "on 2024-05-06", "arg3": 0, "arg4": 0,
        "pcre2_match_data_8": data, "pcre2_match_context_8": null });
    assert_eq!(pcre.call("pcre2_match_8", subject).await["result"], 3);
    // The library keeps a pointer to the subject: it must be there for as long as the match data is.
    let other = json!({ "arg0": "something else altogether", "arg2": 0, "pcre2_compile_context_8": null });
    pcre.call("pcre2_compile_8", other).await;
    let group = json!({ "pcre2_match_data_8": data, "arg1": "year" });
    assert_eq!(pcre.call("pcre2_substring_get_byname_8", group).await["arg2"], "2024");
    let group = json!({ "pcre2_match_data_8": data, "arg1": 2 });
    assert_eq!(pcre.call("pcre2_substring_get_bynumber_8", group).await["arg2"], "05");
    pcre.call("pcre2_match_data_free_8", json!({ "pcre2_match_data_8": data })).await;
    pcre.0.close().await;
}

#[tokio::test]
async fn libgit2_stores_content_and_says_why_not() {
    let Some(git) = Story::of("git2", "libgit2.so.1.5", json!({ "sandbox": "off" })).await else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_str().expect("a path");
    git.call("git_libgit2_init", json!({})).await;
    let made = git.call("git_repository_init", json!({ "path": path, "is_bare": 1 })).await;
    let repository = made["out"].clone();
    let content = json!({ "repo": repository, "buffer": "hello\n" });
    let id = git.call("git_blob_create_from_buffer", content).await["id"].clone();
    let name = git.call("git_oid_tostr_s", json!({ "oid": id })).await;
    assert_eq!(name["result"], "ce013625030ba8dba906f756967f9e9ca394464a");
    let blob = git.call("git_blob_lookup", json!({ "repo": repository, "id": id })).await["blob"].clone();
    assert_eq!(git.call("git_blob_rawsize", json!({ "blob": blob })).await["result"], 6);
    let refused = git.0.call("It.git_repository_open", json!({ "path": "/nowhere" })).await;
    let refused = refused.expect_err("there is no repository");
    assert!(refused.contains("failed to resolve path '/nowhere'"), "{refused}");
    git.0.close().await;
}

#[tokio::test]
async fn qrencode_draws_a_picture() {
    let Some(qr) = Story::of("qrencode", "libqrencode.so.4", Value::Null).await else { return };
    let text = json!({ "string": "https://example.com", "version": 0, "level": "QR_ECLEVEL_M", "hint": "QR_MODE_8",
        "casesensitive": 1 });
    let code = qr.call("QRcode_encodeString", text).await["result"].clone();
    let read = qr.call("QRcode_read", json!({ "QRcode": code })).await["members"].clone();
    qr.call("QRcode_free", json!({ "qrcode": code })).await;
    qr.0.close().await;
    let width = usize::try_from(read["width"].as_u64().expect("a number")).expect("small");
    let dots = STANDARD.decode(read["data"].as_str().expect("base64")).expect("base64");
    assert_eq!((dots.len(), width), (width * width, 25));
    // A portable bitmap: dark dots are the lowest bits.
    let rows =
        dots.chunks(width).map(|row| row.iter().map(|dot| if dot & 1 == 1 { '1' } else { '0' }).collect());
    let rows: Vec<String> = rows.collect();
    let picture = format!("P1\n{width} {width}\n{}\n", rows.join("\n"));
    // The mark in the corner that readers look for.
    let corner: Vec<&str> = picture.lines().skip(2).take(7).map(|row| &row[..7]).collect();
    assert_eq!(corner, ["1111111", "1000001", "1011101", "1011101", "1011101", "1000001", "1111111"]);
}
