//! Texts of others as a page shows them: what is invisible or turns the direction of text is written out, and what is very
//! long is cut. Markup is escaped by the templates.

use std::borrow::Cow;
use std::fmt::Write;

/// How much of one text a page shows, in bytes.
const LONGEST: usize = 20_000;

/// A text on one line or several, with nothing in it that hides.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    shortened(text, LONGEST)
}

/// The same, cut after some bytes.
pub(crate) fn shortened(text: &str, most: usize) -> Cow<'_, str> {
    let cut = if text.len() > most { &text[..text.floor_char_boundary(most)] } else { text };
    if cut.len() == text.len() && !cut.chars().any(is_invisible) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(cut.len() + 64);
    for letter in cut.chars() {
        if is_invisible(letter) {
            write!(plain, "\\u{{{:x}}}", u32::from(letter)).expect("writing to a text cannot fail");
        } else {
            plain.push(letter);
        }
    }
    if cut.len() < text.len() {
        plain.push('…');
    }
    Cow::Owned(plain)
}

fn is_invisible(letter: char) -> bool {
    (letter.is_control() && letter != '\n' && letter != '\t')
        || matches!(letter, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_hides() {
        assert_eq!(plain("alice\u{202e}bob\u{200b}"), "alice\\u{202e}bob\\u{200b}");
        assert_eq!(plain("Zoë 雪\n\tone"), "Zoë 雪\n\tone");
    }

    #[test]
    fn a_very_long_text_is_cut_between_letters() {
        assert_eq!(shortened("aëë", 2), "a…");
        assert!(plain(&"x".repeat(1 << 20)).len() < LONGEST + 8);
    }
}
