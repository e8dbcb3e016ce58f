//! The text of a configuration as faults show it: keys and structure, never a value or a comment.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The text with every value and every comment starred out, each byte of the rest in its place.
pub(super) fn masked(text: &str) -> String {
    let (table, errors) = DeTable::parse_recoverable(text);
    match errors.iter().map(|error| error.span().unwrap_or(0..0).start).min() {
        None => starred(text, &hidden(text, table.get_ref())),
        Some(first) => masked_before(text, first),
    }
}

/// Keys whose texts say nothing that is secret.
const PLAIN: [&str; 24] = [
    "allow",
    "deny",
    "description",
    "era",
    "exclude",
    "expires",
    "in",
    "include",
    "input",
    "keep",
    "kind",
    "listen",
    "names",
    "output",
    "providers",
    "read_only",
    "request",
    "sandbox",
    "schema",
    "session",
    "timeout",
    "toolkit",
    "tools",
    "toolset",
];
/// Tables below which anything may be secret.
const SECRETIVE: [&str; 10] =
    ["arguments", "auth", "env", "fields", "headers", "key", "query", "secrets", "store", "values"];

/// The text for operators: every value that can be secret and every comment is starred out; numbers, switches and texts
/// of keys that hold no secret stay.
pub(crate) fn shown(text: &str) -> String {
    let (table, errors) = DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        return masked(text);
    }
    let mut plain = Vec::new();
    for (key, value) in table.get_ref() {
        plain_leaves(&mut vec![key.get_ref()], value, &mut plain);
    }
    let mut hidden = hidden(text, table.get_ref());
    hidden.retain(|range| !plain.contains(range));
    starred(text, &hidden)
}

/// Where values stand that are not secret.
fn plain_leaves<'a>(path: &mut Vec<&'a str>, value: &'a Spanned<DeValue<'_>>, found: &mut Vec<Range<usize>>) {
    match value.get_ref() {
        DeValue::Table(table) => {
            for (key, member) in table {
                path.push(key.get_ref());
                plain_leaves(path, member, found);
                path.pop();
            }
        }
        DeValue::Array(items) => items.iter().for_each(|item| plain_leaves(path, item, found)),
        leaf => {
            let is_text = matches!(leaf, DeValue::String(_));
            let tables = &path[..path.len().saturating_sub(1)];
            let is_secretive = tables.iter().any(|key| SECRETIVE.contains(key));
            if !is_secretive && (!is_text || path.last().is_some_and(|key| PLAIN.contains(key))) {
                found.push(value.span());
            }
        }
    }
}

/// The same for a text that breaks the rules of TOML at a place. What stands before the line of that place may be
/// whole, and tells keys from values; nothing does so for what follows.
fn masked_before(text: &str, place: usize) -> String {
    let place = text.floor_char_boundary(place.min(text.len()));
    let line = text[..place].rfind('\n').map_or(0, |end| end + 1);
    let (before, rest) = text.split_at(line);
    let Ok(table) = DeTable::parse(before) else { return stars(text) };
    let before = starred(before, &hidden(before, table.get_ref()));
    let key = leading_key(rest);
    before + &rest[..key] + &stars(&rest[key..])
}

/// How long the key at the beginning of a line is, with the `=` behind it, or the whole head of a table.
fn leading_key(line: &str) -> usize {
    let is_key = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ' ' | '\t');
    let key = line.find(|c| !is_key(c)).unwrap_or(line.len());
    match line[key..].chars().next() {
        Some('=') => key + 1,
        Some('[') if line[..key].trim().is_empty() => {
            let inside = line[key..].trim_start_matches('[');
            let start = line.len() - inside.len();
            let end = inside.find(|c| !is_key(c)).unwrap_or(inside.len());
            if inside[end..].starts_with(']') { start + end } else { start }
        }
        _ => 0,
    }
}

/// Where values and comments stand, in order.
fn hidden(text: &str, table: &DeTable<'_>) -> Vec<Range<usize>> {
    let mut values = Vec::new();
    for (_, value) in table {
        leaves(value, &mut values);
    }
    values.sort_by_key(|range| range.start);
    let mut hidden = Vec::new();
    let mut place = 0;
    for value in values.into_iter().chain(std::iter::once(text.len()..text.len())) {
        hidden.extend(comments(text, place..value.start.max(place)));
        place = value.end.max(place);
        hidden.push(value);
    }
    hidden
}

