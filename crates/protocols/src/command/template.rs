//! Words of a command line with `{parameter}` in them.

use serde_json::{Map, Value};

/// The parameters a word names.
pub(super) fn placeholders(word: &str) -> impl Iterator<Item = &str> {
    word.split('{')
        .skip(1)
        .filter_map(|rest| rest.split_once('}').map(|(name, _)| name))
        .filter(|name| is_name(name))
}

/// The word with its parameters filled in; `None` when one of them is absent.
pub(super) fn fill(word: &str, arguments: &Map<String, Value>) -> Option<String> {
    let mut filled = String::with_capacity(word.len());
    let mut rest = word;
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        match after.split_once('}') {
            Some((name, tail)) if is_name(name) => {
                filled.push_str(&written(arguments.get(name)?));
                rest = tail;
            }
            _ => {
                filled.push('{');
                rest = after;
            }
        }
    }
    filled.push_str(rest);
    Some(filled)
}

/// The parameter whose argument makes an option of a word: the word begins with a parameter, and with `-` once it is
/// filled in. Words that begin with letters of their own, such as `--name={name}`, say themselves what they are.
pub(super) fn option_made_by<'w>(
    word: &'w str,
    filled: &str,
    arguments: &Map<String, Value>,
) -> Option<&'w str> {
    if !filled.starts_with('-') {
        return None;
    }
    let (leading, _) = word.strip_prefix('{')?.split_once('}')?;
    let first = placeholders(word).next().filter(|name| *name == leading)?;
    // `{a}{b}`: where `a` is empty, the `-` is that of `b`.
    let is_dash = |name: &&str| arguments.get(*name).is_some_and(|value| written(value).starts_with('-'));
    Some(placeholders(word).find(is_dash).unwrap_or(first))
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

fn written(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(word: &str, expect: Option<&str>) {
        let arguments = json!({ "a": "x y", "n": 2 });
        assert_eq!(fill(word, arguments.as_object().expect("object")).as_deref(), expect);
    }

    #[test]
    fn arguments_stand_where_they_are_named() {
        check("plain", Some("plain"));
        check("--a={a}", Some("--a=x y"));
        check("{n}{n}", Some("22"));
    }

    #[test]
    fn a_word_without_its_argument_is_left_out() {
        check("--b={b}", None);
    }

    fn check_option(word: &str, expect: Option<&str>) {
        let arguments = json!({ "x": "-o", "empty": "", "a": "b", "n": -2 });
        let arguments = arguments.as_object().expect("object");
        let filled = fill(word, arguments).expect("every argument is there");
        assert_eq!(option_made_by(word, &filled, arguments), expect, "{word}");
    }

    #[test]
    fn an_argument_that_makes_an_option_of_a_word_is_found() {
        for (word, parameter) in
            [("{x}", "x"), ("{n}", "n"), ("{x}{a}", "x"), ("{empty}{x}", "x"), ("{empty}-a", "empty")]
        {
            check_option(word, Some(parameter));
        }
        for word in ["{a}", "{a}{x}", "--b={x}", "-{x}", "./{x}", "{empty}", "{ {x}"] {
            check_option(word, None);
        }
    }

    #[test]
    fn other_braces_stay() {
        check("{ print $1 }", Some("{ print $1 }"));
        check("{}", Some("{}"));
    }
}
