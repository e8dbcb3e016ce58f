//! JSON as text: read strictly into values, and carried without being read.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// JSON text that is passed on as it came.
pub type RawJson = Box<RawValue>;

/// Reads a text into a value. Refuses duplicate keys: what we validate must be what a tool will read.
/// Nesting is bounded by `serde_json` itself (128 levels).
pub fn read_strict(text: &str) -> Result<Value, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = Strict.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

/// Reads an object into a struct. A derived reader alone takes an array too, whose items are then the members in the order
/// of the struct.
pub fn read_object<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, serde_json::Error> {
    match bytes.trim_ascii_start().first() {
        Some(b'[') => Err(Error::custom("expected an object, got an array")),
        // One check of the whole takes less than one of each text in it. What is wrong is said by the reader of bytes.
        _ => std::str::from_utf8(bytes).map_or_else(|_| serde_json::from_slice(bytes), serde_json::from_str),
    }
}

/// Reads a text that may be absent, without copying it where it has no escapes. A derived reader copies every
/// `Option<Cow<str>>`: it borrows a bare `Cow<str>` alone.
pub fn optional_text<'de: 'a, 'a, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Cow<'a, str>>, D::Error> {
    #[derive(Deserialize)]
    struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
    Ok(Option::<Text<'a>>::deserialize(deserializer)?.map(|Text(text)| text))
}

/// Writes a value that is known to be serialisable.
pub fn to_raw<T: serde::Serialize + ?Sized>(value: &T) -> Result<RawJson, serde_json::Error> {
    serde_json::value::to_raw_value(value)
}

/// Raw JSON of a value. A `Value` has text keys only, so this cannot fail.
pub fn raw_of(value: &Value) -> RawJson {
    to_raw(value).expect("a JSON value is always writable")
}

/// A text whose arrays and objects deeper than `most` are empty, for readers that take no deeper nesting.
pub fn shallow(text: &str, most: usize) -> String {
    let mut cut = String::with_capacity(text.len());
    let (mut depth, mut in_text, mut escaped) = (0_usize, false, false);
    for character in text.chars() {
        let closes = !in_text && matches!(character, '}' | ']');
        if depth <= most || (closes && depth == most + 1) {
            cut.push(character);
        }
        match character {
            _ if std::mem::take(&mut escaped) => {}
            '\\' if in_text => escaped = true,
            '"' => in_text = !in_text,
            '{' | '[' if !in_text => depth += 1,
            _ if closes => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    cut
}

/// Whether a JSON text holds at most so many values, counted without reading them: there are as many as commas and
/// opening brackets outside of texts, and one more.
pub fn at_most_values(text: &[u8], most: usize) -> bool {
    // Two values have at least one byte between them, so that short texts need not be looked at.
    if text.len() / 2 < most {
        return true;
    }
    let (mut values, mut in_text, mut escaped) = (1_usize, false, false);
    for byte in text {
        match byte {
            _ if std::mem::take(&mut escaped) => {}
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b',' | b'[' | b'{' if !in_text => values += 1,
            _ => {}
        }
        if values > most {
            return false;
        }
    }
    true
}

struct Strict;

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(item) = items.next_element_seed(Strict)? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            // One look-up for both: whether it is there already, and where it goes.
            match map.entry(key) {
                Entry::Vacant(place) => place.insert(members.next_value_seed(Strict)?),
                Entry::Occupied(known) => {
                    let key = known.key();
                    return Err(A::Error::custom(format_args!("duplicate key `{key}`")));
                }
            };
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: Result<&str, &str>) {
        let read = read_strict(text).map(|v| v.to_string()).map_err(|e| e.to_string());
        match (read, expect) {
            (Ok(read), Ok(expect)) => assert_eq!(read, expect),
            (Err(read), Err(expect)) => assert!(read.contains(expect), "{read}"),
            (read, expect) => panic!("{text}: {read:?}, expected {expect:?}"),
        }
    }

    #[test]
    fn values_keep_their_order() {
        check(r#" {"b":1,"a":[true,null,"x",-2,1.5]} "#, Ok(r#"{"b":1,"a":[true,null,"x",-2,1.5]}"#));
    }

    #[test]
    fn duplicate_keys_are_refused_at_any_depth() {
        check(r#"{"a":1,"a":2}"#, Err("duplicate key `a`"));
        check(r#"{"x":[{"b":1,"b":1}]}"#, Err("duplicate key `b`"));
    }

    #[test]
    fn what_lies_too_deep_is_empty() {
        let check = |text: &str, expect: &str| assert_eq!(shallow(text, 2), expect);
        check(r#"{"a":[1,{"b":[2]}],"c":"[[["}"#, r#"{"a":[1,{}],"c":"[[["}"#);
        check(r#"{"a":{"b":{"c":"}"},"d":"\"]"}}"#, r#"{"a":{"b":{},"d":"\"]"}}"#);
        check("[[[[]]],7]", "[[[]],7]");
    }

    #[test]
    fn values_are_counted_without_being_read() {
        let check = |text: &str, most: usize, expect: bool| {
            assert_eq!(at_most_values(text.as_bytes(), most), expect, "{text} has at most {most}");
        };
        check("[1,2,3]", 3, false);
        check("[1,2,3]", 4, true);
        check(r#"{"a":",,,,\",","b":[]}"#, 4, true);
        check(r#"{"a":",,,,\",","b":[]}"#, 2, false);
        check("7", 1, true);
        check(&"[".repeat(1_000), 100, false);
    }

    #[test]
    fn a_text_without_escapes_is_not_copied() {
        let check = |json: &str, expect: Option<&str>, is_copied: bool| {
            let text = optional_text(&mut serde_json::Deserializer::from_str(json)).expect("a text");
            assert_eq!(text.as_deref(), expect, "{json}");
            assert_eq!(matches!(text, Some(Cow::Owned(_))), is_copied, "{json}");
        };
        check(r#""a""#, Some("a"), false);
        check(r#""\u0061""#, Some("a"), true);
        check("null", None, false);
    }

    #[test]
    fn garbage_and_deep_nesting_are_refused() {
        check("{", Err("EOF"));
        check("1 2", Err("trailing"));
        check("\"\0\"", Err("control character"));
        check(&"[".repeat(5_000), Err("recursion limit"));
    }
}
