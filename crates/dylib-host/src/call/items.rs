//! What a callback was called with as JSON: one object for each call.

use std::ffi::{CStr, c_char};
use std::slice;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::trampolines::Received;
use crate::callback::{CallbackPart, CallbackValue};
use crate::scalar::{Class, Scalar};

/// Most texts of one argument that ends with NULL.
const MOST_TEXTS: usize = 1_000;

/// The arguments in the order of the parameters, as 8 bytes each.
pub(super) fn words(parts: &[CallbackPart], received: &Received) -> Vec<u64> {
    let (mut words, mut floats) = (received.words.iter(), received.floats.iter());
    let is_float = |value: &CallbackValue| match value {
        CallbackValue::Scalar(scalar) => scalar.class() == Class::Float,
        CallbackValue::Pointer | CallbackValue::Text | CallbackValue::Texts | CallbackValue::Bytes(_) => {
            false
        }
    };
    let next = |part: &CallbackPart| {
        let word = if is_float(&part.is) { floats.next() } else { words.next() };
        let word = word.copied().unwrap_or(0);
        match &part.is {
            CallbackValue::Scalar(scalar) => scalar.normalise(word),
            _ => word,
        }
    };
    parts.iter().map(next).collect()
}

/// Those arguments that are told.
///
/// # Safety
/// `words` are what a library called a function of these parts with.
pub(super) unsafe fn item(name: Option<&str>, parts: &[CallbackPart], words: &[u64], most: usize) -> Value {
    let mut members = Map::new();
    if let Some(name) = name {
        members.insert("callback".to_owned(), name.into());
    }
    for (part, word) in parts.iter().zip(words) {
        let Some(name) = &part.name else { continue };
        // SAFETY: as above.
        members.insert(name.clone(), unsafe { value(&part.is, *word, words, most) });
    }
    Value::Object(members)
}

/// # Safety
/// As for [`item`].
unsafe fn value(is: &CallbackValue, word: u64, words: &[u64], most: usize) -> Value {
    match is {
        CallbackValue::Scalar(scalar) => number(*scalar, word),
        CallbackValue::Pointer => Value::Null,
        CallbackValue::Text | CallbackValue::Texts | CallbackValue::Bytes(_) if word == 0 => Value::Null,
        // SAFETY: the plan says that the library calls with a C string here.
        CallbackValue::Text => text(unsafe { CStr::from_ptr(word as *const c_char) }.to_bytes()),
        CallbackValue::Texts => {
            let list = word as *const *const c_char;
            // SAFETY: the plan says that the library calls with pointers to C strings here, and a NULL behind the last.
            let at = |index: usize| unsafe {
                let text = *list.add(index);
                (!text.is_null()).then(|| CStr::from_ptr(text).to_bytes())
            };
            (0..MOST_TEXTS).map_while(at).map(text).collect()
        }
        CallbackValue::Bytes(factors) => {
            let count = product(factors, words).min(most as u64) as usize;
            // SAFETY: the plan says that the library calls with so many bytes here.
            text(unsafe { slice::from_raw_parts(word as *const u8, count) })
        }
    }
}

/// The product of the arguments with these indexes.
pub(super) fn product(factors: &[usize], words: &[u64]) -> u64 {
    factors.iter().fold(1, |product, index| product.saturating_mul(words.get(*index).copied().unwrap_or(0)))
}

fn number(scalar: Scalar, word: u64) -> Value {
    match (scalar.class(), scalar.size()) {
        (Class::Bool, _) => (word != 0).into(),
        (Class::Signed, _) => word.cast_signed().into(),
        (Class::Unsigned, _) => word.into(),
        (Class::Float, 4) => float(f64::from(f32::from_bits(word as u32))),
        (Class::Float, _) => float(f64::from_bits(word)),
    }
}

/// JSON has no numbers for these.
fn float(value: f64) -> Value {
    match value {
        _ if value.is_nan() => "NaN".into(),
        f64::INFINITY => "Infinity".into(),
        f64::NEG_INFINITY => "-Infinity".into(),
        _ => value.into(),
    }
}

fn text(bytes: &[u8]) -> Value {
    match str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => json!({ "base64": STANDARD.encode(bytes), "reason": "not UTF-8" }),
    }
}
