//! Whatever arguments are sent, a server reads them back: for every place, style and shape. The reader here is written from
//! the specifications and shares nothing with the writer.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{parameter, sent};
use crate::http_request::operation::{OperationParameter, ParameterPlace, ParameterStyle};

const STYLES: &[(ParameterPlace, ParameterStyle)] = &[
    (ParameterPlace::Path, ParameterStyle::Simple),
    (ParameterPlace::Path, ParameterStyle::Label),
    (ParameterPlace::Path, ParameterStyle::Matrix),
    (ParameterPlace::Path, ParameterStyle::Json),
    (ParameterPlace::Query, ParameterStyle::Form),
    (ParameterPlace::Query, ParameterStyle::SpaceDelimited),
    (ParameterPlace::Query, ParameterStyle::PipeDelimited),
    (ParameterPlace::Query, ParameterStyle::TabDelimited),
    (ParameterPlace::Query, ParameterStyle::DeepObject),
    (ParameterPlace::Query, ParameterStyle::Json),
    (ParameterPlace::Header, ParameterStyle::Simple),
    (ParameterPlace::Header, ParameterStyle::Json),
    (ParameterPlace::Cookie, ParameterStyle::Form),
];

/// The shape that the schema of the parameter gives it, by which its reader goes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Text,
    List,
    Object,
}

/// One level of percent-encoding.
fn decode(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        (bytes, rest) = match (first, after) {
            (b'%', [high, low, after @ ..]) => {
                let hex = String::from_utf8(vec![*high, *low]).unwrap();
                bytes.push(u8::from_str_radix(&hex, 16).unwrap());
                (bytes, after)
            }
            _ => {
                bytes.push(*first);
                (bytes, after)
            }
        };
    }
    String::from_utf8(bytes).unwrap()
}

/// A reader for one place and style.
struct Reader {
    style: ParameterStyle,
    explode: bool,
    kind: Kind,
    encoded: bool,
}

impl Reader {
    fn text(&self, text: &str) -> String {
        if self.encoded { decode(text) } else { text.to_owned() }
    }

    /// Items between delimiters.
    fn list(&self, text: &str, delimiter: &str) -> Value {
        text.split(delimiter).map(|item| Value::from(self.text(item))).collect()
    }

    fn flat_object(&self, text: &str, delimiter: &str) -> Value {
        let parts: Vec<&str> = text.split(delimiter).collect();
        let pairs = parts.chunks(2).map(|pair| (self.text(pair[0]), Value::from(self.text(pair[1]))));
        Value::Object(pairs.collect())
    }

    /// `R=100,G=200`, where nothing may follow the name of an empty value.
    fn pairs(&self, text: &str, separator: &str) -> Vec<(String, String)> {
        let pairs = text.split(separator).map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        pairs.map(|(name, value)| (self.text(name), self.text(value))).collect()
    }

    fn object_of(pairs: Vec<(String, String)>) -> Value {
        Value::Object(pairs.into_iter().map(|(name, value)| (name, value.into())).collect())
    }

    /// A value that has no name beside it.
    fn unnamed(&self, text: &str, between: &str) -> Value {
        match (self.kind, self.explode) {
            (Kind::Text, _) => self.text(text).into(),
            (Kind::List, true) => self.list(text, between),
            (Kind::List, false) => self.list(text, ","),
            (Kind::Object, true) => Self::object_of(self.pairs(text, between)),
            (Kind::Object, false) => self.flat_object(text, ","),
        }
    }

    /// Pairs, of a query, of a cookie or of a matrix.
    fn named(&self, text: &str, separator: &str) -> Value {
        let delimiter = match self.style {
            ParameterStyle::SpaceDelimited => "%20",
            ParameterStyle::PipeDelimited => "%7C",
            ParameterStyle::TabDelimited => "%09",
            _ => ",",
        };
        let own = || text.strip_prefix("p=").or((text == "p").then_some("")).unwrap();
        match (self.kind, self.explode) {
            (Kind::Object, _) if self.style == ParameterStyle::DeepObject => {
                let inner =
                    |name: String| name.strip_prefix("p[").unwrap().strip_suffix(']').unwrap().to_owned();
                let pairs = self.pairs(text, separator).into_iter();
                Self::object_of(pairs.map(|(name, value)| (inner(name), value)).collect())
            }
            (Kind::Text, _) => self.text(own()).into(),
            (Kind::List, true) => {
                self.pairs(text, separator).into_iter().map(|(_, value)| Value::from(value)).collect()
            }
            (Kind::Object, true) => Self::object_of(self.pairs(text, separator)),
            (Kind::List, false) => self.list(own(), delimiter),
            (Kind::Object, false) => self.flat_object(own(), delimiter),
        }
    }
}

