//! Patterns of other dialects of regular expressions.

use crate::schema::is_pattern;

/// The pattern as ECMA-262 writes it; none when it cannot be read.
pub(super) fn translated(pattern: &str) -> Option<String> {
    if is_pattern(pattern) {
        return Some(pattern.to_owned());
    }
    Some(respelled(pattern)).filter(|pattern| is_pattern(pattern))
}

/// `\A` and `\Z` as `^` and `$`; a hyphen behind a class, as in `[\w-.]`, as the character that it is.
fn respelled(pattern: &str) -> String {
    let mut text = String::with_capacity(pattern.len() + 2);
    let mut characters = pattern.chars().peekable();
    let (mut in_class, mut after_class) = (false, false);
    while let Some(character) = characters.next() {
        let behind = std::mem::take(&mut after_class);
        match character {
            '\\' => {
                let escaped = characters.next();
                match escaped {
                    Some('A') if !in_class => text.push('^'),
                    Some('Z' | 'z') if !in_class => text.push('$'),
                    _ => text.extend(['\\'].into_iter().chain(escaped)),
                }
                after_class = in_class && matches!(escaped, Some('w' | 'W' | 'd' | 'D' | 's' | 'S'));
            }
            '-' if behind && characters.peek() != Some(&']') => text.push_str("\\-"),
            other => {
                in_class = other == '[' || (in_class && other != ']');
                text.push(other);
            }
        }
    }
    text
}
