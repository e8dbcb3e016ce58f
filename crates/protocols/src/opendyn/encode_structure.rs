//! Structures and lists of texts as arguments: objects into the bytes that C has, with what their pointers lead to.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::{DeserializeSeed, Error};
use serde_json::Value;
use toolmux_core::arguments::kind_of;
use toolmux_core::hex::from_hex;
use toolmux_core::nearest::nearest;
use toolmux_dylib_host::scalar::Scalar;
use toolmux_dylib_host::value::put_bytes;

use super::carrier::Element;
use super::document::{Encoding, ValueNames};
use super::encode_names::NamedSeed;
use super::layout::{FieldType, Layout, LayoutField};

/// The bytes of one structure, and the targets of its pointers in their order.
struct Image {
    bytes: Vec<u8>,
    targets: Vec<Option<Vec<u8>>>,
    /// Around what is read now: pointers within are not followed.
    unions: usize,
}

/// Appends structures, each followed by its targets behind all of them.
pub(super) fn put_structures<E: Error>(
    out: &mut Vec<u8>,
    layout: &Layout,
    values: &[Value],
) -> Result<(), E> {
    let mut image = Image { bytes: vec![0; layout.size * values.len()], targets: Vec::new(), unions: 0 };
    for (index, value) in values.iter().enumerate() {
        let is_filled = image.structure(layout, index * layout.size, value);
        is_filled.map_err(|words| match values {
            [_] => E::custom(words),
            _ => E::custom(format!("has at [{index}] a value that {words}")),
        })?;
    }
    put_bytes(out, Some(&image.bytes)).map_err(E::custom)?;
    image.targets.iter().try_for_each(|target| put_bytes(out, target.as_deref())).map_err(E::custom)
}

/// Appends texts, NULL among them.
pub(super) fn put_texts<E: Error>(out: &mut Vec<u8>, texts: &[Option<String>]) -> Result<(), E> {
    let mut bytes = Vec::new();
    for text in texts {
        if text.as_ref().is_some_and(|text| text.contains('\0')) {
            return Err(E::custom("must not contain a NUL character: the text would end there"));
        }
        put_bytes(&mut bytes, text.as_ref().map(String::as_bytes)).map_err(E::custom)?;
    }
    put_bytes(out, Some(&bytes)).map_err(E::custom)
}

impl Image {
    fn structure(&mut self, layout: &Layout, at: usize, value: &Value) -> Result<(), String> {
        let Some(members) = value.as_object() else {
            return Err(format!("must be an object, got {}", kind_of(value)));
        };
        let is_known = |name: &str| layout.fields.iter().any(|field| field.name == name);
        if let Some(unknown) = members.keys().find(|name| !is_known(name)) {
            let meant = nearest(unknown, layout.fields.iter().map(|field| field.name.as_str()));
            let meant = meant.map_or_else(String::new, |meant| format!("; did you mean `{meant}`?"));
            return Err(format!("has no member `{unknown}`{meant}"));
        }
        if layout.is_union && members.len() != 1 {
            return Err("must have exactly one member, the one that is chosen".to_owned());
        }
        self.unions += usize::from(layout.is_union);
        for field in &layout.fields {
            let value = members.get(&field.name).filter(|value| !value.is_null());
            if layout.is_union && value.is_none() {
                continue;
            }
            self.field(field, at, value).map_err(|words| within(&field.name, &words))?;
        }
        self.unions -= usize::from(layout.is_union);
        self.fill_counts(layout, at, members);
        Ok(())
    }

    fn field(&mut self, field: &LayoutField, base: usize, value: Option<&Value>) -> Result<(), String> {
        let at = base + field.offset;
        match (field.count, value) {
            (Some(count), value) if !matches!(field.is, FieldType::Letters) => {
                let none = Vec::new();
                let items = match value {
                    None => &none,
                    Some(value) => {
                        value.as_array().ok_or_else(|| format!("must be an array, got {}", kind_of(value)))?
                    }
                };
                if items.len() > count {
                    return Err(format!("has {} elements, more than {count}", items.len()));
                }
                for index in 0..count {
                    self.one(field, at + index * field.is.size(), items.get(index))?;
                }
                Ok(())
            }
            (_, value) => self.one(field, at, value),
        }
    }

