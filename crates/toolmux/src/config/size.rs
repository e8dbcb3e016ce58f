//! Sizes in a configuration.

use serde::de::{Deserializer, Error, Visitor};
use toolmux_core::size::{SIZE, parse_size};

/// A size of at least one byte.
pub(super) fn size<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<usize>, D::Error> {
    deserializer.deserialize_any(Size).map(Some)
}

struct Size;

impl Visitor<'_> for Size {
    type Value = usize;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(SIZE)
    }

    fn visit_i64<E: Error>(self, bytes: i64) -> Result<usize, E> {
        let size = usize::try_from(bytes).ok().filter(|size| *size > 0);
        size.ok_or_else(|| E::custom(SIZE))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<usize, E> {
        parse_size(text).ok_or_else(|| E::custom(SIZE))
    }
}
