//! Parts that several pages share: states, numbers, times, tables of names and values, lines to paste.

use std::time::SystemTime;

use maud::{Markup, html};
use serde_json::Value;

use crate::invisible::plain;
use crate::program::ClientSnippet;

/// A text of somebody else.
pub(crate) fn text(text: &str) -> Markup {
    html! { (plain(text)) }
}

/// A word for a state, with a mark that does not need colour to be told from others.
pub(crate) fn state(word: &str) -> Markup {
    let (class, mark) = match word {
        "ready" | "returned" | "completed" | "allowed" => ("good", "●"),
        "failing" | "failed" => ("bad", "▲"),
        "refused" | "open" => ("warn", "■"),
        "connecting" | "running" | "pending" => ("busy", "◐"),
        _ => ("off", "○"),
    };
    html! { span.state.(class) { span.dot aria-hidden="true" { (mark) } (word) } }
}

/// A number with spaces between thousands.
pub(crate) fn number(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() + 4);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

/// A duration in the unit that suits it.
pub(crate) fn seconds(value: f64) -> String {
    match value {
        value if value < 0.001 => format!("{:.0} µs", value * 1e6),
        value if value < 0.01 => format!("{:.1} ms", value * 1e3),
        value if value < 1.0 => format!("{:.0} ms", value * 1e3),
        value if value < 120.0 => format!("{value:.2} s"),
        value => format!("{:.0} min", value / 60.0),
    }
}

/// A time and how long ago that was when the page was made; scripts keep the age true.
pub(crate) fn age(rfc3339: &str) -> Markup {
    let at = humantime::parse_rfc3339_weak(rfc3339).ok();
    let ago = at.and_then(|at| SystemTime::now().duration_since(at).ok()).map(|ago| ago.as_secs());
    html! {
        time datetime=(rfc3339) title=(rfc3339) { (ago.map_or_else(|| rfc3339.to_owned(), words_of_age)) }
    }
}

fn words_of_age(seconds: u64) -> String {
    match seconds {
        0..=1 => "just now".to_owned(),
        2..=119 => format!("{seconds} s ago"),
        120..=7_199 => format!("{} min ago", seconds / 60),
        7_200..=172_799 => format!("{} h ago", seconds / 3_600),
        _ => format!("{} days ago", seconds / 86_400),
    }
}

/// A JSON value, indented for reading.
pub(crate) fn json_text(value: &Value) -> Markup {
    let shown = serde_json::to_string_pretty(value).unwrap_or_default();
    html! { pre.json tabindex="0" { (plain(&shown)) } }
}

/// Lines to paste, one block for each client.
pub(crate) fn snippets(list: &[ClientSnippet]) -> Markup {
    html! {
        @for snippet in list {
            section.snippet {
                h3 { (snippet.client) }
                @if !snippet.place.is_empty() { p.small { (snippet.place) } }
                (code(&snippet.text))
            }
        }
    }
}

/// A text to copy.
pub(crate) fn code(text: &str) -> Markup {
    html! { div.copy { pre tabindex="0" { (text) } button.quiet.copier type="button" hidden { "Copy" } } }
}

/// What the same is on the command line.
pub(crate) fn command_line(line: &str) -> Markup {
    html! { p.twin { span.small { "On the command line: " } code { (line) } } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_at_a_glance() {
        assert_eq!(
            ["1", "1\u{202f}234", "12\u{202f}345\u{202f}678"],
            [1, 1_234, 12_345_678].map(number).each_ref().map(String::as_str)
        );
        assert_eq!(
            ["20 µs", "1.5 ms", "2.00 s", "10 min"].map(str::to_owned),
            [0.000_02, 0.001_5, 2.0, 600.0].map(seconds)
        );
        assert_eq!(words_of_age(3_600), "60 min ago");
    }
}
