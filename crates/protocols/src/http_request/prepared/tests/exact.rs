//! Every style, exploded or not, of an empty text, a text, an array and an object: the table of OpenAPI 3.1, which is that
//! of RFC 6570.

use serde_json::{Value, json};

use super::{parameter, sent};
use crate::http_request::operation::{OperationParameter, ParameterPlace, ParameterStyle};

/// What stands for the parameter: its part of the path, the query, the header or the cookie; `-` for nothing.
fn written(place: ParameterPlace, style: ParameterStyle, explode: bool, value: &Value) -> String {
    let sent = match sent(OperationParameter { style, explode, ..parameter(place) }, value) {
        Ok(sent) => sent,
        Err(what) => return format!("! {what}"),
    };
    let nothing = || "-".to_owned();
    match place {
        ParameterPlace::Path => {
            sent.address.strip_prefix("/a/").unwrap().strip_suffix("/b").unwrap().to_owned()
        }
        ParameterPlace::Query => sent.address.strip_prefix("/a?").map_or_else(nothing, str::to_owned),
        ParameterPlace::Header | ParameterPlace::Cookie => sent.header.unwrap_or_else(nothing),
    }
}

fn check(place: ParameterPlace, style: ParameterStyle, rows: [[&str; 4]; 2]) {
    let values = [
        json!(""),
        json!("blue"),
        json!(["blue", "black", "brown"]),
        json!({ "R": 100, "G": 200, "B": 150 }),
    ];
    for (explode, row) in [false, true].into_iter().zip(rows) {
        for (value, expect) in values.iter().zip(row) {
            let written = written(place, style, explode, value);
            if let Some(expect) = expect.strip_prefix('!') {
                assert!(
                    written.starts_with('!') && written.contains(expect),
                    "{style:?} {explode} {value}: {written}"
                );
            } else {
                assert_eq!(written, expect, "{place:?} {style:?}, explode {explode}, {value}");
            }
        }
    }
}

#[test]
fn of_a_path() {
    use ParameterPlace::Path;
    let empty = "!must be there and must not be empty";
    check(
        Path,
        ParameterStyle::Simple,
        [
            [empty, "blue", "blue,black,brown", "R,100,G,200,B,150"],
            [empty, "blue", "blue,black,brown", "R=100,G=200,B=150"],
        ],
    );
    check(
        Path,
        ParameterStyle::Label,
        [
            ["!the path segment `.`", ".blue", ".blue,black,brown", ".R,100,G,200,B,150"],
            ["!the path segment `.`", ".blue", ".blue.black.brown", ".R=100.G=200.B=150"],
        ],
    );
    check(
        Path,
        ParameterStyle::Matrix,
        [
            [";p", ";p=blue", ";p=blue,black,brown", ";p=R,100,G,200,B,150"],
            [";p", ";p=blue", ";p=blue;p=black;p=brown", ";R=100;G=200;B=150"],
        ],
    );
    let json = ["%22%22", "%22blue%22", "%5B%22blue%22%2C%22black%22%2C%22brown%22%5D"];
    let object = "%7B%22R%22%3A100%2C%22G%22%3A200%2C%22B%22%3A150%7D";
    check(Path, ParameterStyle::Json, [[json[0], json[1], json[2], object]; 2]);
}

#[test]
fn of_a_query() {
    use ParameterPlace::Query;
    check(
        Query,
        ParameterStyle::Form,
        [
            ["p=", "p=blue", "p=blue,black,brown", "p=R,100,G,200,B,150"],
            ["p=", "p=blue", "p=blue&p=black&p=brown", "R=100&G=200&B=150"],
        ],
    );
    let exploded = ["p=", "p=blue", "p=blue&p=black&p=brown", "R=100&G=200&B=150"];
    for (style, list, object) in [
        (ParameterStyle::SpaceDelimited, "p=blue%20black%20brown", "p=R%20100%20G%20200%20B%20150"),
        (ParameterStyle::PipeDelimited, "p=blue%7Cblack%7Cbrown", "p=R%7C100%7CG%7C200%7CB%7C150"),
        (ParameterStyle::TabDelimited, "p=blue%09black%09brown", "p=R%09100%09G%09200%09B%09150"),
    ] {
        check(Query, style, [["p=", "p=blue", list, object], exploded]);
    }
    let deep = "p%5BR%5D=100&p%5BG%5D=200&p%5BB%5D=150";
    check(
        Query,
        ParameterStyle::DeepObject,
        [["p=", "p=blue", "p=blue,black,brown", deep], ["p=", "p=blue", "p=blue&p=black&p=brown", deep]],
    );
    let json = ["p=%22%22", "p=%22blue%22", "p=%5B%22blue%22%2C%22black%22%2C%22brown%22%5D"];
    let object = "p=%7B%22R%22%3A100%2C%22G%22%3A200%2C%22B%22%3A150%7D";
    check(Query, ParameterStyle::Json, [[json[0], json[1], json[2], object]; 2]);
}

