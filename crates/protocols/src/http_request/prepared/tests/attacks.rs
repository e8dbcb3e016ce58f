//! What arguments may try: to leave their path segment, to add headers, cookies or queries, to choose the host.

use serde_json::{Value, json};

use super::{Sent, operation, parameter, sent};
use crate::http_request::operation::{OperationParameter, ParameterPlace, ParameterStyle, PathPiece};
use crate::http_request::prepared::PreparedOperation;
use toolmux_http::client::{HttpClient, HttpLimits};

/// What is sent is this, or the argument is refused with these words.
fn check(place: ParameterPlace, value: Value, expect: Result<&str, &str>) {
    let sent = sent(parameter(place), &value);
    match (&sent, expect) {
        (Ok(Sent { address, .. }), Ok(expect))
            if matches!(place, ParameterPlace::Path | ParameterPlace::Query) =>
        {
            assert_eq!(address, expect, "{value}");
        }
        (Ok(Sent { header, .. }), Ok(expect)) => assert_eq!(header.as_deref(), Some(expect), "{value}"),
        (Err(what), Err(expect)) => assert!(what.contains(expect), "{value}: {what}"),
        _ => panic!("{value}: {sent:?} instead of {expect:?}"),
    }
}

#[test]
fn a_path_argument_cannot_leave_its_segment() {
    let dots = Err("be or make the path segment `.` or `..`");
    for value in [
        "..",
        ".",
        "../x",
        "x/..",
        "a/../b",
        "..\\x",
        "%2e%2e",
        "%2E.",
        ".%2e",
        "%252e%252e",
        "%25252e%25252e",
        "..%2fx",
        "..%5cx",
        "x%2f..",
        "..;a=b",
        "..;/x",
        "%2e%2e%3b",
        "./x",
        "x/.",
        "%2e",
    ] {
        check(ParameterPlace::Path, json!(value), dots);
        check(ParameterPlace::Path, json!([value]), dots);
        check(ParameterPlace::Path, json!({ value: "x" }), dots);
    }
    for value in ["a\r\nb", "a\0", "\u{7f}", "a\tb"] {
        check(ParameterPlace::Path, json!(value), Err("control characters"));
    }
    check(ParameterPlace::Path, json!(""), Err("must not be empty"));
    check(ParameterPlace::Path, json!(null), Err("must be there"));
    check(ParameterPlace::Path, json!(format!("%{}41", "25".repeat(20))), Err("again and again"));
    check(ParameterPlace::Path, json!("a/b"), Ok("/a/a%2Fb/b"));
    check(ParameterPlace::Path, json!("a%2fb"), Ok("/a/a%252fb/b"));
    check(ParameterPlace::Path, json!("a?b#c;d=e&f"), Ok("/a/a%3Fb%23c%3Bd%3De%26f/b"));
    check(ParameterPlace::Path, json!("//evil.example"), Ok("/a/%2F%2Fevil.example/b"));
    check(ParameterPlace::Path, json!("@evil.example:80"), Ok("/a/%40evil.example%3A80/b"));
    check(ParameterPlace::Path, json!("v1.2...3"), Ok("/a/v1.2...3/b"));
    check(ParameterPlace::Path, json!("..."), Ok("/a/.../b"));
    check(ParameterPlace::Path, json!("é 100%"), Ok("/a/%C3%A9%20100%25/b"));
    check(ParameterPlace::Path, json!("a\\b"), Ok("/a/a%5Cb/b"));
}

#[test]
fn a_query_argument_adds_nothing_but_itself() {
    for (value, expect) in [
        ("x&admin=1", "/a?p=x%26admin%3D1"),
        ("x#y", "/a?p=x%23y"),
        ("a b+c", "/a?p=a%20b%2Bc"),
        ("x\r\nHost: evil", "/a?p=x%0D%0AHost%3A%20evil"),
        ("\0", "/a?p=%00"),
        ("x%26admin=1", "/a?p=x%2526admin%3D1"),
    ] {
        check(ParameterPlace::Query, json!(value), Ok(expect));
        let reserved = OperationParameter { allow_reserved: true, ..parameter(ParameterPlace::Query) };
        let address = sent(reserved, &json!(value)).unwrap().address;
        assert!(address.is_ascii() && address.matches(['&', '#', ' ', '\r', '\n']).count() == 0, "{address}");
    }
    check(ParameterPlace::Query, json!({ "a&b=c": "d" }), Ok("/a?a%26b%3Dc=d"));
    let deep = OperationParameter { style: ParameterStyle::DeepObject, ..parameter(ParameterPlace::Query) };
    assert!(sent(deep, &json!({ "a][b": 1 })).unwrap_err().contains("`[` or `]`"));
    check(ParameterPlace::Query, json!("x".repeat(70_000)), Err("too long"));
}

