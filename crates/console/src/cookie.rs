//! The cookie of a session.

use http::{HeaderMap, header};

/// Its name where the server is reached without TLS.
const PLAIN: &str = "toolmux_console";
/// With this prefix no other host and no page without TLS can plant it.
const SECURE: &str = "__Host-toolmux_console";

/// How the cookie is written, by how this server is reached.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cookie {
    secure: bool,
}

impl Cookie {
    pub(crate) fn of_scheme(scheme: &str) -> Self {
        Cookie { secure: scheme == "https" }
    }

    /// The scheme by which this server is reached.
    pub(crate) fn scheme(self) -> &'static str {
        if self.secure { "https" } else { "http" }
    }

    fn name(self) -> &'static str {
        if self.secure { SECURE } else { PLAIN }
    }

    /// The cookie of a session that lasts so many seconds; an empty one ends it.
    pub(crate) fn set(self, token: &str, seconds: u64) -> String {
        let secure = if self.secure { "; Secure" } else { "" };
        format!("{}={token}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}", self.name())
    }

    /// What a browser shows.
    pub(crate) fn shown(self, headers: &HeaderMap) -> Option<&str> {
        let sent = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs =
            sent.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.find(|(name, _)| *name == self.name()).map(|(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cookie_is_out_of_reach_of_scripts_and_other_sites() {
        let plain = Cookie::of_scheme("http").set("a", 60);
        assert_eq!(plain, "toolmux_console=a; Path=/; Max-Age=60; HttpOnly; SameSite=Strict");
        let secure = Cookie::of_scheme("https").set("a", 60);
        assert_eq!(secure, "__Host-toolmux_console=a; Path=/; Max-Age=60; HttpOnly; SameSite=Strict; Secure");
    }

    #[test]
    fn it_is_found_among_others() {
        let headers = HeaderMap::from_iter([(header::COOKIE, "a=1; toolmux_console=2;b=3".parse().unwrap())]);
        assert_eq!(Cookie::of_scheme("http").shown(&headers), Some("2"));
        assert_eq!(Cookie::of_scheme("https").shown(&headers), None);
    }
}
