//! The C number types and how one travels: always as 8 bytes, sign- or zero-extended, or as float bits.
//! Sizes and the sign of `char` are those of the host's C ABI, never fixed widths.

use std::ffi::{c_char, c_int, c_long, c_longlong, c_short};

use serde::{Deserialize, Serialize};

// Buffers travel as the bytes that C sees, and arguments are read through pointers to 8-byte words.
const _: () = assert!(cfg!(target_endian = "little"), "only little-endian hosts are supported");

/// A C type that is passed by value, and the element type of every buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scalar {
    Bool,
    Char,
    UnsignedChar,
    Short,
    UnsignedShort,
    Int,
    UnsignedInt,
    Long,
    UnsignedLong,
    LongLong,
    UnsignedLongLong,
    Float,
    Double,
}

/// How the bits of a [`Scalar`] are to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    Bool,
    Signed,
    Unsigned,
    Float,
}

impl Scalar {
    /// Every scalar, in the order of the specification.
    pub const ALL: [Self; 13] = [
        Self::Bool,
        Self::Char,
        Self::UnsignedChar,
        Self::Short,
        Self::UnsignedShort,
        Self::Int,
        Self::UnsignedInt,
        Self::Long,
        Self::UnsignedLong,
        Self::LongLong,
        Self::UnsignedLongLong,
        Self::Float,
        Self::Double,
    ];

    /// Bytes of one element in memory.
    pub const fn size(self) -> usize {
        match self {
            Self::Bool | Self::Char | Self::UnsignedChar => 1,
            Self::Short | Self::UnsignedShort => size_of::<c_short>(),
            Self::Int | Self::UnsignedInt => size_of::<c_int>(),
            Self::Long | Self::UnsignedLong => size_of::<c_long>(),
            Self::LongLong | Self::UnsignedLongLong => size_of::<c_longlong>(),
            Self::Float => 4,
            Self::Double => 8,
        }
    }

    pub const fn class(self) -> Class {
        match self {
            Self::Bool => Class::Bool,
            Self::Char if c_char::MIN == 0 => Class::Unsigned,
            Self::Char | Self::Short | Self::Int | Self::Long | Self::LongLong => Class::Signed,
            Self::UnsignedChar
            | Self::UnsignedShort
            | Self::UnsignedInt
            | Self::UnsignedLong
            | Self::UnsignedLongLong => Class::Unsigned,
            Self::Float | Self::Double => Class::Float,
        }
    }

    /// Smallest and largest value of an integer type; nothing for the floating types.
    pub const fn range(self) -> Option<(i128, i128)> {
        let bits = self.size() as u32 * 8;
        match self.class() {
            Class::Bool => Some((0, 1)),
            Class::Signed => Some((-(1 << (bits - 1)), (1 << (bits - 1)) - 1)),
            Class::Unsigned => Some((0, (1 << bits) - 1)),
            Class::Float => None,
        }
    }

    /// The value as an integer, or nothing for the floating types.
    pub const fn integer(self, wire: u64) -> Option<i128> {
        match self.class() {
            Class::Bool | Class::Unsigned => Some(wire as i128),
            Class::Signed => Some(wire.cast_signed() as i128),
            Class::Float => None,
        }
    }

    /// What C would see of `wire`: cut to the size of the type and extended again; any true is 1.
    pub const fn normalise(self, wire: u64) -> u64 {
        let unused = 64 - self.size() as u32 * 8;
        match self.class() {
            Class::Bool => (wire & 0xff != 0) as u64,
            Class::Signed => ((wire << unused).cast_signed() >> unused).cast_unsigned(),
            Class::Unsigned | Class::Float => (wire << unused) >> unused,
        }
    }

    /// Reads one element of a buffer. Bytes that are missing count as zero.
    pub fn read(self, element: &[u8]) -> u64 {
        let size = self.size().min(element.len());
        let mut bytes = [0; 8];
        bytes[..size].copy_from_slice(&element[..size]);
        self.normalise(u64::from_le_bytes(bytes))
    }

    /// Appends one element: what a buffer in a CALL or RESULT is made of.
    pub fn write(self, wire: u64, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.normalise(wire).to_le_bytes()[..self.size()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn both_ends_of_every_integer_range_survive_memory() {
        for scalar in Scalar::ALL {
            let Some((low, high)) = scalar.range() else { continue };
            for value in [low, high] {
                let mut element = Vec::new();
                scalar.write(value as u64, &mut element);
                assert_eq!(element.len(), scalar.size());
                assert_eq!(scalar.integer(scalar.read(&element)), Some(value), "{scalar:?}");
            }
        }
    }

    #[test]
    fn any_true_is_one() {
        assert_eq!(Scalar::Bool.read(&[7]), 1);
        assert_eq!(Scalar::Bool.read(&[]), 0);
    }

    proptest! {
        #[test]
        fn normalising_twice_changes_nothing(wire: u64, index in 0..13usize) {
            let scalar = Scalar::ALL[index];
            let once = scalar.normalise(wire);
            prop_assert_eq!(scalar.normalise(once), once);
            let mut element = Vec::new();
            scalar.write(wire, &mut element);
            prop_assert_eq!(scalar.read(&element), once);
        }
    }
}
