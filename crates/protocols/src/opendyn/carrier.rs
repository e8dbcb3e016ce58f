//! How one value crosses between JSON and the bytes of a CALL or RESULT, either way.

use std::sync::Arc;

use toolmux_dylib_host::scalar::{Class, Scalar};

use super::document::{Encoding, Form, Kind};
use super::handles::Slot;
use super::layout::Layout;

/// What stands for a value among the bytes.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Carrier {
    /// A scalar by value.
    Word(Element),
    /// A pointer to one element.
    One(Element),
    /// A pointer to many elements.
    Many(Element),
    /// A C string.
    Text,
    /// Bytes that may hold a NUL.
    Bytes(Encoding),
    /// An object of the library, which the JSON side knows as `tag#…`, with random bits.
    Handle(String),
    /// A structure, by value or by pointer.
    Structure(Arc<Layout>),
    /// A pointer to many structures.
    Structures(Arc<Layout>),
    /// Pointers to texts.
    Texts,
    /// A text that is JSON.
    Json,
    /// Rows that a callback collected, each an object by the names of its columns.
    Rows,
}

/// One number, and what it looks like in JSON.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Element {
    pub(super) scalar: Scalar,
    pub(super) form: JsonForm,
    pub(super) range: Range,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JsonForm {
    Boolean,
    Number,
    /// A whole number as a text, for readers whose numbers end at 53 bits.
    Decimal,
    /// A text of exactly one byte.
    Letter,
}

/// Which values are accepted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Range {
    Integer(i128, i128),
    Float(f64, f64),
}

impl Carrier {
    /// What stands for it in a RESULT.
    pub(super) fn slot(&self) -> Slot {
        match self {
            Carrier::Word(_) => Slot::Word,
            Carrier::Handle(tag) => Slot::Handle(tag.clone()),
            Carrier::One(_)
            | Carrier::Many(_)
            | Carrier::Text
            | Carrier::Bytes(_)
            | Carrier::Rows
            | Carrier::Texts
            | Carrier::Json => Slot::Bytes,
            Carrier::Structure(layout) | Carrier::Structures(layout) => {
                Slot::Structures(layout.size, layout.pointer_count())
            }
        }
    }
}

impl Element {
    /// The element that a form describes; nothing when JSON and C contradict each other.
    pub(super) fn of(form: &Form, scalar: Scalar) -> Option<Self> {
        let float = scalar.class() == Class::Float;
        let json_form = match form.kind {
            Kind::Boolean if !float => JsonForm::Boolean,
            Kind::Integer if !float => JsonForm::Number,
            Kind::Array if scalar == Scalar::Bool => JsonForm::Boolean,
            Kind::Number | Kind::Array => JsonForm::Number,
            Kind::String if is_letter(scalar) => JsonForm::Letter,
            Kind::String if is_wide(scalar) => JsonForm::Decimal,
            Kind::Boolean | Kind::Integer | Kind::String | Kind::Object => return None,
        };
        Some(Element { scalar, form: json_form, range: range(form, scalar) })
    }

    /// Whether a decimal text is taken too: 8-byte integers do not fit the numbers of every reader.
    pub(super) fn takes_decimal(self) -> bool {
        self.form == JsonForm::Decimal || (self.form == JsonForm::Number && is_wide(self.scalar))
    }

    /// Which decimal texts are read, as a regular expression. That their number is in range is not part of it: a
    /// pattern that says so is hundreds of characters long, and every reader of the list would pay for it.
    pub(super) fn decimal_pattern(self) -> &'static str {
        if self.scalar.class() == Class::Unsigned { "^[0-9]{1,20}$" } else { "^-?[0-9]{1,19}$" }
    }

    /// The number of a text that fits the pattern.
    pub(super) fn decimal(self, text: &str) -> Option<i128> {
        let unsigned = self.scalar.class() == Class::Unsigned;
        let digits = if unsigned { text } else { text.strip_prefix('-').unwrap_or(text) };
        let most = if unsigned { 20 } else { 19 };
        let fits = (1..=most).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
        fits.then(|| text.parse().ok()).flatten()
    }
}

/// Floats from here on, either way, become an infinity as a C `float`: its largest value and half a step.
pub(super) const FLOAT_END: f64 = (1_u128 << 127) as f64 * 2.0 - (1_u128 << 103) as f64;

impl Range {
    /// Whether a float, which may be NaN or an infinity, is within. NaN is only where there are no bounds.
    pub(super) fn admits(self, value: f64) -> bool {
        match self {
            Range::Integer(..) => false,
            Range::Float(f64::NEG_INFINITY, f64::INFINITY) => true,
            Range::Float(low, high) => (low..=high).contains(&value),
        }
    }

    pub(super) fn is_empty(self) -> bool {
        match self {
            Range::Integer(low, high) => low > high,
            Range::Float(low, high) => low > high,
        }
    }
}

/// Types of which one is a letter of a text.
pub(super) fn is_letter(scalar: Scalar) -> bool {
    matches!(scalar, Scalar::Char | Scalar::UnsignedChar)
}

fn is_wide(scalar: Scalar) -> bool {
    scalar.size() == 8 && matches!(scalar.class(), Class::Signed | Class::Unsigned)
}

fn range(form: &Form, scalar: Scalar) -> Range {
    match scalar.range() {
        Some((low, high)) => {
            let whole = |number: &serde_json::Number| {
                number.as_i128().or_else(|| number.as_f64().map(|float| float as i128))
            };
            let low = form.minimum.as_ref().and_then(whole).map_or(low, |own| own.max(low));
            let high = form.maximum.as_ref().and_then(whole).map_or(high, |own| own.min(high));
            Range::Integer(low, high)
        }
        None => {
            let low = form.minimum.as_ref().and_then(serde_json::Number::as_f64);
            let high = form.maximum.as_ref().and_then(serde_json::Number::as_f64);
            Range::Float(low.unwrap_or(f64::NEG_INFINITY), high.unwrap_or(f64::INFINITY))
        }
    }
}
