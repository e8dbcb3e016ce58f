//! Bounds what patterns cost to compile: a repetition with a count is compiled as that many copies, and `.{1,2097152}` is
//! short. Counts that make too many copies are widened for the validator (`{1,2097152}` to `{1,}`), so that it accepts more
//! than the schema says and never less; what clients see of the schema does not change.

use std::borrow::Cow;

use serde_json::{Map, Value};

/// How many copies of single characters the counts of one pattern may make.
const MOST_OF_PATTERN: usize = 10_000;
/// The same for all patterns of a schema.
const MOST_OF_SCHEMA: usize = 50_000;
/// What counts are widened beyond, one after the other, until the pattern is within its bound.
const WIDENED_BEYOND: [usize; 2] = [100, 0];

/// A piece of a pattern.
enum Token<'p> {
    /// What a repetition repeats, and about how many states it takes.
    Atom(&'p str, usize),
    Open(&'p str),
    Close,
    Count {
        min: usize,
        max: Option<usize>,
    },
    Other(&'p str),
}

/// The schema with patterns that can be compiled at a bounded cost.
pub(super) fn with_bounded_patterns(schema: &Value) -> Cow<'_, Value> {
    let mut left = MOST_OF_SCHEMA;
    if is_within(schema, &mut left) {
        return Cow::Borrowed(schema);
    }
    let (mut bounded, mut left) = (schema.clone(), MOST_OF_SCHEMA);
    bound(&mut bounded, &mut left);
    Cow::Owned(bounded)
}

/// Whether every pattern is within its bound, and all of them are together.
fn is_within(schema: &Value, left: &mut usize) -> bool {
    let mut fits = |pattern: &str| {
        let copies = copies(pattern, usize::MAX);
        let remaining = left.checked_sub(copies).filter(|_| copies <= MOST_OF_PATTERN);
        remaining.is_some_and(|remaining| {
            *left = remaining;
            true
        })
    };
    match schema {
        Value::Array(items) => items.iter().all(|item| is_within(item, left)),
        Value::Object(members) => {
            let own = members.get("pattern").and_then(Value::as_str).is_none_or(&mut fits);
            let named = members.get("patternProperties").and_then(Value::as_object);
            own && named.is_none_or(|named| named.keys().all(|pattern| fits(pattern)))
                && members.iter().filter(is_read).all(|(_, member)| is_within(member, left))
        }
        _ => true,
    }
}

fn bound(schema: &mut Value, left: &mut usize) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(|item| bound(item, left)),
        Value::Object(members) => {
            if let Some(Value::String(pattern)) = members.get_mut("pattern")
                && let Some(wider) = widened(pattern, left)
            {
                *pattern = wider;
            }
            if let Some(Value::Object(named)) = members.get_mut("patternProperties") {
                bound_names(named, left);
            }
            let read = members.iter_mut().filter(|(name, member)| is_read(&(*name, &**member)));
            read.for_each(|(_, member)| bound(member, left));
        }
        _ => {}
    }
}

/// The values of `enum` are no schemas.
fn is_read((name, member): &(&String, &Value)) -> bool {
    *name != "enum" || !member.is_array()
}

/// A wider pattern of names fits more of them, and what the schema says of some of these is not known.
fn bound_names(named: &mut Map<String, Value>, left: &mut usize) {
    for (pattern, schema) in std::mem::take(named) {
        match widened(&pattern, left) {
            Some(wider) => named.insert(wider, Value::Bool(true)),
            None => named.insert(pattern, schema),
        };
    }
}

/// A pattern within its bound, unless it is already.
fn widened(pattern: &str, left: &mut usize) -> Option<String> {
    let most = MOST_OF_PATTERN.min(*left);
    let whole = copies(pattern, usize::MAX);
    if whole <= most {
        *left -= whole;
        return None;
    }
    // Below a negation what is wider fits less.
    if pattern.contains("(?!") || pattern.contains("(?<!") {
        return Some(String::new());
    }
    let (beyond, used) = WIDENED_BEYOND
        .into_iter()
        .map(|beyond| (beyond, copies(pattern, beyond)))
        .find(|(_, copies)| *copies <= most)
        .unwrap_or((0, 0));
    *left -= used;
    Some(rewritten(pattern, beyond))
}

/// How many copies counts make beyond what stands in the pattern, those beyond a limit being widened.
fn copies(pattern: &str, beyond: usize) -> usize {
    // Of each group that is open what stands before it; what the present one holds, and its last piece.
    let (mut before, mut sum, mut last) = (Vec::new(), 0_usize, 0_usize);
    let mut copied = 0_usize;
    for token in tokens(pattern) {
        match token {
            Token::Atom(_, weight) => (sum, last) = (sum.saturating_add(weight), weight),
            Token::Open(_) => before.push(std::mem::take(&mut sum)),
            Token::Close => {
                last = sum;
                sum = sum.saturating_add(before.pop().unwrap_or_default());
            }
            Token::Count { min, max } => {
                let count = max.unwrap_or(min).max(min);
                let count = if count > beyond { min.min(beyond) } else { count };
                let more = last.saturating_mul(count.saturating_sub(1));
                (sum, last, copied) =
                    (sum.saturating_add(more), last.saturating_add(more), copied.saturating_add(more));
            }
            Token::Other(_) => {}
        }
    }
    copied
}

