//! What a YAML scalar stands for, by the core schema of YAML 1.2.

use serde_json::{Number, Value};

/// A scalar without quotes and without a tag.
pub(super) fn plain_value(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => number(text).map_or_else(|| Value::String(text.to_owned()), Value::Number),
    }
}

/// A scalar with a tag of the core schema. One that does not fit its tag stays a text.
pub(super) fn tagged_value(text: &str, tag: &str) -> Value {
    match (tag, plain_value(text)) {
        ("null", Value::Null) => Value::Null,
        ("bool", value @ Value::Bool(_)) | ("int" | "float", value @ Value::Number(_)) => value,
        _ => Value::String(text.to_owned()),
    }
}

fn number(text: &str) -> Option<Number> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if let Some(octal) = text.strip_prefix("0o") {
        return plain_digits(octal, 8);
    }
    if let Some(hexadecimal) = text.strip_prefix("0x") {
        return plain_digits(hexadecimal, 16);
    }
    let first = digits.bytes().next()?;
    if !(first.is_ascii_digit() || first == b'.') || !digits.bytes().all(is_of_number) {
        return None;
    }
    let unsigned = text.strip_prefix('+').unwrap_or(text);
    let whole = unsigned.parse::<u64>().ok().map(Number::from);
    let whole = whole.or_else(|| unsigned.parse::<i64>().ok().map(Number::from));
    whole.or_else(|| Number::from_f64(unsigned.parse().ok()?))
}

fn plain_digits(text: &str, radix: u32) -> Option<Number> {
    let plain = !text.is_empty() && text.chars().all(|c| c.is_digit(radix));
    plain.then(|| u64::from_str_radix(text, radix).ok()).flatten().map(Number::from)
}

fn is_of_number(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'-' | b'+')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn plain_scalars_are_what_the_core_schema_says() {
        for (text, expect) in [
            ("7", json!(7)),
            ("-7", json!(-7)),
            ("+7", json!(7)),
            ("007", json!(7)),
            ("18446744073709551615", json!(u64::MAX)),
            ("1.50", json!(1.5)),
            (".5", json!(0.5)),
            ("1e3", json!(1000.0)),
            ("0x1F", json!(31)),
            ("0o17", json!(15)),
            ("~", json!(null)),
            ("TRUE", json!(true)),
            ("yes", json!("yes")),
            ("1.2.3", json!("1.2.3")),
            ("2020-01-01", json!("2020-01-01")),
            (".inf", json!(".inf")),
            (".", json!(".")),
            ("-", json!("-")),
            ("1_000", json!("1_000")),
            ("0x", json!("0x")),
            ("NaN", json!("NaN")),
            ("inf", json!("inf")),
        ] {
            assert_eq!(plain_value(text), expect, "{text}");
        }
        assert_eq!(tagged_value("7", "str"), json!("7"));
        assert_eq!(tagged_value("7", "int"), json!(7));
        assert_eq!(tagged_value("x", "int"), json!("x"));
    }
}
