//! Whether an address fits a URI template, as far as finding its source needs it.

/// The longest address that is looked for, and the longest template that one can fit, in bytes.
pub(super) const MOST_URI_BYTES: usize = 8 << 10;

/// Expressions stand for any text, but not for a slash unless they are of the kind `{+path}`.
///
/// After each part of the template it is known at which places of the address the next may begin, so that every part
/// reads the address once: the cost is linear in it, whatever the template.
pub(super) fn matches(template: &str, uri: &str) -> bool {
    let (prefix, mut rest) = template.split_once('{').map_or((template, None), |(l, rest)| (l, Some(rest)));
    let Some(uri) = uri.strip_prefix(prefix).map(str::as_bytes) else { return false };
    if template.len() > MOST_URI_BYTES || uri.len() > MOST_URI_BYTES {
        return false;
    }
    let mut places = vec![false; uri.len() + 1];
    places[0] = true;
    while let Some(after) = rest {
        let Some((expression, tail)) = after.split_once('}') else { return false };
        spread(&mut places, uri, expression);
        let (literal, next) = tail.split_once('{').map_or((tail, None), |(l, rest)| (l, Some(rest)));
        advance(&mut places, uri, literal.as_bytes());
        rest = next;
    }
    places[uri.len()]
}

/// An expression: from each place to all behind it, up to the next slash unless it stands for slashes too.
fn spread(places: &mut [bool], uri: &[u8], expression: &str) {
    let crosses = expression.starts_with(['+', '#', '/', '?', '&', '*']) || expression.ends_with('*');
    for (at, byte) in uri.iter().enumerate() {
        places[at + 1] |= places[at] && (crosses || *byte != b'/');
    }
}

/// A literal: from each place where it stands to the place behind it.
fn advance(places: &mut [bool], uri: &[u8], literal: &[u8]) {
    for end in (0..places.len()).rev() {
        let begin = end.checked_sub(literal.len());
        places[end] = begin.is_some_and(|begin| places[begin] && uri[begin..end] == *literal);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(template: &str, uri: &str, expect: bool) {
        assert_eq!(matches(template, uri), expect, "{template} on {uri}");
    }

    #[test]
    fn expressions_stand_for_text() {
        check("test://template/{id}/data", "test://template/123/data", true);
        check("test://template/{id}/data", "test://template/1/2/data", false);
        check("file:///{+path}", "file:///a/b/c", true);
        check("x://{a}-{b}", "x://1-2", true);
        check("x://{a}", "y://1", false);
        check("x://fixed", "x://fixed", true);
        check("x://fixed", "x://fixed/more", false);
        check("x://{a", "x://a", false);
        check("x://{+p}/x{a}y", "x://1/x/2/x3y", true);
    }

    #[test]
    fn what_is_too_long_fits_nothing() {
        check("x://{+a}", &format!("x://{}", "a".repeat(1_000)), true);
        check("x://{+a}", &format!("x://{}", "a".repeat(MOST_URI_BYTES + 1)), false);
        check(&"{+a}".repeat(MOST_URI_BYTES), "a", false);
    }

    /// The definition: tries every text for every expression.
    fn by_trying(template: &str, uri: &str) -> bool {
        let Some((literal, rest)) = template.split_once('{') else { return template == uri };
        let Some(uri) = uri.strip_prefix(literal) else { return false };
        let Some((expression, tail)) = rest.split_once('}') else { return false };
        let crosses = expression.starts_with(['+', '#', '/', '?', '&', '*']) || expression.ends_with('*');
        let ends = uri.char_indices().map(|(at, _)| at).chain([uri.len()]);
        ends.take_while(|at| crosses || !uri[..*at].contains('/')).any(|at| by_trying(tail, &uri[at..]))
    }

    proptest! {
        #[test]
        fn what_fits_is_what_trying_every_text_finds(
            parts in proptest::collection::vec("a|b|/|é|\\{x\\}|\\{\\+x\\}|\\{x\\*\\}|\\{|\\}", 0..7),
            uri in "[ab/é]{0,9}",
        ) {
            let template = parts.concat();
            prop_assert_eq!(matches(&template, &uri), by_trying(&template, &uri), "{} on {}", template, uri);
        }
    }
}
