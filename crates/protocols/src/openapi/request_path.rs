//! The path of an operation as it is requested: without the fragment by which documents tell operations of one path apart,
//! and with parameters in its query taken for parameters of the query.

/// A path, read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RequestPath<'d> {
    /// What is requested, with the parameters of the path in braces and the fixed part of the query.
    pub(super) template: String,
    /// Parameters in the query: the name there, and the name in braces.
    pub(super) query: Vec<(&'d str, &'d str)>,
}

impl<'d> RequestPath<'d> {
    pub(super) fn of(path: &'d str) -> Self {
        let whole = path.split('#').next().unwrap_or_default();
        let (path, expanded) = without_expansion(whole);
        let mut query: Vec<(&str, &str)> = expanded.split(',').map(|name| (name, name)).collect();
        query.retain(|(name, _)| !name.is_empty());
        let (path, written) = path.split_once('?').unwrap_or((path, ""));
        let mut fixed = Vec::new();
        for pair in written.split('&').filter(|pair| !pair.is_empty()) {
            let parameter = pair.split_once('=').and_then(|(name, value)| Some((name, in_braces(value)?)));
            match parameter {
                Some(parameter) => query.push(parameter),
                None => fixed.push(pair),
            }
        }
        let slash = if path.starts_with('/') { "" } else { "/" };
        let mark = if fixed.is_empty() { "" } else { "?" };
        RequestPath { template: format!("{slash}{path}{mark}{}", fixed.join("&")), query }
    }
}

/// `/a{?b,c}`, as RFC 6570 writes a query: what stands before it, and its names.
fn without_expansion(path: &str) -> (&str, &str) {
    let found = path.split_once("{?").and_then(|(before, rest)| Some((before, rest.strip_suffix('}')?)));
    found.filter(|(_, names)| !names.contains(['{', '}'])).unwrap_or((path, ""))
}

fn in_braces(value: &str) -> Option<&str> {
    let name = value.strip_prefix('{')?.strip_suffix('}')?;
    (!name.is_empty() && !name.contains(['{', '}'])).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fragments_are_not_requested_and_parameters_of_the_query_are_found() {
        for (path, template, query) in [
            ("/a/{b}", "/a/{b}", &[][..]),
            ("a", "/a", &[]),
            ("/#X-Target=Make.{x}", "/", &[]),
            ("/a?b=1&c={d}&e", "/a?b=1&e", &[("c", "d")]),
            ("/a?c={d}", "/a", &[("c", "d")]),
            ("/a{?b,c}", "/a", &[("b", "b"), ("c", "c")]),
            ("/a?b={c}-{d}", "/a?b={c}-{d}", &[]),
        ] {
            let expect = RequestPath { template: template.to_owned(), query: query.to_vec() };
            assert_eq!(RequestPath::of(path), expect, "{path}");
        }
    }
}