fn leaves(value: &Spanned<DeValue<'_>>, found: &mut Vec<Range<usize>>) {
    match value.get_ref() {
        DeValue::Table(table) => table.iter().for_each(|(_, member)| leaves(member, found)),
        DeValue::Array(items) => items.iter().for_each(|item| leaves(item, found)),
        _ => found.push(value.span()),
    }
}

/// The comments of a part of a text that holds no values. A quoted key may hold what looks like one.
fn comments(text: &str, within: Range<usize>) -> Vec<Range<usize>> {
    let (mut found, mut quote, mut comment) = (Vec::new(), None, None);
    for (place, c) in text[within.clone()].char_indices() {
        let place = within.start + place;
        match (comment, quote, c) {
            (Some(start), _, '\n') => {
                found.push(start..place);
                comment = None;
            }
            (None, Some(open), _) if c == open => quote = None,
            (None, None, '"' | '\'') => quote = Some(c),
            (None, None, '#') => comment = Some(place),
            _ => {}
        }
    }
    found.extend(comment.map(|start| start..within.end));
    found
}

/// The text with stars for all but the white space of these parts.
fn starred(text: &str, hidden: &[Range<usize>]) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut place = 0;
    for range in hidden {
        shown.push_str(&text[place..range.start]);
        shown.push_str(&stars(&text[range.clone()]));
        place = range.end;
    }
    shown + &text[place..]
}

/// Stars for each byte of a text but its white space.
fn stars(text: &str) -> String {
    let star = |byte| if matches!(byte, b' ' | b'\t' | b'\r' | b'\n') { char::from(byte) } else { '*' };
    text.bytes().map(star).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: &str) {
        assert_eq!(masked(text), expect);
    }

    #[test]
    fn values_are_starred_wherever_they_stand() {
        check("key = \"hunter2\"\n", "key = *********\n");
        check("ann = { key = \"s3cret\", toolset = \"x\" }", "ann = { key = ********, toolset = *** }");
        check("a = [\"one\", 'two', 3]\nb = 4.5\n", "a = [*****, *****, *]\nb = ***\n");
        check("a = [\n  \"one\",\n  \"two\",\n]\n", "a = [\n  *****,\n  *****,\n]\n");
        check("a = \"\"\"\nkey = one\ntwo\"\"\"\n", "a = ***\n*** * ***\n******\n");
    }

    #[test]
    fn operators_see_what_cannot_be_secret() {
        for (text, expect) in [
            ("listen = \"a:1\"\n[limits]\nqueue = 5 # x\n", "listen = \"a:1\"\n[limits]\nqueue = 5 * *\n"),
            (
                "[keys.ann]\nkey = \"s3cret\"\noperator = true\n",
                "[keys.ann]\nkey = ********\noperator = true\n",
            ),
            ("[sources.A]\nkind = \"mcp\"\nurl = \"u\"\n", "[sources.A]\nkind = \"mcp\"\nurl = ***\n"),
            ("[receipts]\narguments = true\n", "[receipts]\narguments = true\n"),
            ("env = { kind = \"x\", n = 4 }", "env = { kind = ***, n = * }"),
            ("a = [1, \"two\"]\ntools = [\"Math.*\"]\n", "a = [1, *****]\ntools = [\"Math.*\"]\n"),
        ] {
            assert_eq!(shown(text), expect);
        }
    }

    #[test]
    fn keys_and_structure_stay() {
        check("[tools.\"Math.pow\"]\na.b = 1", "[tools.\"Math.pow\"]\na.b = *");
        check("[[a]]\nb = 1\n[[a]]\nb = 2\n", "[[a]]\nb = *\n[[a]]\nb = *\n");
    }

    #[test]
    fn comments_are_starred() {
        check("# old key\na = 1 # hunter2\n[\"#b\"] # x\n", "* *** ***\na = * * *******\n[\"#b\"] * *\n");
    }

    #[test]
    fn of_a_broken_text_only_keys_before_the_fault_are_shown() {
        check("a = 1\nkey = \"hunter2\nb = 2\n", "a = *\nkey = ********\n* * *\n");
        check("a = 1\nhunter2\nb = 2\n", "a = *\n*******\n* * *\n");
        check("a = 1\nkey = \"hunter2\nb = = 2\n", "a = *\nkey = ********\n* * * *\n");
        check("a = 1\n[b\nc = 2\n", "a = *\n[*\n* * *\n");
        check("a = \"\"\"\nkey = hunter2\n", "* * ***\n*** * *******\n");
    }
}
