//! The request of a tool as a configuration writes it: a method and a path.

use http::Method;

use crate::http_request::path_names;

/// The methods that tools may use.
const METHODS: [Method; 7] =
    [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::PATCH, Method::DELETE, Method::OPTIONS];

/// A request line without the version of HTTP.
#[derive(Debug)]
pub(super) struct RequestLine<'a> {
    pub(super) method: Method,
    /// May be empty: the base itself.
    pub(super) path: &'a str,
}

impl<'a> RequestLine<'a> {
    /// Says what is wrong with a line, without quoting it.
    pub(super) fn read(line: &'a str) -> Result<Self, String> {
        let (method, path) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
        let known = METHODS.into_iter().find(|known| known.as_str() == method);
        let names: Vec<String> = METHODS.iter().map(ToString::to_string).collect();
        let method = known.ok_or_else(|| format!("must begin with a method: {}", names.join(", ")))?;
        let path = path.trim();
        if !path.is_empty() && !path.starts_with('/') {
            return Err("must have a path that begins with `/` after the method; the host is in `url`".into());
        }
        if path.starts_with("//") || path.contains('#') {
            return Err("must have a path without `//` at its beginning and without `#`".into());
        }
        if path.matches('{').count() != path_names(path).count() {
            return Err("has a `{` without a `}`".into());
        }
        Ok(RequestLine { method, path })
    }

    /// Whether parameters that name no place go into the query.
    pub(super) fn prefers_query(&self) -> bool {
        matches!(self.method, Method::GET | Method::HEAD)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expect: Result<(&str, &str), &str>) {
        let read = RequestLine::read(line);
        match (&read, expect) {
            (Ok(read), Ok(expect)) => assert_eq!((read.method.as_str(), read.path), expect),
            (Err(what), Err(expect)) => assert!(what.contains(expect), "{what}"),
            _ => panic!("{line}: {read:?}"),
        }
    }

    #[test]
    fn a_request_is_a_method_and_a_path() {
        check("GET /a/{b}?c=d", Ok(("GET", "/a/{b}?c=d")));
        check(" POST ", Ok(("POST", "")));
        check("FETCH /a", Err("must begin with a method: GET, HEAD"));
        check("/a", Err("must begin with a method"));
        check("GET a", Err("begins with `/`"));
        check("GET https://h/a", Err("the host is in `url`"));
        check("GET //h/a", Err("without `//`"));
        check("GET /{a", Err("without a `}`"));
    }
}
