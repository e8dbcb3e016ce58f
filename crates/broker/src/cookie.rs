//! What browsers are given to remember. One cookie goes with the page that says who asks, and only with the form of that
//! page; the other with whoever went on, until the provider leads back.

use http::{HeaderMap, header};
use url::Url;

use toolmux_http::serve::Web;

/// How long a browser keeps one, in seconds.
const LIFE: u32 = 3_600;
const CALLBACK: &str = "toolmux_auth";
/// With this prefix no other host and no page without TLS can plant it. It has to be good for every path then.
const SECURE_CALLBACK: &str = "__Host-toolmux_auth";

/// Cookies for the address that browsers know this server by.
pub(crate) struct Cookies {
    /// The path of that address, without a last slash.
    path: String,
    secure: bool,
}

impl Cookies {
    /// The name of the cookie that goes with the page.
    pub(crate) const FORM: &str = "toolmux_form";

    pub(crate) fn of(web: &Web) -> Self {
        Cookies::at(web.gateway.admission().info().public_url.as_deref())
    }

    fn at(public_url: Option<&str>) -> Self {
        let public_url = public_url.and_then(|url| Url::parse(url).ok());
        Cookies {
            path: public_url.as_ref().map_or("", Url::path).trim_end_matches('/').to_owned(),
            secure: public_url.is_some_and(|url| url.scheme() == "https"),
        }
    }

    /// The cookie of a page, for its own form.
    pub(crate) fn form(&self, challenge: &str, value: &str) -> String {
        let secure = if self.secure { "; Secure" } else { "" };
        let path = format!("{}/auth/start/{challenge}", self.path);
        format!("{}={value}; Path={path}; Max-Age={LIFE}; HttpOnly; SameSite=Strict{secure}", Self::FORM)
    }

    /// The name of the cookie for the way to the provider and back.
    pub(crate) fn name(&self) -> &'static str {
        if self.secure { SECURE_CALLBACK } else { CALLBACK }
    }

    /// That cookie. Providers lead back across sites, which `Strict` would not let it go along with.
    pub(crate) fn callback(&self, value: &str) -> String {
        let scope =
            if self.secure { "Path=/; Secure".to_owned() } else { format!("Path={}/auth", self.path) };
        format!("{}={value}; {scope}; Max-Age={LIFE}; HttpOnly; SameSite=Lax", self.name())
    }
}

/// What a browser shows by a name.
pub(crate) fn shown<'a>(headers: &'a HeaderMap, wanted: &str) -> Option<&'a str> {
    let sent = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = sent.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == wanted).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(public_url: Option<&str>, expect: [&str; 2]) {
        let cookies = Cookies::at(public_url);
        assert_eq!([cookies.form("id", "a"), cookies.callback("b")], expect, "{public_url:?}");
    }

    #[test]
    fn cookies_are_shown_at_our_public_pages_only() {
        let form = "Path=/auth/start/id; Max-Age=3600; HttpOnly; SameSite=Strict";
        check(
            None,
            [
                &format!("toolmux_form=a; {form}"),
                "toolmux_auth=b; Path=/auth; Max-Age=3600; HttpOnly; SameSite=Lax",
            ],
        );
        check(
            Some("https://tools.test/mux"),
            [
                "toolmux_form=a; Path=/mux/auth/start/id; Max-Age=3600; HttpOnly; SameSite=Strict; Secure",
                "__Host-toolmux_auth=b; Path=/; Secure; Max-Age=3600; HttpOnly; SameSite=Lax",
            ],
        );
        check(
            Some("http://10.0.0.1:1"),
            [
                &format!("toolmux_form=a; {form}"),
                "toolmux_auth=b; Path=/auth; Max-Age=3600; HttpOnly; SameSite=Lax",
            ],
        );
    }

    #[test]
    fn a_cookie_is_found_among_others() {
        let headers = HeaderMap::from_iter([(header::COOKIE, "a=1; toolmux_form=2;b=3".parse().unwrap())]);
        assert_eq!((shown(&headers, "toolmux_form"), shown(&headers, "form")), (Some("2"), None));
    }
}