#[test]
fn of_a_header_and_a_cookie() {
    use ParameterPlace::{Cookie, Header};
    check(
        Header,
        ParameterStyle::Simple,
        [
            ["", "blue", "blue,black,brown", "R,100,G,200,B,150"],
            ["", "blue", "blue,black,brown", "R=100,G=200,B=150"],
        ],
    );
    let json = ["\"\"", "\"blue\"", r#"["blue","black","brown"]"#, r#"{"R":100,"G":200,"B":150}"#];
    check(Header, ParameterStyle::Json, [json; 2]);
    check(
        Header,
        ParameterStyle::PipeDelimited,
        [
            ["", "blue", "blue|black|brown", "R|100|G|200|B|150"],
            ["", "blue", "blue,black,brown", "R=100,G=200,B=150"],
        ],
    );
    check(
        Cookie,
        ParameterStyle::Form,
        [
            ["p=", "p=blue", "p=blue,black,brown", "p=R,100,G,200,B,150"],
            ["p=", "p=blue", "p=blue; p=black; p=brown", "R=100; G=200; B=150"],
        ],
    );
}

#[test]
fn what_counts_as_absent_is_not_sent() {
    for value in [json!(null), json!([]), json!({}), json!([null]), json!({ "a": null })] {
        for style in [ParameterStyle::Form, ParameterStyle::PipeDelimited, ParameterStyle::DeepObject] {
            for explode in [true, false] {
                assert_eq!(written(ParameterPlace::Query, style, explode, &value), "-", "{value} {style:?}");
            }
        }
        assert_eq!(written(ParameterPlace::Header, ParameterStyle::Simple, false, &value), "-", "{value}");
        let path = written(ParameterPlace::Path, ParameterStyle::Matrix, true, &value);
        assert!(path.contains("must be there"), "{value}: {path}");
    }
}

#[test]
fn what_a_style_cannot_say_is_json_and_deep_objects_nest() {
    let nested = json!({ "a": { "b": 1, "c": ["x", "y"] }, "d": null, "e": [{ "f": 1 }] });
    let written = |style, explode, value: &Value| written(ParameterPlace::Query, style, explode, value);
    assert_eq!(
        written(ParameterStyle::DeepObject, true, &nested),
        "p%5Ba%5D%5Bb%5D=1&p%5Ba%5D%5Bc%5D=x&p%5Ba%5D%5Bc%5D=y&p%5Be%5D=%7B%22f%22%3A1%7D"
    );
    assert_eq!(written(ParameterStyle::Form, true, &json!([[1, 2]])), "p=%5B1%2C2%5D");
    assert_eq!(written(ParameterStyle::Form, false, &json!({ "a": { "b": 1 } })), "p=a,%7B%22b%22%3A1%7D");
}

#[test]
fn reserved_characters_stay_where_they_mean_nothing() {
    let all = json!(":/?#[]@!$&'()*+,;= %2F");
    let reserved =
        |explode| OperationParameter { allow_reserved: true, explode, ..parameter(ParameterPlace::Query) };
    let address = |parameter, value: &Value| sent(parameter, value).unwrap().address;
    assert_eq!(address(reserved(true), &all), "/a?p=:/?%23%5B%5D@!$%26'()*%2B,;%3D%20%252F");
    assert_eq!(address(reserved(false), &json!(["a,b", "c"])), "/a?p=a%2Cb,c");
    assert_eq!(
        address(parameter(ParameterPlace::Query), &all),
        "/a?p=%3A%2F%3F%23%5B%5D%40%21%24%26%27%28%29%2A%2B%2C%3B%3D%20%252F"
    );
}
