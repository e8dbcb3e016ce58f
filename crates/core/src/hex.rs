//! Bytes as hexadecimal digits, and back.

use std::fmt::Write;

/// Two lower-case digits for each byte.
pub fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        write!(text, "{byte:02x}").expect("writing to a text cannot fail");
        text
    })
}

/// The bytes of such a text, in upper case too; none when it is not one.
pub fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> =
        text.chars().map(|letter| letter.to_digit(16).map(|digit| digit as u8)).collect();
    let digits = digits.filter(|digits| digits.len().is_multiple_of(2))?;
    Some(digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_from_their_digits() {
        let bytes = [0, 1, 0x7f, 0xff];
        assert_eq!(to_hex(&bytes), "00017fff");
        assert_eq!(from_hex("00017Fff").as_deref(), Some(&bytes[..]));
        assert_eq!(from_hex(""), Some(Vec::new()));
    }

    #[test]
    fn what_is_not_pairs_of_digits_is_refused() {
        for text in ["0", "0g", "+1", "é0", " 1"] {
            assert_eq!(from_hex(text), None, "{text}");
        }
    }
}
