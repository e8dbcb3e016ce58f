//! Which `Host` and `Origin` a request may name. A web page must not reach a server on loopback through a
//! name that its owner points there.

use std::net::{IpAddr, SocketAddr};

use http::{HeaderMap, Uri, header};

/// The rules of one listener.
#[derive(Clone, Debug)]
pub(crate) struct HostRules {
    hosts: Vec<String>,
    origins: Vec<String>,
    any_host: bool,
}

impl HostRules {
    /// On loopback only its names and those configured are good. Elsewhere callers need a key, so any name
    /// is, unless some are configured.
    pub(crate) fn new(address: SocketAddr, hosts: &[String], origins: &[String]) -> Self {
        HostRules {
            hosts: hosts.iter().map(|host| host.to_ascii_lowercase()).collect(),
            origins: origins.iter().map(|origin| origin.trim_end_matches('/').to_ascii_lowercase()).collect(),
            any_host: hosts.is_empty() && !address.ip().is_loopback(),
        }
    }

    /// `Err` says which setting would allow it.
    pub(crate) fn check(&self, headers: &HeaderMap) -> Result<(), String> {
        // What nearly every request on loopback looks like.
        if !headers.contains_key(header::ORIGIN)
            && headers.get(header::HOST).is_none_or(|host| is_loopback_name(host.as_bytes()))
        {
            return Ok(());
        }
        let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or("?").to_ascii_lowercase());
        let host = text(header::HOST);
        if let Some(host) = &host
            && !self.any_host
            && !self.is_known(name_of(host))
        {
            return Err(format!("host `{host}` is not allowed; add it to `hosts` in the configuration"));
        }
        match text(header::ORIGIN) {
            Some(origin) if !self.allows_origin(&origin, host.as_deref()) => {
                Err(format!("origin `{origin}` is not allowed; add it to `origins` in the configuration"))
            }
            _ => Ok(()),
        }
    }

    fn allows_origin(&self, origin: &str, host: Option<&str>) -> bool {
        if self.origins.iter().any(|known| known == origin || known == "*") {
            return true;
        }
        let Ok(uri) = origin.parse::<Uri>() else { return false };
        let (Some(name), Some(authority)) = (uri.host(), uri.authority()) else { return false };
        if self.any_host { Some(authority.as_str()) == host } else { self.is_known(name) }
    }

    fn is_known(&self, name: &str) -> bool {
        let bare = name.trim_start_matches('[').trim_end_matches(']');
        let loopback = bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
        loopback
            || name == "localhost"
            || self.hosts.iter().any(|known| known == name || name_of(known) == name)
    }
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
        let hosts: Vec<String> = hosts.iter().map(ToString::to_string).collect();
        let rules = HostRules::new(listen.parse().expect("address"), &hosts, &[]);
        let headers: HeaderMap = headers
            .iter()
            .map(|(name, value)| (header::HeaderName::from_static(name), value.parse().expect("value")))
            .collect();
        assert_eq!(rules.check(&headers).is_ok(), expect, "{listen} {hosts:?} {headers:?}");
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
        check(LOCAL, &[], &[("host", LOCAL), ("origin", "http://localhost:3000")], true);
        check(LOCAL, &[], &[("host", LOCAL), ("origin", "https://evil.example")], false);
        check(LOCAL, &[], &[("host", LOCAL), ("origin", "null")], false);
        check(OPEN, &[], &[("host", "a.example:9627"), ("origin", "http://a.example:9627")], true);
        check(OPEN, &[], &[("host", "a.example:9627"), ("origin", "http://b.example")], false);
    }
}