    fn one(&mut self, field: &LayoutField, at: usize, value: Option<&Value>) -> Result<(), String> {
        match (&field.is, value) {
            (FieldType::Text | FieldType::Elements { .. }, _) if self.unions > 0 => match value {
                None => Ok(()),
                Some(_) => Err("cannot be given: pointers of a union are not followed".to_owned()),
            },
            (FieldType::Text | FieldType::Elements { .. }, None) => {
                self.targets.push(None);
                Ok(())
            }
            (FieldType::Structure(layout), None) => {
                let count = if self.unions > 0 { 0 } else { layout.pointer_count() };
                self.targets.extend(std::iter::repeat_n(None, count));
                Ok(())
            }
            (_, None) => Ok(()),
            (FieldType::Structure(layout), Some(value)) => self.structure(layout, at, value),
            (FieldType::Number(element, names), Some(value)) => {
                let word = number(*element, names.as_deref(), value)?;
                self.put(*element, at, word);
                Ok(())
            }
            (FieldType::Bits { element, shift, width }, Some(value)) => {
                let word = number(*element, None, value)?;
                let mask = u64::MAX >> (64 - width);
                let old = element.scalar.read(&self.bytes[at..at + element.scalar.size()]);
                self.put(*element, at, (old & !(mask << shift)) | (word & mask) << shift);
                Ok(())
            }
            (FieldType::Letters, Some(value)) => self.letters(field.count.unwrap_or(1), at, value),
            (FieldType::Text, Some(value)) => {
                let text = text(value)?;
                if text.contains('\0') {
                    return Err("must not contain a NUL character: the text would end there".to_owned());
                }
                self.targets.push(Some(text.as_bytes().to_vec()));
                Ok(())
            }
            (FieldType::Elements { element, encoding, .. }, Some(value)) => {
                self.targets.push(Some(elements(*element, *encoding, value)?));
                Ok(())
            }
        }
    }

    fn letters(&mut self, room: usize, at: usize, value: &Value) -> Result<(), String> {
        let text = text(value)?;
        if text.len() > room {
            return Err(format!("has {} bytes, more than {room}", text.len()));
        }
        self.bytes[at..at + text.len()].copy_from_slice(text.as_bytes());
        Ok(())
    }

    /// A member that counts the elements of another is filled in where it was not given.
    fn fill_counts(&mut self, layout: &Layout, at: usize, members: &serde_json::Map<String, Value>) {
        for field in &layout.fields {
            let FieldType::Elements { factors, times: 1, encoding, element } = &field.is else { continue };
            let [(offset, scalar)] = factors[..] else { continue };
            let counter = layout.fields.iter().find(|field| field.offset == offset);
            let is_given = counter.is_some_and(|field| members.contains_key(&field.name));
            let Some(value) = members.get(&field.name).filter(|_| !is_given) else { continue };
            let bytes = elements(*element, *encoding, value).map_or(0, |bytes| bytes.len());
            let count = (bytes / element.scalar.size()) as u64;
            self.put(Element::whole(scalar), at + offset, count);
        }
    }

    fn put(&mut self, element: Element, at: usize, word: u64) {
        let size = element.scalar.size();
        self.bytes[at..at + size].copy_from_slice(&word.to_le_bytes()[..size]);
    }
}

/// A fault of a member with the way to it.
fn within(name: &str, words: &str) -> String {
    match words.strip_prefix("in `") {
        Some(rest) => format!("in `{name}.{rest}"),
        None => format!("in `{name}` {words}"),
    }
}

fn number(element: Element, names: Option<&ValueNames>, value: &Value) -> Result<u64, String> {
    let read = NamedSeed::new(element, names).deserialize(value);
    read.map(|word| if element.scalar == Scalar::Float { word } else { element.scalar.normalise(word) })
        .map_err(|error| {
            let words = error.to_string();
            match words.strip_prefix("invalid type: ").and_then(|rest| rest.split_once(", expected ")) {
                Some((came, wanted)) => format!("must be {wanted}, got {came}"),
                None => words,
            }
        })
}

fn text(value: &Value) -> Result<&str, String> {
    value.as_str().ok_or_else(|| format!("must be a text, got {}", kind_of(value)))
}

/// What a pointer of a structure leads to: numbers, or for bytes also a text.
fn elements(element: Element, encoding: Encoding, value: &Value) -> Result<Vec<u8>, String> {
    if let Some(items) = value.as_array() {
        let mut bytes = Vec::new();
        for item in items {
            element.scalar.write(number(element, None, item)?, &mut bytes);
        }
        return Ok(bytes);
    }
    if element.scalar.size() != 1 {
        return Err(format!("must be an array, got {}", kind_of(value)));
    }
    match (value["base64"].as_str(), encoding) {
        (Some(base64), _) => STANDARD.decode(base64).map_err(|_| "is not base64".to_owned()),
        (None, Encoding::Hex) => from_hex(text(value)?).ok_or_else(|| "is not hexadecimal".to_owned()),
        (None, Encoding::Base64) => STANDARD.decode(text(value)?).map_err(|_| "is not base64".to_owned()),
        (None, Encoding::Utf8 | Encoding::Json) => Ok(text(value)?.as_bytes().to_vec()),
    }
}
