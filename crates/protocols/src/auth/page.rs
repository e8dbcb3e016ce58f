//! The pages a user sees: plain, readable, with nothing in them that could run or be sent elsewhere.

use axum::body::Body;
use axum::response::Response;
use http::{HeaderName, HeaderValue, StatusCode, header};

const STYLE: &str = "body{font:18px/1.5 system-ui,sans-serif;max-width:34em;margin:15vh auto;padding:0 1em;\
color:#1a1a1a;background:#fff}h1{font-size:1.5em}@media(prefers-color-scheme:dark){body{color:#eee;background:#111}}";

/// What browsers may do with a page: show it.
const GUARDS: [(HeaderName, &str); 5] = [
    (header::CONTENT_TYPE, "text/html; charset=utf-8"),
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    ),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
];

/// A page of a heading and a paragraph.
pub(super) fn page(status: StatusCode, heading: &str, text: &str) -> Response {
    let (heading, text) = (escaped(heading), escaped(text));
    let html = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
<meta name=\"viewport\" content=\"width=device-width\"><title>{heading}</title><style>{STYLE}</style></head>\
<body><main><h1>{heading}</h1><p>{text}</p></main></body></html>"
    );
    let mut response = Response::new(Body::from(html));
    *response.status_mut() = status;
    for (name, value) in GUARDS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push(other),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_text_becomes_markup() {
        assert_eq!(escaped(r#"<b a="x">'&"#), "&lt;b a=&quot;x&quot;&gt;&#39;&amp;");
    }
}
