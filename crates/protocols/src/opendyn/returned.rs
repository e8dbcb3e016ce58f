//! What a function returned, compared with what its document says about success.

use toolmux_dylib_host::plan::Condition;
use toolmux_dylib_host::scalar::Scalar;

use super::document::Success;

/// A return value, as far as `success` looks at it.
#[derive(Clone, Copy)]
pub(super) enum Returned {
    Integer(i128),
    Float(f64),
    Null,
    Pointer,
}

impl Returned {
    pub(super) fn words(self) -> String {
        match self {
            Returned::Integer(value) => value.to_string(),
            Returned::Float(value) => value.to_string(),
            Returned::Null => "NULL".to_owned(),
            Returned::Pointer => "a pointer".to_owned(),
        }
    }

    pub(super) fn of(scalar: Scalar, word: u64) -> Self {
        match scalar.integer(word) {
            Some(value) => Returned::Integer(value),
            None => Returned::Float(float(scalar, word)),
        }
    }
}

impl Success {
    pub(super) fn is_met(&self, returned: Returned) -> bool {
        match returned {
            Returned::Integer(value) => self.holds(value),
            // Whole numbers of a document are far below what a float rounds.
            Returned::Float(value) => self.holds_float(value),
            Returned::Null => *self != Success::NonNull && self.holds(0),
            Returned::Pointer => matches!(self, Success::NonNull | Success::IsNot(0)),
        }
    }

    fn holds(&self, value: i128) -> bool {
        match self {
            Success::OneOf(good) => good.iter().any(|good| i128::from(*good) == value),
            Success::IsNot(bad) => value != i128::from(*bad),
            Success::Above(bound) => value > i128::from(*bound),
            Success::AtLeast(bound) => value >= i128::from(*bound),
            Success::NonNull => value != 0,
            // Told by the output that it is the length of.
            Success::Fits => true,
        }
    }

    #[expect(clippy::float_cmp, reason = "a return value is compared with exactly what the document says")]
    fn holds_float(&self, value: f64) -> bool {
        match self {
            Success::OneOf(good) => good.iter().any(|good| *good as f64 == value),
            Success::IsNot(wanted) => value != *wanted as f64,
            Success::Above(bound) => value > *bound as f64,
            Success::AtLeast(bound) => value >= *bound as f64,
            Success::NonNull => value != 0.0,
            Success::Fits => true,
        }
    }
}

impl Success {
    /// The same in terms of the worker.
    pub(super) fn condition(&self) -> Condition {
        match self {
            Success::OneOf(good) => Condition::OneOf(good.clone()),
            Success::IsNot(bad) => Condition::IsNot(*bad),
            Success::Above(bound) => Condition::Above(*bound),
            Success::AtLeast(bound) => Condition::AtLeast(*bound),
            Success::NonNull => Condition::NonNull,
            Success::Fits => Condition::Fits,
        }
    }
}

pub(super) fn float(scalar: Scalar, word: u64) -> f64 {
    if scalar == Scalar::Float { f64::from(f32::from_bits(word as u32)) } else { f64::from_bits(word) }
}
