//! Which `Host` and `Origin` a request may name, and which sites may have a browser send one. A web page must not
//! reach a server on loopback, neither through a name that its owner points there nor by an address that it embeds.

use std::net::SocketAddr;

use http::{HeaderName, Method, Request, Uri, header};
use toolmux_http::network_zone::is_this_machine_name;
use toolmux_http::serve::FETCH_SITE;

static FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");

/// Where the pages are that browsers reach from other sites: links to them are sent around, and providers lead back to
/// them. What they do is bound to the browser by other means.
const PAGES: &str = "/auth/";

/// The rules of one listener.
#[derive(Clone, Debug)]
pub(crate) struct HostRules {
    hosts: Vec<String>,
    origins: Vec<String>,
    any_host: bool,
    /// The scheme by which this server is reached.
    scheme: &'static str,
}

impl HostRules {
    /// On loopback only its names and those configured are good. Elsewhere callers need a key, so any name
    /// is, unless some are configured.
    pub(crate) fn new(address: SocketAddr, hosts: &[String], origins: &[String]) -> Self {
        HostRules {
            hosts: hosts.iter().map(|host| host.to_ascii_lowercase()).collect(),
            origins: origins.iter().map(|origin| origin.trim_end_matches('/').to_ascii_lowercase()).collect(),
            any_host: hosts.is_empty() && !address.ip().is_loopback(),
            scheme: "http",
        }
    }

    /// The same for a listener that speaks TLS.
    pub(crate) fn with_tls(self) -> Self {
        HostRules { scheme: "https", ..self }
    }

    /// `Err` says which setting would allow it. `public_url` is where browsers reach this server, if that is
    /// configured.
    pub(crate) fn check<B>(
        &self,
        request: &Request<B>,
        public_url: impl Fn() -> Option<String>,
    ) -> Result<(), String> {
        let headers = request.headers();
        // What nearly every request on loopback looks like.
        if !headers.contains_key(header::ORIGIN)
            && !headers.contains_key(&FETCH_SITE)
            && headers.get(header::HOST).is_none_or(|host| is_loopback_name(host.as_bytes()))
        {
            return Ok(());
        }
        let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or("?").to_ascii_lowercase());
        let host = text(&header::HOST);
        if let Some(host) = &host
            && !self.any_host
            && !self.is_known(name_of(host))
        {
            return Err(format!("host `{host}` is not allowed; add it to `hosts` in the configuration"));
        }
        let origin = text(&header::ORIGIN);
        let configured = origin.as_deref().is_some_and(|origin| self.is_configured(origin));
        if let Some(origin) = &origin
            && !configured
            && !self.is_own(origin, host.as_deref(), public_url)
        {
            return Err(format!(
                "origin `{origin}` is not allowed; add it to `origins` in the configuration"
            ));
        }
        // Beside `Origin`, which browsers leave out of a GET that a page embeds.
        match text(&FETCH_SITE).as_deref() {
            None | Some("none" | "same-origin") => Ok(()),
            Some(_) if configured || is_page(request) => Ok(()),
            Some(site) => Err(format!(
                "a {site} request of a web page is not allowed; add its origin to `origins` in the configuration"
            )),
        }
    }

    fn is_configured(&self, origin: &str) -> bool {
        self.origins.iter().any(|known| known == origin || known == "*")
    }

    /// Whether a page is of this server: scheme, name and port are those by which it was reached, or those of
    /// `public_url` behind a proxy. Another port of this machine is another program.
    fn is_own(&self, origin: &str, host: Option<&str>, public_url: impl Fn() -> Option<String>) -> bool {
        let reached = host.and_then(|host| origin_of(&format!("{}://{host}", self.scheme)));
        reached.as_deref() == Some(origin)
            || public_url().and_then(|public| origin_of(&public)).as_deref() == Some(origin)
    }

    fn is_known(&self, name: &str) -> bool {
        is_this_machine_name(name) || self.hosts.iter().any(|known| known == name || name_of(known) == name)
    }
}

/// The origin of an address, as browsers write it.
fn origin_of(address: &str) -> Option<String> {
    let uri: Uri = address.parse().ok()?;
    let (scheme, authority) = (uri.scheme_str()?, uri.authority()?.as_str().to_ascii_lowercase());
    let usual = if scheme == "https" { ":443" } else { ":80" };
    Some(format!("{scheme}://{}", authority.strip_suffix(usual).unwrap_or(&authority)))
}

/// Whether a browser goes to one of our pages, rather than a page embedding it.
fn is_page<B>(request: &Request<B>) -> bool {
    request.method() == Method::GET
        && request.uri().path().starts_with(PAGES)
        && request.headers().get(&FETCH_MODE).is_none_or(|mode| mode == "navigate")
}

/// `127.0.0.1` or `localhost`, with any port.
fn is_loopback_name(host: &[u8]) -> bool {
    let port = host.strip_prefix(b"127.0.0.1").or_else(|| host.strip_prefix(b"localhost"));
    port.is_some_and(|port| port.is_empty() || (port[0] == b':' && port[1..].iter().all(u8::is_ascii_digit)))
}

