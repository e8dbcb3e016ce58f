//! Sizes as people write them: a number of bytes, or `512MiB`.

use serde::de::{Deserializer, Error, Visitor};

/// What a size must be.
pub(super) const SIZE: &str = "a number of bytes, or a text such as \"512MiB\"";

const UNITS: [(&str, u32); 7] =
    [("KiB", 10), ("MiB", 20), ("GiB", 30), ("K", 10), ("M", 20), ("G", 30), ("B", 0)];

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
        read(text).ok_or_else(|| E::custom(SIZE))
    }
}

fn read(text: &str) -> Option<usize> {
    let text = text.trim();
    let unit = UNITS.iter().find_map(|(unit, bits)| Some((text.strip_suffix(unit)?, *bits)));
    let (number, bits) = unit.unwrap_or((text, 0));
    let number: usize = number.trim().parse().ok()?;
    number.checked_mul(1 << bits).filter(|size| *size > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_bytes_or_have_a_unit() {
        for (text, expect) in [
            ("512MiB", Some(512 << 20)),
            ("1 GiB", Some(1 << 30)),
            ("64K", Some(64 << 10)),
            ("100", Some(100)),
            ("100B", Some(100)),
            ("0", None),
            ("-1MiB", None),
            ("many", None),
            ("99999999999GiB", None),
        ] {
            assert_eq!(read(text), expect, "{text}");
        }
    }
}
