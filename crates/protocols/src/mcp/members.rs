//! A JSON object as its members in their order, each value the text that came: what lets us change one
//! member and pass on all others untouched.

use std::borrow::Cow;
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use toolmux_core::json_text::{RawJson, to_raw};

/// The members of an object.
#[derive(Clone, Debug, Default)]
pub(super) struct Members<'a>(Vec<(Cow<'a, str>, Cow<'a, RawValue>)>);

impl<'a> Members<'a> {
    /// The members of a text; none when it is not an object.
    pub(super) fn read(text: &'a RawValue) -> Option<Self> {
        serde_json::from_str(text.get()).ok()
    }

    /// The same for a text that may be absent.
    pub(super) fn read_or_empty(text: Option<&'a RawValue>) -> Self {
        text.and_then(Members::read).unwrap_or_default()
    }

    pub(super) fn get(&self, key: &str) -> Option<&RawValue> {
        self.0.iter().find(|(name, _)| name == key).map(|(_, value)| &**value)
    }

    /// The same for members that were read, as long as what they were read from.
    pub(super) fn read_as(&self, key: &str) -> Option<&'a RawValue> {
        self.0.iter().find(|(name, _)| name == key).and_then(|(_, value)| match value {
            Cow::Borrowed(value) => Some(*value),
            Cow::Owned(_) => None,
        })
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// Replaces a member in its place, or adds it at the end.
    pub(super) fn put<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) {
        self.put_raw(key, to_raw(value).expect("what we write as JSON is writable"));
    }

    pub(super) fn put_raw(&mut self, key: &'static str, value: RawJson) {
        match self.0.iter_mut().find(|(name, _)| name == key) {
            Some((_, known)) => *known = Cow::Owned(value),
            None => self.0.push((Cow::Borrowed(key), Cow::Owned(value))),
        }
    }

    pub(super) fn remove(&mut self, key: &str) {
        self.0.retain(|(name, _)| name != key);
    }

    /// Removes members; true when there was one.
    pub(super) fn remove_all(&mut self, keys: &[&str]) -> bool {
        let before = self.0.len();
        self.0.retain(|(name, _)| !keys.contains(&&**name));
        self.0.len() < before
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The object as JSON, its unchanged members as they came. What was read once is not read again to see that it is JSON.
    pub(super) fn write(&self) -> RawJson {
        to_raw(self).expect("members are texts")
    }

    /// The object as text, with other values of some members, in their places or at the end, or without them.
    pub(super) fn text_with(&self, changes: &[(&str, Option<&str>)]) -> String {
        let came = self.0.iter().map(|(key, value)| key.len() + value.get().len());
        let changed = changes.iter().map(|(key, value)| key.len() + value.map_or(0, str::len));
        let size = came.chain(changed).map(|size| size + r#""":,"#.len()).sum::<usize>();
        let mut text = String::with_capacity(size + "{}".len());
        for (key, value) in &self.0 {
            let change = changes.iter().find(|(changed, _)| changed == key);
            if let Some(value) = change.map_or(Some(value.get()), |(_, value)| *value) {
                append(&mut text, key, value);
            }
        }
        for (key, value) in changes {
            if let Some(value) = value.filter(|_| !self.has(key)) {
                append(&mut text, &Cow::Borrowed(*key), value);
            }
        }
        text.push_str(if text.is_empty() { "{}" } else { "}" });
        text
    }
}

/// Adds one member.
#[expect(clippy::ptr_arg, reason = "a key that is lent needed no escapes, where it was read or in our code")]
fn append(text: &mut String, key: &Cow<'_, str>, value: &str) {
    text.push(if text.is_empty() { '{' } else { ',' });
    match key {
        Cow::Borrowed(key) => text.extend(["\"", key, "\":"]),
        Cow::Owned(key) => text.extend([&serde_json::to_string(key).expect("a text is writable"), ":"]),
    }
    text.push_str(value);
}

impl Serialize for Members<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key, value)))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(Key(key)) = map.next_key()? {
                    members.push((key, Cow::Borrowed(map.next_value::<&'de RawValue>()?)));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Reader)
    }
}

#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, change: impl FnOnce(&mut Members<'_>), expect: &str) {
        let text: RawJson = serde_json::from_str(text).unwrap();
        let mut members = Members::read(&text).unwrap();
        change(&mut members);
        assert_eq!(members.write().get(), expect);
    }

    #[test]
    fn what_is_not_changed_stays_as_it_came() {
        check(
            r#"{"b":12345678901234567890.10,"name":"x","a":{ "k" : 1e2 },"é":"\u00e9"}"#,
            |members| members.put("name", "y"),
            r#"{"b":12345678901234567890.10,"name":"y","a":{ "k" : 1e2 },"é":"\u00e9"}"#,
        );
    }

    #[test]
    fn keys_that_need_escapes_keep_them() {
        check("{\"a\\\"\":1,\"\\u0001\":2}", |_| {}, "{\"a\\\"\":1,\"\\u0001\":2}");
        check("{}", |_| {}, "{}");
    }

    #[test]
    fn changes_stand_where_the_members_stood() {
        let text: RawJson = serde_json::from_str(r#"{"a":1,"b":2,"c":3}"#).unwrap();
        let changes = [("d", Some("4")), ("b", Some("[]")), ("a", None), ("e", None)];
        assert_eq!(Members::read(&text).unwrap().text_with(&changes), r#"{"b":[],"c":3,"d":4}"#);
        assert_eq!(Members::default().text_with(&[("a", None)]), "{}");
    }

    #[test]
    fn members_are_added_at_the_end_and_removed() {
        check(r#"{"a":1,"b":2}"#, |members| members.put("c", &3), r#"{"a":1,"b":2,"c":3}"#);
        check(r#"{"a":1,"b":2}"#, |members| members.remove("a"), r#"{"b":2}"#);
    }
}