/// The name without its port.
fn name_of(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(listen: &str, hosts: &[&str], headers: &[(&'static str, &str)], expect: bool) {
        check_at("GET /tools", listen, (hosts, &[]), headers, expect);
    }

    fn check_at(
        line: &str,
        listen: &str,
        (hosts, origins): (&[&str], &[&str]),
        headers: &[(&'static str, &str)],
        expect: bool,
    ) {
        let owned = |texts: &[&str]| texts.iter().map(ToString::to_string).collect::<Vec<_>>();
        let rules = HostRules::new(listen.parse().expect("address"), &owned(hosts), &owned(origins));
        let (method, path) = line.split_once(' ').expect("a request line");
        let mut request = Request::builder().method(method).uri(path).body(()).expect("a request");
        for (name, value) in headers {
            request.headers_mut().insert(HeaderName::from_static(name), value.parse().expect("value"));
        }
        let checked = rules.check(&request, || Some("https://Tools.example:443/mux".to_owned()));
        assert_eq!(checked.is_ok(), expect, "{line} {listen} {hosts:?} {headers:?} {checked:?}");
    }

    const LOCAL: &str = "127.0.0.1:9627";
    const OPEN: &str = "0.0.0.0:9627";

    #[test]
    fn loopback_answers_to_its_own_names() {
        for host in ["localhost:9627", "127.0.0.1:9627", "[::1]:9627", "localhost", "127.0.0.1"] {
            check(LOCAL, &[], &[("host", host)], true);
        }
        check(LOCAL, &[], &[("host", "evil.example:9627")], false);
        check(LOCAL, &[], &[("host", "localhost.evil.example")], false);
    }

    #[test]
    fn configured_names_are_good_everywhere() {
        check(LOCAL, &["tools.example"], &[("host", "tools.example:443")], true);
        check(OPEN, &["tools.example"], &[("host", "other.example")], false);
        check(OPEN, &[], &[("host", "other.example")], true);
    }

    #[test]
    fn pages_of_other_origins_are_refused() {
        check(LOCAL, &[], &[("host", LOCAL), ("origin", "http://127.0.0.1:9627")], true);
        check(LOCAL, &[], &[("host", LOCAL), ("origin", "http://localhost:3000")], false);
        check(LOCAL, &[], &[("host", LOCAL), ("origin", "http://127.0.0.1:3000")], false);
        check(LOCAL, &[], &[("host", LOCAL), ("origin", "https://127.0.0.1:9627")], false);
        check(LOCAL, &[], &[("host", LOCAL), ("origin", "http://127.0.0.1")], false);
        check(LOCAL, &[], &[("host", "localhost:80"), ("origin", "http://localhost")], true);
        check(LOCAL, &[], &[("origin", "http://localhost:9627")], false);
        check(LOCAL, &[], &[("host", LOCAL), ("origin", "https://evil.example")], false);
        check(LOCAL, &[], &[("host", LOCAL), ("origin", "null")], false);
        check(OPEN, &[], &[("host", "a.example:9627"), ("origin", "http://a.example:9627")], true);
        check(OPEN, &[], &[("host", "a.example:9627"), ("origin", "http://b.example")], false);
        check(OPEN, &[], &[("host", "a.example:9627"), ("origin", "http://a.example")], false);
    }

    #[test]
    fn the_public_address_and_configured_origins_are_good() {
        check(LOCAL, &[], &[("host", LOCAL), ("origin", "https://tools.example")], true);
        check(LOCAL, &[], &[("host", LOCAL), ("origin", "http://tools.example")], false);
        let page = [("host", LOCAL), ("origin", "http://localhost:3000"), ("sec-fetch-site", "same-site")];
        check_at("POST /tools/call", LOCAL, (&[], &["http://localhost:3000/"]), &page, true);
        check_at("POST /tools/call", LOCAL, (&[], &["*"]), &page, true);
        check_at("POST /tools/call", LOCAL, (&[], &["http://localhost:3001"]), &page, false);
        // An embedded address has no origin, so that nothing says whose page it is on.
        let embedded = [("host", LOCAL), ("sec-fetch-site", "cross-site")];
        check_at("GET /get_tool", LOCAL, (&[], &["*"]), &embedded, false);
    }

    #[test]
    fn requests_that_another_site_caused_are_refused() {
        for (site, expect) in
            [("none", true), ("same-origin", true), ("same-site", false), ("cross-site", false), ("?", false)]
        {
            check(LOCAL, &[], &[("host", LOCAL), ("sec-fetch-site", site)], expect);
            check(OPEN, &[], &[("host", "a.example"), ("sec-fetch-site", site)], expect);
            check(LOCAL, &[], &[("sec-fetch-site", site)], expect);
        }
    }

    #[test]
    fn browsers_reach_our_pages_from_other_sites() {
        let from_elsewhere =
            |mode| [("host", LOCAL), ("sec-fetch-site", "cross-site"), ("sec-fetch-mode", mode)];
        for (line, mode, expect) in [
            ("GET /auth/start/abc", "navigate", true),
            ("GET /auth/callback/github?code=1", "navigate", true),
            ("GET /auth/start/abc", "no-cors", false),
            ("POST /auth/start/abc", "navigate", false),
            ("GET /auth/check/abc", "cors", false),
            ("GET /get_tool", "navigate", false),
        ] {
            check_at(line, LOCAL, (&[], &[]), &from_elsewhere(mode), expect);
        }
    }
    #[test]
    fn the_form_of_our_own_page_is_let_in() {
        let post = |origin, site| [("host", LOCAL), ("origin", origin), ("sec-fetch-site", site)];
        for (origin, site, expect) in [
            ("http://127.0.0.1:9627", "same-origin", true),
            ("https://tools.example", "same-origin", true),
            ("null", "same-origin", false),
            ("null", "cross-site", false),
            ("http://127.0.0.1:9627", "cross-site", false),
            ("http://127.0.0.1:3000", "same-site", false),
            ("https://evil.example", "cross-site", false),
        ] {
            check_at("POST /auth/start/abc", LOCAL, (&[], &[]), &post(origin, site), expect);
        }
    }
}
