//! Arguments as the JSON text that they came in, read one level at a time: numbers of any size and the values of a JSON
//! body go on as they were written.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Whole numbers below this are exact in every reader of JSON.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The members of an object, in their order.
#[derive(Debug, Default)]
pub(crate) struct ObjectMembers<'a>(pub(super) Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> ObjectMembers<'a> {
    /// Reads a text that is known to be a JSON object.
    pub(crate) fn of(object: &'a RawValue) -> Self {
        serde_json::from_str(object.get()).unwrap_or_default()
    }

    pub(crate) fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for ObjectMembers<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor).map(ObjectMembers)
    }
}

/// A text, borrowed where it has no escapes.
#[derive(Deserialize)]
struct Borrowed<'a>(#[serde(borrow)] Cow<'a, str>);

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Vec<(Cow<'de, str>, &'de RawValue)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some((Borrowed(name), value)) = map.next_entry::<Borrowed<'de>, &'de RawValue>()? {
            members.push((name, value));
        }
        Ok(members)
    }
}

/// A value, read one level deep.
#[derive(Debug)]
pub(super) enum Shape<'a> {
    Null,
    /// A text, a number, `true` or `false`, as it is written outside of JSON.
    Plain(Cow<'a, str>),
    List(Vec<&'a RawValue>),
    Object(ObjectMembers<'a>),
}

impl<'a> Shape<'a> {
    pub(super) fn of(value: &'a RawValue) -> Self {
        let text = value.get();
        match text.as_bytes().first() {
            Some(b'n') | None => Shape::Null,
            Some(b'[') => Shape::List(serde_json::from_str(text).unwrap_or_default()),
            Some(b'{') => Shape::Object(ObjectMembers::of(value)),
            Some(b'"') => Shape::Plain(string(text)),
            Some(_) => Shape::Plain(number(text)),
        }
    }
}

/// An item or a member as text: one that is itself an array or an object as JSON, none for `null`.
pub(super) fn plain(value: &RawValue) -> Option<Cow<'_, str>> {
    let text = value.get();
    match text.as_bytes().first() {
        Some(b'n') | None => None,
        Some(b'"') => Some(string(text)),
        Some(b'[' | b'{') => Some(Cow::Borrowed(text)),
        Some(_) => Some(number(text)),
    }
}

fn string(text: &str) -> Cow<'_, str> {
    serde_json::from_str(text).map_or(Cow::Borrowed(text), |Borrowed(string)| string)
}

/// A schema takes `2.0` and `2e0` for integers; readers of anything but JSON do not.
fn number(text: &str) -> Cow<'_, str> {
    if !text.contains(['.', 'e', 'E']) {
        return Cow::Borrowed(text);
    }
    match text.parse::<f64>() {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "it is a whole number within the range of exact ones"
        )]
        Ok(number) if number.fract() == 0.0 && number.abs() < EXACT => {
            Cow::Owned((number as i64).to_string())
        }
        _ => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: Option<&str>) {
        let value: &RawValue = serde_json::from_str(text).unwrap();
        assert_eq!(plain(value).as_deref(), expect, "{text}");
    }

    #[test]
    fn values_are_written_without_losing_a_digit() {
        check("123456789012345678901234567890", Some("123456789012345678901234567890"));
        check("0.1000", Some("0.1000"));
        check("2.0", Some("2"));
        check("-1e3", Some("-1000"));
        check("1e300", Some("1e300"));
        check("true", Some("true"));
        check("null", None);
        check(r#""a\n\u00e9""#, Some("a\né"));
        check(r#"{"a" : 1}"#, Some(r#"{"a" : 1}"#));
    }
}
