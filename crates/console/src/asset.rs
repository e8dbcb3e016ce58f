//! The style and the modules of the pages: all embedded, and the same for everybody.

use axum::response::Response;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use toolmux_http::serve::page::COLOURS;
use toolmux_http::serve::{PathPart, tag_of, tagged};

use crate::answer::page;

/// Each by its name, with its type.
const ASSETS: [(&str, &str, &str); 9] = [
    ("colours.css", "text/css; charset=utf-8", COLOURS),
    ("console.css", "text/css; charset=utf-8", include_str!("assets/console.css")),
    ("console.js", SCRIPT, include_str!("assets/console.js")),
    ("events.js", SCRIPT, include_str!("assets/events.js")),
    ("calls.js", SCRIPT, include_str!("assets/calls.js")),
    ("try.js", SCRIPT, include_str!("assets/try.js")),
    ("form.js", SCRIPT, include_str!("assets/form.js")),
    ("schema.js", SCRIPT, include_str!("assets/schema.js")),
    ("icon.svg", "image/svg+xml", include_str!("assets/icon.svg")),
];
const SCRIPT: &str = "text/javascript; charset=utf-8";

/// One of them.
pub(crate) async fn asset(PathPart(name): PathPart, headers: HeaderMap) -> Response {
    let Some((_, kind, text)) = ASSETS.iter().find(|(known, _, _)| *known == name) else {
        return page(StatusCode::NOT_FOUND, String::new());
    };
    let bytes = Bytes::from_static(text.as_bytes());
    let mut response = tagged(&headers, tag_of(&bytes), bytes);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_assets_together_stay_small() {
        let bytes: usize = ASSETS.iter().map(|(_, _, text)| text.len()).sum();
        assert!(bytes < 150 << 10, "{bytes} bytes");
    }

    #[test]
    fn nothing_is_loaded_from_elsewhere() {
        for (name, _, text) in ASSETS {
            let text = text.replace("http://www.w3.org/2000/svg", "");
            assert!(!text.contains("http://") && !text.contains("https://"), "{name}");
        }
    }
}
