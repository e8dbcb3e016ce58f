//! One JSON value into the bytes that its carrier says.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, SeqAccess, Visitor};
use serde_json::Value;
use toolmux_core::hex::from_hex;
use toolmux_dylib_host::scalar::Scalar;
use toolmux_dylib_host::value::{put_bytes, put_word};

use super::carrier::{Carrier, Element, JsonForm, Range};
use super::document::{Encoding, ValueNames, c_word};
use super::encode_bytes::AnyBytes;
use super::encode_names::NamedSeed;
use super::encode_structure::{put_structures, put_texts};
use super::handles::UsedHandles;

/// How much of a given text is quoted in a message.
const MOST_QUOTED: usize = 40;

/// Digits below the least 64-bit integer arrive as this float or a lower one: it does not tell which number it was.
const LEAST_READ: f64 = i64::MIN as f64;
/// Digits above the largest 64-bit integer arrive as this float or a higher one.
const MOST_READ: f64 = u64::MAX as f64;

/// Reads one argument and appends its bytes.
pub(super) struct CarrierSeed<'a, 'h> {
    pub(super) carrier: &'a Carrier,
    /// Names that stand for numbers.
    pub(super) names: Option<&'a ValueNames>,
    /// Whether `null` is a NULL pointer.
    pub(super) nullable: bool,
    /// Where handles lead; nothing for a value of a document, which no caller gave.
    pub(super) handles: Option<&'a mut UsedHandles<'h>>,
    pub(super) out: &'a mut Vec<u8>,
}

impl<'de> DeserializeSeed<'de> for CarrierSeed<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        if self.nullable {
            return deserializer.deserialize_option(self);
        }
        self.some(deserializer)
    }
}

impl CarrierSeed<'_, '_> {
    fn some<'de, D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        match self.carrier {
            Carrier::Word(element) => {
                let word = NamedSeed::new(*element, self.names).deserialize(deserializer)?;
                put_word(self.out, word);
                Ok(())
            }
            Carrier::One(element) => {
                let word = NamedSeed::new(*element, self.names).deserialize(deserializer)?;
                put_elements(self.out, |out| element.scalar.write(word, out));
                Ok(())
            }
            Carrier::Many(element) => deserializer.deserialize_seq(Many { element: *element, out: self.out }),
            Carrier::Bytes(Encoding::Utf8) => deserializer.deserialize_any(AnyBytes { out: self.out }),
            Carrier::Structure(layout) => {
                put_structures(self.out, layout, &[Value::deserialize(deserializer)?])
            }
            Carrier::Structures(layout) => {
                put_structures(self.out, layout, &Vec::<Value>::deserialize(deserializer)?)
            }
            Carrier::Texts => put_texts(self.out, &Vec::<Option<String>>::deserialize(deserializer)?),
            Carrier::Text | Carrier::Bytes(_) | Carrier::Handle(_) | Carrier::Rows | Carrier::Json => {
                let text = Text { carrier: self.carrier, handles: self.handles, out: self.out };
                deserializer.deserialize_str(text)
            }
        }
    }
}

/// Only asked when `null` is allowed.
impl<'de> Visitor<'de> for CarrierSeed<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value or null")
    }

    fn visit_none<E: Error>(self) -> Result<(), E> {
        match self.carrier {
            Carrier::Word(_) | Carrier::Handle(_) => put_word(self.out, 0),
            Carrier::One(_)
            | Carrier::Many(_)
            | Carrier::Text
            | Carrier::Bytes(_)
            | Carrier::Rows
            | Carrier::Structure(_)
            | Carrier::Structures(_)
            | Carrier::Texts
            | Carrier::Json => {
                put_bytes(self.out, None).map_err(E::custom)?;
            }
        }
        Ok(())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.visit_none()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.some(deserializer)
    }
}

/// Appends a buffer of elements whose number is known only afterwards.
fn put_elements(out: &mut Vec<u8>, fill: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    fill(out);
    let count = (out.len() - start - 4) as u32;
    out[start..start + 4].copy_from_slice(&count.to_le_bytes());
}

struct Many<'a> {
    element: Element,
    out: &'a mut Vec<u8>,
}

impl<'de> Visitor<'de> for Many<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let start = self.out.len();
        self.out.extend_from_slice(&[0; 4]);
        let mut index = 0;
        loop {
            let item = items.next_element_seed(ElementSeed(self.element)).map_err(|error| {
                let words = error.to_string();
                let words = words.split(" at line ").next().unwrap_or_default();
                A::Error::custom(format_args!("has at [{index}] a value that {words}"))
            })?;
            let Some(word) = item else { break };
            self.element.scalar.write(word, self.out);
            index += 1;
        }
        let bytes = self.out.len() - start - 4;
        // The largest count stands for NULL; no frame is that large.
        let count = u32::try_from(bytes).ok().filter(|count| *count != u32::MAX);
        let count = count.ok_or_else(|| A::Error::custom("is too large"))?;
        self.out[start..start + 4].copy_from_slice(&count.to_le_bytes());
        Ok(())
    }
}

struct Text<'a, 'h> {
    carrier: &'a Carrier,
    handles: Option<&'a mut UsedHandles<'h>>,
    out: &'a mut Vec<u8>,
}

