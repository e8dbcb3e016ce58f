//! A JSON object as its members in their order, each value the text that came: what lets us change one
//! member and pass on all others untouched.

use std::borrow::Cow;
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
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

    pub(super) fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Replaces a member in its place, or adds it at the end.
    pub(super) fn put<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) {
        self.put_text(key, Cow::Owned(to_raw(value).expect("what we write as JSON is writable")));
    }

    pub(super) fn put_raw(&mut self, key: &'static str, value: RawJson) {
        self.put_text(key, Cow::Owned(value));
    }

    pub(super) fn put_text(&mut self, key: &'static str, value: Cow<'a, RawValue>) {
        match self.0.iter_mut().find(|(name, _)| name == key) {
            Some((_, known)) => *known = value,
            None => self.0.push((Cow::Borrowed(key), value)),
        }
    }

    pub(super) fn remove(&mut self, key: &str) {
        self.0.retain(|(name, _)| name != key);
    }

    pub(super) fn remove_all(&mut self, keys: &[&str]) {
        self.0.retain(|(name, _)| !keys.contains(&&**name));
    }

    /// The object as text.
    pub(super) fn write(&self) -> RawJson {
        to_raw(self).expect("members are texts")
    }
}

impl Serialize for Members<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(&**key, &**value)?;
        }
        map.end()
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
                let mut members = Vec::with_capacity(8);
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
    fn members_are_added_at_the_end_and_removed() {
        check(r#"{"a":1,"b":2}"#, |members| members.put("c", &3), r#"{"a":1,"b":2,"c":3}"#);
        check(r#"{"a":1,"b":2}"#, |members| members.remove("a"), r#"{"b":2}"#);
    }
}
