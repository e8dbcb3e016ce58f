//! Integer constant expressions of C, as `#define`, `enum` and the sizes of arrays have them.

/// How deep parentheses and names within names are followed.
const MOST_DEPTH: usize = 32;

/// The value of an expression; nothing when it is no integer constant. `lookup` gives the values of names.
pub(super) fn evaluate(text: &str, lookup: &dyn Fn(&str, usize) -> Option<i128>) -> Option<i128> {
    evaluate_within(text, lookup, 0)
}

/// The same for a text that stands at a depth of names already.
pub(super) fn evaluate_within(
    text: &str,
    lookup: &dyn Fn(&str, usize) -> Option<i128>,
    depth: usize,
) -> Option<i128> {
    if depth > MOST_DEPTH {
        return None;
    }
    let mut parser = Parser { rest: text.trim(), lookup, depth };
    let value = parser.binary(0)?;
    parser.rest.trim().is_empty().then_some(value)
}

struct Parser<'a> {
    rest: &'a str,
    lookup: &'a dyn Fn(&str, usize) -> Option<i128>,
    depth: usize,
}

/// Operators with their precedence, the longer ones first.
const OPERATORS: [(&str, u8); 16] = [
    ("<<", 8),
    (">>", 8),
    ("<=", 7),
    (">=", 7),
    ("==", 6),
    ("!=", 6),
    ("&&", 2),
    ("||", 1),
    ("<", 7),
    (">", 7),
    ("+", 9),
    ("-", 9),
    ("*", 10),
    ("/", 10),
    ("%", 10),
    ("&", 5),
];
const LATE: [(&str, u8); 2] = [("^", 4), ("|", 3)];

impl Parser<'_> {
    fn binary(&mut self, least: u8) -> Option<i128> {
        let mut left = self.unary()?;
        loop {
            self.rest = self.rest.trim_start();
            let found = OPERATORS.iter().chain(&LATE).find(|(sign, _)| self.rest.starts_with(sign));
            let Some((sign, precedence)) = found.filter(|(_, precedence)| *precedence > least) else {
                return Some(left);
            };
            self.rest = &self.rest[sign.len()..];
            let right = self.binary(*precedence)?;
            left = apply(sign, left, right)?;
        }
    }

    fn unary(&mut self) -> Option<i128> {
        self.rest = self.rest.trim_start();
        self.depth += 1;
        if self.depth > MOST_DEPTH {
            return None;
        }
        let value = self.operand();
        self.depth -= 1;
        value
    }

    fn operand(&mut self) -> Option<i128> {
        let first = self.rest.chars().next()?;
        match first {
            '-' => self.after_sign().and_then(i128::checked_neg),
            '+' => self.after_sign(),
            '~' => self.after_sign().map(|value| !value),
            '!' => self.after_sign().map(|value| i128::from(value == 0)),
            '(' => self.parenthesis(),
            '\'' => self.letter(),
            '0'..='9' => self.number(),
            _ => self.name(),
        }
    }

    fn after_sign(&mut self) -> Option<i128> {
        self.rest = &self.rest[1..];
        self.unary()
    }

    /// An expression in parentheses, or a cast to an integer type.
    fn parenthesis(&mut self) -> Option<i128> {
        let inner_end = self.rest.find(')')?;
        if is_integer_type(&self.rest[1..inner_end]) {
            self.rest = &self.rest[inner_end + 1..];
            return self.unary();
        }
        self.rest = &self.rest[1..];
        let value = self.binary(0)?;
        self.rest = self.rest.trim_start().strip_prefix(')')?;
        Some(value)
    }

    fn letter(&mut self) -> Option<i128> {
        let mut letters = self.rest[1..].chars();
        let letter = letters.next().filter(|letter| letter.is_ascii() && *letter != '\\')?;
        self.rest = letters.as_str().strip_prefix('\'')?;
        Some(i128::from(u32::from(letter)))
    }

    fn number(&mut self) -> Option<i128> {
        let length = self.rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(length);
        if rest.starts_with('.') {
            return None;
        }
        self.rest = rest;
        let digits = digits.trim_end_matches(['u', 'U', 'l', 'L']);
        match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
            Some(hex) => i128::from_str_radix(hex, 16).ok(),
            None if digits.len() > 1 && digits.starts_with('0') => i128::from_str_radix(digits, 8).ok(),
            None => digits.parse().ok(),
        }
    }

    fn name(&mut self) -> Option<i128> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let length = self.rest.find(|c: char| !is_part(c)).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(length);
        self.rest = rest;
        if name.is_empty() || rest.trim_start().starts_with('(') {
            return None;
        }
        (self.lookup)(name, self.depth)
    }
}

fn apply(sign: &str, left: i128, right: i128) -> Option<i128> {
    let shift = || u32::try_from(right).ok().filter(|by| *by < 64);
    Some(match sign {
        "<<" => left.checked_shl(shift()?)?,
        ">>" => left.checked_shr(shift()?)?,
        "+" => left.checked_add(right)?,
        "-" => left.checked_sub(right)?,
        "*" => left.checked_mul(right)?,
        "/" => left.checked_div(right)?,
        "%" => left.checked_rem(right)?,
        "&" => left & right,
        "^" => left ^ right,
        "|" => left | right,
        "<" => i128::from(left < right),
        ">" => i128::from(left > right),
        "<=" => i128::from(left <= right),
        ">=" => i128::from(left >= right),
        "==" => i128::from(left == right),
        "!=" => i128::from(left != right),
        "&&" => i128::from(left != 0 && right != 0),
        "||" => i128::from(left != 0 || right != 0),
        _ => return None,
    })
}

fn is_integer_type(text: &str) -> bool {
    let mut words = text.split_whitespace().peekable();
    words.peek().is_some()
        && words.all(|word| {
            matches!(word, "unsigned" | "signed" | "int" | "long" | "short" | "char")
                || (word.ends_with("_t") && word.contains("int"))
                || word == "size_t"
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_of_headers_are_computed() {
        let known = |name: &str, _: usize| (name == "BASE").then_some(0x100);
        for (text, expect) in [
            ("42", Some(42)),
            ("0x10u", Some(16)),
            ("017", Some(15)),
            ("-1", Some(-1)),
            ("(1 << 4) | BASE", Some(0x110)),
            ("1 + 2 * 3 - 1", Some(6)),
            ("((unsigned int)3U)", Some(3)),
            ("'a'", Some(97)),
            ("(BASE|(10<<8))", Some(0xb00)),
            ("1.5", None),
            ("\"text\"", None),
            ("UNKNOWN", None),
            ("f(1)", None),
            ("1 / 0", None),
            ("", None),
        ] {
            assert_eq!(evaluate(text, &known), expect, "{text}");
        }
        assert_eq!(evaluate(&"(".repeat(10_000), &known), None);
    }
}