#[test]
fn a_header_argument_cannot_end_its_line() {
    for value in ["a\r\nx: y", "a\nb", "a\rb", "a\0b", "é", "\u{2028}", "\u{7f}"] {
        check(ParameterPlace::Header, json!(value), Err("ASCII characters only"));
        check(ParameterPlace::Header, json!([value]), Err("ASCII characters only"));
        check(ParameterPlace::Header, json!({ "k": value }), Err("ASCII characters only"));
    }
    check(ParameterPlace::Header, json!({ "k\r\n": 1 }), Err("ASCII characters only"));
    check(ParameterPlace::Header, json!(" a"), Err("white space"));
    check(ParameterPlace::Header, json!(["a,b"]), Err("','"));
    check(ParameterPlace::Header, json!("a,b: c"), Ok("a,b: c"));
    let json = OperationParameter { style: ParameterStyle::Json, ..parameter(ParameterPlace::Header) };
    let header = sent(json, &json!({ "é\n": "\u{1f600}" })).unwrap().header;
    assert_eq!(header.as_deref(), Some(r#"{"\u00e9\n":"\ud83d\ude00"}"#));
}

#[test]
fn a_cookie_argument_is_one_cookie() {
    check(ParameterPlace::Cookie, json!("a; admin=1"), Ok("p=a%3B%20admin%3D1"));
    check(ParameterPlace::Cookie, json!("a\r\nx: y"), Ok("p=a%0D%0Ax%3A%20y"));
    check(ParameterPlace::Cookie, json!({ "a=b;c": "d" }), Ok("a%3Db%3Bc=d"));
}

fn refused(operation: crate::http_request::operation::Operation, expect: &str) {
    let what =
        PreparedOperation::new(operation, &HttpClient::new(HttpLimits::default())).err().unwrap_or_default();
    assert!(what.contains(expect), "{expect} is not in: {what}");
}

#[test]
fn what_no_argument_may_choose_is_refused_before_there_is_a_call() {
    for name in
        ["Host", "Content-Length", "Transfer-Encoding", "Connection", "Cookie", "Proxy-Authorization", "TE"]
    {
        let header = OperationParameter { name: name.to_owned(), ..parameter(ParameterPlace::Header) };
        refused(operation(header), "must not choose");
    }
    let name = OperationParameter { name: "x\r\ny".to_owned(), ..parameter(ParameterPlace::Header) };
    refused(operation(name), "does not have the name of a header");
    let mut up = operation(parameter(ParameterPlace::Query));
    up.path = vec![PathPiece::Literal("/a/../b".to_owned())];
    refused(up, "`.` or `..`");
}

#[test]
fn two_arguments_cannot_make_together_what_one_cannot() {
    let parameters = ["x", "y"].map(|name| OperationParameter::new(name, ParameterPlace::Path));
    let mut both = operation(parameter(ParameterPlace::Query));
    both.path = vec![PathPiece::Literal("/a/".into()), PathPiece::Parameter(0), PathPiece::Parameter(1)];
    both.parameters = parameters.into();
    let prepared = PreparedOperation::new(both, &HttpClient::new(HttpLimits::default())).unwrap();
    let address = |text: &str| {
        let arguments: &serde_json::value::RawValue = serde_json::from_str(text).unwrap();
        let address =
            prepared.address(&crate::http_request::argument_text::ObjectMembers::of(arguments), &[]);
        address.map(|address| String::from_utf8(address).unwrap()).map_err(|fault| fault.message.into_owned())
    };
    assert!(address(r#"{"x":".","y":"."}"#).is_err());
    assert!(address(r#"{"x":"%2e","y":"."}"#).is_err());
    assert!(address(r#"{"x":"%2","y":"e"}"#).is_err(), "it is `.` where it is decoded twice");
    assert!(address(r#"{"x":"a/%2","y":"e%2e"}"#).is_err());
    assert_eq!(address(r#"{"x":"a","y":"b"}"#).as_deref(), Ok("/a/ab"));
}
