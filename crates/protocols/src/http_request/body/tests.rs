//! Whatever a form or a multipart body holds, a server reads it back. Forms are read by the parser of the `url` crate,
//! multipart bodies by one that splits at the boundary as RFC 2046 says.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;

fn prepared(media: BodyMedia, content_type: &'static str) -> PreparedBody {
    let source = BodySource::Remaining(Vec::new());
    PreparedBody::new(
        RequestBody { source, media, content_type: HeaderValue::from_static(content_type) },
        &[],
    )
}

fn encoded(body: &PreparedBody, arguments: &Value) -> EncodedBody {
    let text = arguments.to_string();
    let arguments: &RawValue = serde_json::from_str(&text).unwrap();
    let encoding =
        async { body.encode(arguments, &ObjectMembers::of(arguments), &FileAccess::default()).await };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(encoding).unwrap().unwrap()
}

/// The fields that arguments make: each item of an array is one.
fn fields(arguments: &Map<String, Value>) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let each = |(name, value): (&String, &Value)| match value {
        Value::Array(items) => items.iter().map(|item| (name.clone(), text(item))).collect(),
        other => vec![(name.clone(), text(other))],
    };
    arguments.iter().flat_map(each).collect()
}

/// Names and values of the parts.
fn parts(body: &EncodedBody) -> Vec<(String, String)> {
    let boundary = body.content_type.to_str().unwrap().split_once("boundary=").unwrap().1;
    let text = String::from_utf8(body.bytes.to_vec()).unwrap();
    let whole = text.strip_suffix(&format!("--{boundary}--\r\n")).unwrap();
    let delimiter = format!("--{boundary}\r\n");
    let read = |part: &str| {
        let (head, value) = part.split_once("\r\n\r\n").unwrap();
        let (_, name) = head.lines().next().unwrap().split_once("name=\"").unwrap();
        let (name, _) = name.split_once('"').unwrap();
        let name = name.replace("%22", "\"").replace("%0D", "\r").replace("%0A", "\n").replace("%00", "\0");
        (name, value.strip_suffix("\r\n").unwrap().to_owned())
    };
    whole.split(&delimiter).skip(1).map(read).collect()
}

fn arguments() -> impl Strategy<Value = Map<String, Value>> {
    let value = prop_oneof![
        any::<String>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        prop::collection::vec("[ -~]{0,8}", 0..4).prop_map(Value::from),
        "[a-z&= \"]{0,4}".prop_map(|text| json!({ "deep": [text] })),
    ];
    // A name with what stands for an escape would be read as that.
    let name = any::<String>().prop_map(|name| name.replace('%', "_"));
    prop::collection::btree_map(name, value, 0..5).prop_map(|members| members.into_iter().collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_server_reads_the_fields_that_were_sent(arguments in arguments()) {
        let form = prepared(BodyMedia::Form(Vec::new()), "application/x-www-form-urlencoded");
        let sent = encoded(&form, &Value::Object(arguments.clone()));
        let read: Vec<(String, String)> = url::form_urlencoded::parse(&sent.bytes).into_owned().collect();
        prop_assert_eq!(read, fields(&arguments));
        let multipart = prepared(BodyMedia::Multipart(Vec::new()), "multipart/form-data");
        let sent = encoded(&multipart, &Value::Object(arguments.clone()));
        prop_assert_eq!(parts(&sent), fields(&arguments));
    }
}
