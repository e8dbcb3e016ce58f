//! Pages for people: plain, readable, with nothing in them that could run or be sent elsewhere. What stands on one is
//! its caller's affair.

use std::fmt::Write;
use std::sync::LazyLock;

use axum::body::Body;
use axum::response::Response;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderName, HeaderValue, StatusCode, header};
use sha2::{Digest, Sha256};

/// The colours of every page, light and dark, for whoever has a style of its own.
pub const COLOURS: &str = include_str!("colours.css");
const STYLE: &str = concat!(include_str!("colours.css"), include_str!("page.css"));

/// What browsers may do with a page: show it, in its own style and in no frame. `form-action` is not set: Chromium
/// holds every redirect after a form against it, and where providers lead on to cannot be known.
static POLICY: LazyLock<HeaderValue> = LazyLock::new(|| {
    let style = STANDARD.encode(Sha256::digest(STYLE));
    let policy =
        format!("default-src 'none'; style-src 'sha256-{style}'; base-uri 'none'; frame-ancestors 'none'");
    HeaderValue::from_str(&policy).expect("a policy is plain text")
});

/// A form of ours is sent with our own `Origin` only because of `same-origin`: under `no-referrer` it would be `null`,
/// which anybody can send.
const GUARDS: [(HeaderName, &str); 5] = [
    (header::CONTENT_TYPE, "text/html; charset=utf-8"),
    (header::REFERRER_POLICY, "same-origin"),
    (header::CACHE_CONTROL, "no-store"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
];

/// HTML. Text gets into it escaped; only what a program is written with gets into it as it is.
pub struct Html(String);

impl Html {
    /// Markup of ours.
    pub fn markup(markup: &'static str) -> Self {
        Html(markup.to_owned())
    }

    /// With more markup of ours behind it.
    pub fn then(mut self, markup: &'static str) -> Self {
        self.0.push_str(markup);
        self
    }

    /// With a text behind it, whoever wrote that.
    pub fn text(mut self, text: &str) -> Self {
        for letter in text.chars() {
            match letter {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                // Controls and what turns the direction of text could make a name look like another.
                other if is_invisible(other) => {
                    write!(self.0, "\\u{{{:x}}}", u32::from(other)).expect("writing to a text cannot fail");
                }
                other => self.0.push(other),
            }
        }
        self
    }
}

/// A page of a heading and a paragraph.
pub fn page(status: StatusCode, heading: &str, text: &str) -> Response {
    whole(status, heading, Html::markup("<p>").text(text).then("</p>"))
}

/// A page of a heading and what stands below it.
pub fn whole(status: StatusCode, heading: &str, below: Html) -> Response {
    show(status, document(heading, below))
}

/// The text of such a page, for one that is kept and shown again.
pub fn document(heading: &str, below: Html) -> String {
    let head = "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
                <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>";
    let mut html = Html::markup(head).text(heading).then("</title><style>").then(STYLE);
    html = html.then("</style></head><body><main><h1>").text(heading).then("</h1>");
    let Html(mut html) = html;
    html.push_str(&below.0);
    html.push_str("</main></body></html>");
    html
}

/// The answer that shows the text of a page, with the headers that keep it from doing anything else.
pub fn show(status: StatusCode, document: impl Into<Body>) -> Response {
    let mut response = Response::new(document.into());
    *response.status_mut() = status;
    for (name, value) in GUARDS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, POLICY.clone());
    response
}

fn is_invisible(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: &str) {
        assert_eq!(Html::markup("").text(text).0, expect);
    }

    #[test]
    fn nothing_in_a_text_becomes_markup() {
        check(r#"<b a="x">'&"#, "&lt;b a=&quot;x&quot;&gt;&#39;&amp;");
    }

    #[test]
    fn nothing_in_a_text_hides() {
        check("alice\u{202e}bob\n\u{200b}", "alice\\u{202e}bob\\u{a}\\u{200b}");
        check("Zoë 雪", "Zoë 雪");
    }
}
