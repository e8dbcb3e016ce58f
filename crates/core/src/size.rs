//! Sizes as people write them: a number of bytes, or `512MiB`.

/// What a size must be.
pub const SIZE: &str = "a number of bytes, or a string such as \"512MiB\"";

const UNITS: [(&str, usize); 10] = [
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("K", 1 << 10),
    ("M", 1 << 20),
    ("G", 1 << 30),
    ("B", 1),
];

/// A size of at least one byte.
pub fn parse_size(text: &str) -> Option<usize> {
    let text = text.trim();
    let unit = UNITS.iter().find_map(|(unit, bytes)| Some((text.strip_suffix(unit)?, *bytes)));
    let (number, bytes) = unit.unwrap_or((text, 1));
    let number: usize = number.trim().parse().ok()?;
    number.checked_mul(bytes).filter(|size| *size > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_bytes_or_have_a_unit() {
        for (text, expect) in [
            ("512MiB", Some(512 << 20)),
            ("512MB", Some(512_000_000)),
            ("1 GiB", Some(1 << 30)),
            ("64K", Some(64 << 10)),
            ("100", Some(100)),
            ("100B", Some(100)),
            ("0", None),
            ("-1MiB", None),
            ("many", None),
            ("99999999999GiB", None),
        ] {
            assert_eq!(parse_size(text), expect, "{text}");
        }
    }
}
