//! Texts of others on a terminal: characters that would steer it, or show a text other than it is, are escaped.

use std::borrow::Cow;
use std::fmt::Write;

/// The escape sequences by which this program itself paints.
const PAINT: [&str; 6] = ["\x1b[0m", "\x1b[1m", "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[36m"];
/// Those by which the log does. It escapes those of others before it paints.
const LOG_PAINT: [&str; 10] = [
    "\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[3m", "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[34m", "\x1b[35m",
    "\x1b[36m",
];

/// A text as it may be written to a terminal: on several lines, in this program's own colours.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    escaped(text, |c| matches!(c, '\n' | '\t'), &PAINT)
}

/// A line of the log.
pub(crate) fn log_line(line: &str) -> Cow<'_, str> {
    escaped(line, |c| matches!(c, '\n' | '\t'), &LOG_PAINT)
}

/// A text in which spans are counted in bytes: a star for each byte of what would steer a terminal.
pub(crate) fn starred(text: &str) -> String {
    let shown = |c: char| match c {
        '\n' | '\t' | '\r' => c.to_string(),
        c if is_steering(c) => "*".repeat(c.len_utf8()),
        c => c.to_string(),
    };
    text.chars().map(shown).collect()
}

/// A text that is part of one line.
pub(crate) fn on_one_line(text: &str) -> Cow<'_, str> {
    escaped(text, |_| false, &[])
}

/// Escapes are those of JSON, so that JSON stays what it was.
fn escaped<'a>(text: &'a str, stays: impl Fn(char) -> bool, paint: &[&str]) -> Cow<'a, str> {
    if !text.chars().any(|c| is_steering(c) && !stays(c)) {
        return Cow::Borrowed(text);
    }
    let (mut shown, mut rest) = (String::with_capacity(text.len() + 16), text);
    while let Some(c) = rest.chars().next() {
        // The end of a line as other systems write it, also in JSON, is no more than that.
        let kept = paint.iter().chain(stays('\n').then_some(&"\r\n"));
        let kept = kept.into_iter().find(|sequence| rest.starts_with(**sequence));
        let length = kept.map_or(c.len_utf8(), |sequence| sequence.len());
        if kept.is_some() || stays(c) || !is_steering(c) {
            shown.push_str(&rest[..length]);
        } else {
            write!(shown, "\\u{:04x}", u32::from(c)).expect("a text takes all");
        }
        rest = &rest[length..];
    }
    Cow::Owned(shown)
}

/// Control characters, and those that change the direction of what follows.
fn is_steering(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_is_escaped() {
        assert_eq!(printable("a\x1b]0;title\x07b\u{9b}2J"), "a\\u001b]0;title\\u0007b\\u009b2J");
        assert_eq!(printable("\x1b[8mhidden\r\x1b[2K"), "\\u001b[8mhidden\\u000d\\u001b[2K");
        assert_eq!(printable("user\u{202e}nimda"), "user\\u202enimda");
        assert_eq!(on_one_line("a\nb\tc"), "a\\u000ab\\u0009c");
        assert_eq!(on_one_line("\x1b[1mbold"), "\\u001b[1mbold");
    }

    #[test]
    fn lines_of_the_log_keep_their_paint_and_nothing_else() {
        assert_eq!(
            log_line("\x1b[2mtime\x1b[0m a\rb\u{202e}c\x1b[8m\n"),
            "\x1b[2mtime\x1b[0m a\\u000db\\u202ec\\u001b[8m\n"
        );
    }

    #[test]
    fn stars_keep_every_byte_in_its_place() {
        let text = "\"a\u{202e}b\x07\" = 1\r\n";
        assert_eq!(starred(text), "\"a***b*\" = 1\r\n");
        assert_eq!(starred(text).len(), text.len());
    }

    #[test]
    fn our_own_paint_and_plain_texts_stay() {
        assert_eq!(printable("{\r\n\"a\": 1\u{7f}}"), "{\r\n\"a\": 1\\u007f}");
        assert_eq!(printable("\x1b[32mok\x1b[0m\n\tGröße 漢字"), "\x1b[32mok\x1b[0m\n\tGröße 漢字");
        assert!(matches!(printable("plain"), Cow::Borrowed("plain")));
    }
}
