//! Known secrets, taken out of whatever people read: log lines, what children print, developer messages. One list per
//! process, because there is one log per process, and it is written before any configuration is read.

use std::borrow::Cow;
use std::sync::{LazyLock, Mutex, PoisonError};

use arc_swap::ArcSwap;

/// What stands in the place of a secret.
pub const REDACTED: &str = "[redacted]";
/// Shorter secrets cannot be told from words.
const SHORTEST: usize = 6;
/// The same for a line of a secret of several lines, such as a private key.
const SHORTEST_LINE: usize = 16;

/// The forms in which known secrets may be written, the longest first. Swapped whole, so that readers never wait.
static KNOWN: LazyLock<ArcSwap<Vec<Box<str>>>> = LazyLock::new(ArcSwap::default);
/// Taken by those who add, one at a time: of two that swapped at once, one would be forgotten.
static ADDING: Mutex<()> = Mutex::new(());

/// Takes a secret out of every text from now on: as it is, as JSON and Rust quote it, without the scheme before it
/// (`Bearer `), and each of its lines.
pub fn know(secret: &str) {
    let bare = secret.split_once(' ').filter(|(scheme, _)| is_scheme(scheme)).map(|(_, bare)| bare);
    let lines =
        secret.lines().map(str::trim).filter(|line| secret.len() > line.len() && line.len() >= SHORTEST_LINE);
    let texts: Vec<&str> =
        [secret].into_iter().chain(bare).chain(lines).filter(|text| text.len() >= SHORTEST).collect();
    let forms = texts.into_iter().flat_map(|text| -> [Box<str>; 3] {
        let (json, debug) = (serde_json::Value::from(text).to_string(), format!("{text:?}"));
        let unquoted = |form: String| Box::from(form.trim_start_matches('"').trim_end_matches('"'));
        [Box::from(text), unquoted(json), unquoted(debug)]
    });
    let _adding = ADDING.lock().unwrap_or_else(PoisonError::into_inner);
    let mut known = KNOWN.load().to_vec();
    let count = known.len();
    for form in forms {
        if form.len() >= SHORTEST && !known.contains(&form) {
            known.push(form);
        }
    }
    if known.len() > count {
        // A secret that is part of another must not leave the rest of that one.
        known.sort_by_key(|form| std::cmp::Reverse(form.len()));
        KNOWN.store(known.into());
    }
}

/// The same for the password in an address, when it has one: `https://user:password@host`.
pub fn know_password_in(address: &str) {
    let Some((_, rest)) = address.split_once("://") else { return };
    // A password may hold what should have been escaped.
    let Some((user, _)) = rest.rsplit_once('@') else { return };
    if let Some((_, password)) = user.split_once(':') {
        know(password);
        know(&unescaped(password));
    }
}

/// A text without the secrets that are known.
pub fn redacted(text: &str) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(text);
    for form in KNOWN.load().iter() {
        if text.contains(&**form) {
            text = Cow::Owned(text.replace(&**form, REDACTED));
        }
    }
    text
}

fn is_scheme(word: &str) -> bool {
    ["bearer", "basic", "token", "digest"].iter().any(|scheme| word.eq_ignore_ascii_case(scheme))
}

/// Without percent signs, where they escape text.
fn unescaped(text: &str) -> String {
    let bytes = text.as_bytes();
    let (mut plain, mut place) = (Vec::with_capacity(bytes.len()), 0);
    while let Some(byte) = bytes.get(place) {
        let code = || u8::from_str_radix(text.get(place + 1..place + 3)?, 16).ok();
        match (*byte == b'%').then(code).flatten() {
            Some(code) => {
                plain.push(code);
                place += 3;
            }
            None => {
                plain.push(*byte);
                place += 1;
            }
        }
    }
    String::from_utf8(plain).unwrap_or_else(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: &str) {
        assert_eq!(redacted(text), expect);
    }

    #[test]
    fn a_known_secret_is_taken_out_in_every_form() {
        know("Bearer redact-test-1");
        check("got redact-test-1!", "got [redacted]!");
        check("got Bearer redact-test-1!", "got [redacted]!");
        know("redact \"test\" 2");
        check(r#"{"a":"redact \"test\" 2"}"#, r#"{"a":"[redacted]"}"#);
        know("redact-test-3-first-line\nredact-test-3-second-line");
        check("a redact-test-3-second-line", "a [redacted]");
    }

    #[test]
    fn the_password_of_an_address_is_taken_out() {
        know_password_in("postgres://user:redact%40test-4@host/db");
        check("redact%40test-4 and redact@test-4 at host", "[redacted] and [redacted] at host");
    }

    #[test]
    fn a_longer_secret_goes_as_a_whole() {
        know("redact-test-5");
        know("redact-test-5-and-more");
        check("redact-test-5-and-more", "[redacted]");
    }

    #[test]
    fn what_is_too_short_for_a_secret_stays() {
        know("abc");
        check("abc", "abc");
    }
}
