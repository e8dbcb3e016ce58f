//! Whether an address fits a URI template, as far as finding its source needs it.

/// Expressions stand for any text, but not for a slash unless they are of the kind `{+path}`.
pub(super) fn matches(template: &str, uri: &str) -> bool {
    let Some((literal, rest)) = template.split_once('{') else { return template == uri };
    let Some(uri) = uri.strip_prefix(literal) else { return false };
    let Some((expression, tail)) = rest.split_once('}') else { return false };
    let crosses = expression.starts_with(['+', '#', '/', '?', '&', '*']) || expression.ends_with('*');
    let ends = uri.char_indices().map(|(at, _)| at).chain([uri.len()]);
    ends.take_while(|at| crosses || !uri[..*at].contains('/')).any(|at| matches(tail, &uri[at..]))
}

#[cfg(test)]
mod tests {
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
    }
}
