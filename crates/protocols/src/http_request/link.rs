//! Links in the head of an answer (RFC 8288), as far as they lead to a next page.

use http::{HeaderMap, header};
use url::Url;

/// The address of the next page; `base` is asked only where there is one.
pub(super) fn next_page(headers: &HeaderMap, base: impl FnOnce() -> Url) -> Option<String> {
    let links = headers.get_all(header::LINK).into_iter().filter_map(|value| value.to_str().ok());
    let next = links.flat_map(each).find(|(_, parameters)| is_next(parameters))?.0;
    base().join(next).ok().map(String::from)
}

/// The targets of a header, each with its parameters. A comma may stand in a target, and in a parameter in quotes.
fn each(header: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = header;
    std::iter::from_fn(move || {
        let (_, after) = rest.split_once('<')?;
        let (target, after) = after.split_once('>')?;
        let mut in_quotes = false;
        let end = after.find(|character| {
            in_quotes ^= character == '"';
            character == ',' && !in_quotes
        });
        let (parameters, more) = after.split_at(end.unwrap_or(after.len()));
        rest = more;
        Some((target.trim(), parameters))
    })
}

fn is_next(parameters: &str) -> bool {
    parameters.split(';').any(|parameter| {
        parameter.split_once('=').is_some_and(|(name, value)| {
            let relations = value.trim().trim_matches('"');
            name.trim().eq_ignore_ascii_case("rel")
                && relations.split_ascii_whitespace().any(|relation| relation.eq_ignore_ascii_case("next"))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_page_is_found_among_links() {
        let base: Url = "http://h/a/".parse().unwrap();
        for (link, expect) in [
            (
                "<http://h/a?page=2,3>; rel=\"next\", <http://h/a?page=9>; rel=\"last\"",
                Some("http://h/a?page=2,3"),
            ),
            (
                "<b?page=1>; rel=prev, <b?page=3>; title=\"a, b\"; REL=\"last Next\"",
                Some("http://h/a/b?page=3"),
            ),
            ("<b>; rel=prev", None),
            ("b; rel=next", None),
            ("<b; rel=next", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::LINK, link.parse().unwrap());
            assert_eq!(next_page(&headers, || base.clone()).as_deref(), expect, "{link}");
        }
    }
}