/// What a server reads; none when there is nothing for it.
fn read(parameter: &OperationParameter, kind: Kind, sent: &super::Sent) -> Option<Value> {
    let (style, place) = (parameter.style, parameter.place);
    let reader = Reader { style, explode: parameter.explode, kind, encoded: place != ParameterPlace::Header };
    let text = match place {
        ParameterPlace::Path => sent.address.strip_prefix("/a/")?.strip_suffix("/b")?,
        ParameterPlace::Query => sent.address.strip_prefix("/a?")?,
        ParameterPlace::Header | ParameterPlace::Cookie => sent.header.as_deref()?,
    };
    assert!(place != ParameterPlace::Path || !text.contains('/'), "{text}");
    Some(match (place, style) {
        (ParameterPlace::Query, ParameterStyle::Json) => {
            serde_json::from_str(&decode(text.strip_prefix("p=").unwrap())).unwrap()
        }
        (_, ParameterStyle::Json) => serde_json::from_str(&reader.text(text)).unwrap(),
        (ParameterPlace::Path, ParameterStyle::Label) => reader.unnamed(text.strip_prefix('.').unwrap(), "."),
        (ParameterPlace::Path, ParameterStyle::Matrix) => reader.named(text.strip_prefix(';').unwrap(), ";"),
        (ParameterPlace::Path | ParameterPlace::Header, _) => reader.unnamed(text, ","),
        (ParameterPlace::Query, _) => reader.named(text, "&"),
        (ParameterPlace::Cookie, _) => reader.named(text, "; "),
    })
}

/// Whether an argument may be refused: it could leave its segment, cannot stand in a header, or has a delimiter in it.
fn may_be_refused(place: ParameterPlace, style: ParameterStyle, texts: &[String]) -> bool {
    let any = |test: &dyn Fn(&str) -> bool| texts.iter().any(|text| test(text));
    match place {
        ParameterPlace::Path => {
            // With the `.` that a label begins with, this is the segment `.` where it is decoded.
            let makes_dot = |text: &str| style == ParameterStyle::Label && text.contains(['/', '\\', ';']);
            any(&|text| text.is_empty() || text.contains(['.', '%']) || text.chars().any(char::is_control))
                || any(&makes_dot)
        }
        ParameterPlace::Header => any(&|text| {
            !text.chars().all(|c| matches!(c, ' '..='~'))
                || text.contains([',', '='])
                || text.trim() != text
                || text.is_empty()
        }),
        // A member without a name and a value.
        ParameterPlace::Query | ParameterPlace::Cookie if any(&str::is_empty) => true,
        ParameterPlace::Query | ParameterPlace::Cookie => match style {
            ParameterStyle::SpaceDelimited => any(&|text| text.contains(' ')),
            ParameterStyle::PipeDelimited => any(&|text| text.contains('|')),
            ParameterStyle::TabDelimited => any(&|text| text.contains('\t')),
            ParameterStyle::DeepObject => any(&|text| text.contains(['[', ']'])),
            _ => false,
        },
    }
}

fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-zA-Z0-9]{1,8}",
        "[ -~]{0,10}",
        "[.%/\\\\;,=&+#?|\\[\\] ]{0,6}",
        any::<String>().prop_map(|text| text.chars().take(10).collect()),
        (-1_000_000_i64..1_000_000).prop_map(|number| number.to_string()),
    ]
}

fn values() -> impl Strategy<Value = (Kind, Value, Vec<String>)> {
    let list = prop::collection::vec(texts(), 0..5);
    let object = prop::collection::btree_map(texts(), texts(), 0..5);
    prop_oneof![
        texts().prop_map(|text| (Kind::Text, json!(text), vec![text])),
        list.prop_map(|items| (Kind::List, json!(items), items)),
        object.prop_map(|members| {
            let all = members.iter().flat_map(|(name, value)| [name.clone(), value.clone()]).collect();
            let object: Map<String, Value> =
                members.into_iter().map(|(name, value)| (name, value.into())).collect();
            (Kind::Object, Value::Object(object), all)
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    #[test]
    fn a_server_reads_what_was_sent(
        (place, style) in prop::sample::select(STYLES), explode: bool, (kind, value, texts) in values()
    ) {
        let parameter = OperationParameter { style, explode, ..parameter(place) };
        let is_absent = style != ParameterStyle::Json && (value == json!([]) || value == json!({}));
        match sent(parameter.clone(), &value) {
            Ok(sent) => {
                let read = read(&parameter, kind, &sent);
                let expect = (!is_absent).then_some(&value);
                prop_assert_eq!(read.as_ref(), expect, "{:?}", sent);
            }
            Err(what) => {
                let excused = is_absent && place == ParameterPlace::Path || may_be_refused(place, style, &texts);
                prop_assert!(excused, "{} {}", value, what);
            }
        }
    }
}
