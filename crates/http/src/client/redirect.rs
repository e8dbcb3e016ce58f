//! Where an answer may send its client: to the same host alone, and without credentials. The client itself follows
//! nothing; those that do ask here.

use http::{HeaderMap, HeaderName, Method, header};
use url::Url;

use super::answer::Answer;

/// The request that an answer asks for in place of the one to `url`; none for an answer that is no redirect, that leads to
/// another scheme, host or port, or of which it is not certain what it asks for.
pub fn redirect_of(answer: &Answer, url: &Url, method: &Method) -> Option<(Method, Url)> {
    let next = next_method(answer.status().as_u16(), method)?;
    let place = answer.headers().get(header::LOCATION)?.to_str().ok()?;
    let mut place = url.join(place).ok()?;
    let is_bare = place.username().is_empty() && place.password().is_none();
    place.set_fragment(None);
    (place.origin() == url.origin() && is_bare).then_some((next, place))
}

/// After 301 and 302 some clients go on with GET and some with the same method, so that only a request that is the same
/// either way goes on.
fn next_method(status: u16, method: &Method) -> Option<Method> {
    match status {
        301 | 302 if matches!(*method, Method::GET | Method::HEAD) => Some(method.clone()),
        303 if *method == Method::HEAD => Some(Method::HEAD),
        303 => Some(Method::GET),
        307 | 308 => Some(method.clone()),
        _ => None,
    }
}

/// Removes what a request says about who sends it: the headers that carry credentials by their name, and all whose value
/// is marked sensitive. What a proxy needs stays.
pub fn remove_credentials(headers: &mut HeaderMap) {
    let carries = |(name, value): (&HeaderName, &http::HeaderValue)| {
        let is_named = *name == header::AUTHORIZATION || *name == header::COOKIE;
        let is_marked = value.is_sensitive() && *name != header::PROXY_AUTHORIZATION;
        (is_named || is_marked).then(|| name.clone())
    };
    let names: Vec<HeaderName> = headers.iter().filter_map(carries).collect();
    for name in names {
        headers.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_requests_that_stay_what_they_are_go_on() {
        for (status, method, expect) in [
            (301, Method::GET, Some(Method::GET)),
            (302, Method::POST, None),
            (303, Method::POST, Some(Method::GET)),
            (307, Method::POST, Some(Method::POST)),
            (308, Method::DELETE, Some(Method::DELETE)),
            (304, Method::GET, None),
            (200, Method::GET, None),
        ] {
            assert_eq!(next_method(status, &method), expect, "{status} {method}");
        }
    }

    #[test]
    fn credentials_stay_behind() {
        let mut headers = HeaderMap::new();
        for (name, value, sensitive) in [
            ("authorization", "a", false),
            ("cookie", "b", false),
            ("x-key", "c", true),
            ("accept", "d", false),
        ] {
            let mut value: http::HeaderValue = value.parse().unwrap();
            value.set_sensitive(sensitive);
            headers.insert(HeaderName::from_static(name), value);
        }
        remove_credentials(&mut headers);
        assert_eq!(headers.keys().map(HeaderName::as_str).collect::<Vec<_>>(), ["accept"]);
    }
}
