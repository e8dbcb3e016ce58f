//! Numbers that may be given by name: one name, or several for the bits of flags.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, SeqAccess, Visitor};
use toolmux_core::nearest::nearest;

use super::carrier::Element;
use super::document::ValueNames;
use super::encode_element::ElementSeed;

/// One number as 8 bytes, by itself or by name.
#[derive(Clone, Copy)]
pub(super) struct NamedSeed<'a> {
    element: Element,
    names: Option<&'a ValueNames>,
}

impl<'a> NamedSeed<'a> {
    pub(super) fn new(element: Element, names: Option<&'a ValueNames>) -> Self {
        NamedSeed { element, names }
    }

    fn value<E: Error>(self, name: &str) -> Result<i64, E> {
        let values = self.names.map_or(&[][..], |names| &names.values);
        if let Some((_, value)) = values.iter().find(|(known, _)| known == name) {
            return Ok(*value);
        }
        let meant = nearest(name, values.iter().map(|(known, _)| known.as_str()));
        Err(match meant {
            Some(meant) => E::custom(format_args!("has no value `{name}`; did you mean `{meant}`?")),
            None => E::custom(format_args!("has no value `{name}`")),
        })
    }
}

impl<'de> DeserializeSeed<'de> for NamedSeed<'_> {
    type Value = u64;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<u64, D::Error> {
        if self.names.is_none() {
            return ElementSeed(self.element).deserialize(deserializer);
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for NamedSeed<'_> {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number or a name")
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<u64, E> {
        ElementSeed(self.element).visit_i64(value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<u64, E> {
        ElementSeed(self.element).visit_u64(value)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<u64, E> {
        ElementSeed(self.element).visit_f64(value)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<u64, E> {
        if text.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
            return ElementSeed(self.element).visit_str(text);
        }
        ElementSeed(self.element).integer(self.value::<E>(text)?.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<u64, A::Error> {
        if !self.names.is_some_and(|names| names.flags) {
            return Err(A::Error::custom("takes one value, not several"));
        }
        let mut bits = 0;
        while let Some(name) = items.next_element::<String>()? {
            bits |= self.value::<A::Error>(&name)?;
        }
        ElementSeed(self.element).integer(bits.into())
    }
}
