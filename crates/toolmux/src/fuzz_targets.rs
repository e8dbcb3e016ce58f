//! Invariants of what the product itself reads, for any bytes: run by this crate's tests for a bounded number of cases, and
//! by `cargo fuzz` for as long as somebody waits (fuzz/README.md). Compiled for these two only.

use std::net::IpAddr;

use http::uri::Authority;
use http::{HeaderName, HeaderValue, Method, Request, header};
use serde_json::Value;
use toolmux_http::serve::FETCH_SITE;

use crate::host_rules::HostRules;

/// A name, valid examples of the input, and the check.
pub type Target = (&'static str, fn() -> Vec<Vec<u8>>, fn(&[u8]));

/// Every target of this crate.
pub fn targets() -> Vec<Target> {
    [TARGETS, crate::config::fuzz_targets::TARGETS].concat()
}

const TARGETS: &[Target] = &[("host_rules", request_examples, request)];

/// Where the server listens, what it may be called by beside that, and which other page may call it.
const LISTEN: &str = "127.0.0.1:9627";
const HOST: &str = "tools.example";
const PAGE: &str = "https://page.example";

fn request_examples() -> Vec<Vec<u8>> {
    [
        r#"{"method":"POST","path":"/mcp","host":"127.0.0.1:9627","origin":"http://127.0.0.1:9627","site":"same-origin"}"#,
        r#"{"method":"GET","path":"/auth/start/x","host":"Tools.example:443","site":"cross-site","mode":"navigate"}"#,
        r#"{"method":"GET","path":"/tools","host":"[::1]:9627","origin":"https://Page.example","site":"cross-site"}"#,
        r#"{"method":"GET","path":"/tools","host":"evil.example","origin":"null","site":"none"}"#,
        r#"{"host":"localhost","origin":"https://tools.example"}"#,
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec()
}

/// No foreign host and no foreign page is let in on loopback.
fn request(data: &[u8]) {
    let Ok(Value::Object(said)) = serde_json::from_slice(data) else { return };
    let text = |name: &str| said.get(name).and_then(Value::as_str);
    let method: Method = text("method").and_then(|method| method.parse().ok()).unwrap_or_default();
    let Ok(mut request) = Request::builder().method(method).uri(text("path").unwrap_or("/")).body(()) else {
        return;
    };
    let mode = HeaderName::from_static("sec-fetch-mode");
    for (name, value) in [
        (header::HOST, "host"),
        (header::ORIGIN, "origin"),
        (FETCH_SITE.clone(), "site"),
        (mode.clone(), "mode"),
    ] {
        if let Some(value) = text(value).and_then(|value| HeaderValue::from_str(value).ok()) {
            request.headers_mut().insert(name, value);
        }
    }
    let rules = HostRules::new(LISTEN.parse().expect("an address"), &[HOST.to_owned()], &[PAGE.to_owned()]);
    if rules.check(&request, || Some(format!("https://{HOST}/mux"))).is_err() {
        return;
    }
    let sent = |name: &HeaderName| {
        request.headers().get(name).map(|value| value.to_str().unwrap_or("?").to_lowercase())
    };
    let (host, origin) = (sent(&header::HOST), sent(&header::ORIGIN));
    assert!(host.as_deref().is_none_or(is_ours), "{host:?} is let in");
    let page = origin.as_deref() == Some(PAGE);
    let own = origin.as_deref().is_none_or(|origin| {
        let reached = origin.strip_prefix("http://").is_some_and(|name| {
            host.as_deref().is_some_and(|host| host == name || host.strip_suffix(":80") == Some(name))
        });
        reached || origin == format!("https://{HOST}")
    });
    assert!(page || own, "a page of {origin:?} is let in at {host:?}");
    let embedded = sent(&FETCH_SITE).is_some_and(|site| site != "none" && site != "same-origin");
    let visited = request.method() == Method::GET
        && request.uri().path().starts_with("/auth/")
        && sent(&mode).is_none_or(|mode| mode == "navigate");
    assert!(!embedded || page || visited, "another site has {} sent", request.uri());
}

/// The name in a `Host` header, read by the parser of the HTTP library.
fn is_ours(host: &str) -> bool {
    let Ok(authority) = host.parse::<Authority>() else { return false };
    let name = authority.host().trim_start_matches('[').trim_end_matches(']');
    !host.contains('@')
        && (name == HOST || name == "localhost" || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback()))
}

#[cfg(test)]
mod tests {
    #[test]
    fn targets_hold() {
        toolmux_fuzzing::hold(super::TARGETS);
    }
}