fn rewritten(pattern: &str, beyond: usize) -> String {
    let write = |token| match token {
        Token::Atom(text, _) | Token::Open(text) | Token::Other(text) => Cow::Borrowed(text),
        Token::Close => Cow::Borrowed(")"),
        Token::Count { min, max } => {
            let end = if max.is_some_and(|max| max != min) { max } else { None };
            match (min.max(max.unwrap_or(min)) > beyond, min.min(beyond), end) {
                (true, 0, _) => Cow::Borrowed(if min == 0 { "*" } else { "+" }),
                (true, min, _) => Cow::Owned(format!("{{{min},}}")),
                (false, min, Some(end)) => Cow::Owned(format!("{{{min},{end}}}")),
                (false, min, None) if max.is_none() => Cow::Owned(format!("{{{min},}}")),
                (false, min, None) => Cow::Owned(format!("{{{min}}}")),
            }
        }
    };
    tokens(pattern).map(write).collect()
}

/// The pieces of a pattern in their order, all of its text.
fn tokens(pattern: &str) -> impl Iterator<Item = Token<'_>> {
    let mut rest = pattern;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let counted = count(rest);
        let length = match first {
            '\\' => escape_length(rest),
            '[' => class_length(rest),
            '{' => counted.as_ref().map_or(1, |(length, ..)| *length),
            '(' if rest.starts_with("(?") => 2,
            _ => first.len_utf8(),
        };
        let (text, after) = rest.split_at_checked(length).unwrap_or((rest, ""));
        rest = after;
        Some(match (first, counted) {
            ('{', Some((_, min, max))) => Token::Count { min, max },
            ('(', _) => Token::Open(text),
            (')', _) => Token::Close,
            ('*' | '+' | '?' | '|' | '^' | '$', _) => Token::Other(text),
            _ => Token::Atom(text, states(text)),
        })
    })
}

/// About how many states one piece takes: classes of Unicode are written as the bytes of UTF-8.
fn states(atom: &str) -> usize {
    let names = atom.matches("\\p").count() + atom.matches("\\P").count();
    let is_wide = atom == "."
        || atom.starts_with("[^")
        || ["\\S", "\\W", "\\D"].iter().any(|class| atom.contains(class));
    1 + 200 * names + if is_wide { 10 } else { 0 }
}

/// How long `\d`, `\p{L}` or `\u{1f600}` is.
fn escape_length(text: &str) -> usize {
    let Some(escaped) = text[1..].chars().next() else { return 1 };
    let end = 1 + escaped.len_utf8();
    match (escaped, text[end..].starts_with('{').then(|| text[end..].find('}')).flatten()) {
        ('p' | 'P' | 'u' | 'x', Some(close)) => end + close + 1,
        _ => end,
    }
}

/// How long a class in brackets is.
fn class_length(text: &str) -> usize {
    let mut escaped = false;
    let end = text.char_indices().skip(1).find(|(_, character)| {
        let closes = *character == ']' && !escaped;
        escaped = *character == '\\' && !escaped;
        closes
    });
    end.map_or(text.len(), |(at, _)| at + 1)
}

/// `{2}`, `{2,}` or `{2,5}` at the beginning of a text: its length and its counts.
fn count(text: &str) -> Option<(usize, usize, Option<usize>)> {
    let (inside, _) = text.strip_prefix('{')?.split_once('}')?;
    let (min, max) = inside.split_once(',').map_or((inside, Some(inside)), |(min, max)| (min, Some(max)));
    let number = |digits: &str| {
        let are_digits = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        are_digits.then(|| digits.parse().unwrap_or(usize::MAX))
    };
    let max = match max {
        Some("") | None => None,
        Some(digits) => Some(number(digits)?),
    };
    Some((inside.len() + 2, number(min)?, max))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::schema::Schema;

    fn check(schema: Value, expect: Value) {
        assert_eq!(*with_bounded_patterns(&schema), expect, "{schema}");
    }

    #[test]
    fn counts_that_make_too_many_copies_are_widened_and_others_are_not() {
        for (pattern, expect) in [
            ("^.{1,2097152}", "^.{1,}"),
            ("^[a-z]{0,262144}$", "^[a-z]*$"),
            ("a{200000}", "a{100,}"),
            ("((a{1,90}){1,90}){1,90}", "((a+)+)+"),
            ("(x{0,99999}|y{3}){2,5}", "(x*|y{3}){2,5}"),
            ("(?!.{1,90000}$)a", ""),
            (r"\p{L}{1,60}", r"\p{L}+"),
            ("[{]{1,64}x{,5}[\\]{9}]{2}", "[{]{1,64}x{,5}[\\]{9}]{2}"),
            (r"\{9999999\}\u{1f600}", r"\{9999999\}\u{1f600}"),
            ("^[0-9]{1,1000}$", "^[0-9]{1,1000}$"),
        ] {
            check(json!({ "pattern": pattern }), json!({ "pattern": expect }));
        }
        check(
            json!({ "patternProperties": { "^a{1,99999}$": { "type": "string" }, "^b": { "pattern": "c{1,99999}" } } }),
            json!({ "patternProperties": { "^a{1,}$": true, "^b": { "pattern": "c{1,}" } } }),
        );
    }

    #[test]
    fn a_schema_with_many_large_patterns_is_compiled_within_a_bound() {
        let one = json!({ "type": "string", "pattern": "^.{1,2097152}", "maxLength": 3 });
        let properties: Map<String, Value> =
            (0..2_000).map(|index| (format!("p{index}"), one.clone())).collect();
        let validator = Schema::new(json!({ "properties": properties })).compile().expect("a schema");
        assert_eq!(validator.faults(&json!({ "p0": "abc" }), 10).len(), 0);
        assert_eq!(validator.faults(&json!({ "p0": "" }), 10).len(), 1);
    }
}