impl Visitor<'_> for Text<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.carrier {
            Carrier::Handle(tag) => write!(f, "a handle such as `{tag}#…`"),
            Carrier::Bytes(Encoding::Hex) => f.write_str("a text of hexadecimal digits"),
            Carrier::Bytes(Encoding::Base64) => f.write_str("a text in base64"),
            Carrier::Bytes(Encoding::Utf8 | Encoding::Json)
            | Carrier::Text
            | Carrier::Word(_)
            | Carrier::One(_)
            | Carrier::Many(_)
            | Carrier::Rows
            | Carrier::Structure(_)
            | Carrier::Structures(_)
            | Carrier::Texts
            | Carrier::Json => f.write_str("a text"),
        }
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        let decoded;
        let bytes = match self.carrier {
            Carrier::Handle(tag) => {
                let handles =
                    self.handles.ok_or_else(|| E::custom("cannot be written down: handles are given"))?;
                put_word(self.out, handles.word(tag, text).map_err(E::custom)?);
                return Ok(());
            }
            Carrier::Text if text.contains('\0') => {
                return Err(E::custom("must not contain a NUL character: the text would end there"));
            }
            Carrier::Bytes(Encoding::Hex) => {
                decoded = from_hex(text).ok_or_else(|| E::custom("is not hexadecimal"))?;
                &decoded
            }
            Carrier::Bytes(Encoding::Base64) => {
                decoded = STANDARD.decode(text).map_err(|_| E::custom("is not base64"))?;
                &decoded
            }
            Carrier::Bytes(Encoding::Utf8 | Encoding::Json)
            | Carrier::Text
            | Carrier::Word(_)
            | Carrier::One(_)
            | Carrier::Many(_)
            | Carrier::Rows
            | Carrier::Structure(_)
            | Carrier::Structures(_)
            | Carrier::Texts
            | Carrier::Json => text.as_bytes(),
        };
        put_bytes(self.out, Some(bytes)).map_err(E::custom)
    }
}

/// One number as 8 bytes.
#[derive(Clone, Copy)]
pub(super) struct ElementSeed(pub(super) Element);

impl<'de> DeserializeSeed<'de> for ElementSeed {
    type Value = u64;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<u64, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl ElementSeed {
    pub(super) fn integer<E: Error>(self, value: i128) -> Result<u64, E> {
        if self.0.form != JsonForm::Number {
            return Err(E::custom(format_args!("must be {}, got {value}", Expected(self.0))));
        }
        match self.0.range {
            Range::Integer(low, high) if (low..=high).contains(&value) => Ok(value as u64),
            Range::Integer(..) => Err(self.out_of_range(value)),
            Range::Float(..) => self.float(value as f64),
        }
    }

    fn float<E: Error>(self, value: f64) -> Result<u64, E> {
        if matches!(self.0.range, Range::Integer(..)) {
            return if value.fract() != 0.0 || !value.is_finite() {
                Err(E::custom(format_args!("must be {}, got {value}", Expected(self.0))))
            } else if LEAST_READ < value && value < MOST_READ {
                self.integer(value as i128)
            } else {
                Err(self.out_of_range(value))
            };
        }
        if !self.0.range.admits(value) {
            return Err(self.out_of_range(value));
        }
        if self.0.scalar != Scalar::Float {
            return Ok(value.to_bits());
        }
        let narrow = value as f32;
        if narrow.is_infinite() && value.is_finite() {
            return Err(self.out_of_range(value));
        }
        Ok(u64::from(narrow.to_bits()))
    }

    fn out_of_range<E: Error>(self, value: impl fmt::Display) -> E {
        E::custom(format_args!("is out of range: must be {}, got {value}", Expected(self.0)))
    }
}

/// What is accepted, in words.
struct Expected(Element);

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0.form, self.0.range) {
            (JsonForm::Boolean, _) => f.write_str("true or false"),
            (JsonForm::Letter, _) => f.write_str("a text of exactly one byte"),
            (JsonForm::Decimal, Range::Integer(low, high)) => {
                write!(f, "a text of digits from {low} to {high}")
            }
            (JsonForm::Number, Range::Integer(low, high)) => {
                write!(f, "a whole number from {low} to {high}")
            }
            (JsonForm::Number | JsonForm::Decimal, Range::Float(low, high))
                if low == f64::NEG_INFINITY && high == f64::INFINITY =>
            {
                write!(f, "a number ({})", c_word(Some(self.0.scalar)))
            }
            (JsonForm::Number | JsonForm::Decimal, Range::Float(low, high)) => {
                write!(f, "a number from {low} to {high}")
            }
        }
    }
}

impl Visitor<'_> for ElementSeed {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Expected(self.0), f)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<u64, E> {
        if self.0.form == JsonForm::Boolean {
            return Ok(u64::from(value));
        }
        Err(E::custom(format_args!("must be {}, got {value}", Expected(self.0))))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<u64, E> {
        self.integer(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<u64, E> {
        self.integer(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<u64, E> {
        self.float(value)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<u64, E> {
        match (self.0.form, text.as_bytes()) {
            (JsonForm::Letter, [letter]) => return Ok(self.0.scalar.normalise(u64::from(*letter))),
            (JsonForm::Number, _) if matches!(self.0.range, Range::Float(..)) => match text {
                "NaN" => return self.float(f64::NAN),
                "Infinity" => return self.float(f64::INFINITY),
                "-Infinity" => return self.float(f64::NEG_INFINITY),
                _ => {}
            },
            _ if self.0.takes_decimal() => {
                if let Some(value) = self.0.decimal(text) {
                    return match self.0.range {
                        Range::Integer(low, high) if (low..=high).contains(&value) => Ok(value as u64),
                        Range::Integer(..) | Range::Float(..) => Err(self.out_of_range(value)),
                    };
                }
            }
            _ => {}
        }
        let quoted: String = text.chars().take(MOST_QUOTED).collect();
        Err(E::custom(format_args!("must be {}, got the text {quoted:?}", Expected(self.0))))
    }
}
