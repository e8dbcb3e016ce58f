//! Which OXP is spoken: the header `OXP-Version`, and `$schema` in the older body form.

use axum::response::Response;
use http::{HeaderMap, HeaderName, HeaderValue};
use toolmux_core::message::Message;
use toolmux_core::refusal::Refusal;
use toolmux_http::serve::ClientHeaders;

/// The version of OXP we speak.
pub(super) const OXP_VERSION: &str = "1.0";
/// The header it stands in.
pub(super) const OXP_VERSION_HEADER: HeaderName = HeaderName::from_static(NAME);
const NAME: &str = "oxp-version";

/// What OXP's clients send and expect wherever they ask: `/health` and the addresses of challenges are not OXP's alone.
pub(super) const CLIENT_HEADERS: ClientHeaders =
    ClientHeaders { key: "oxp-api-key", answer: (NAME, OXP_VERSION) };

/// What older clients call it.
pub(super) const SCHEMA: &str = "urn:oxp:1.0";

/// Marks an answer with our version.
pub(super) fn stamp(mut response: Response) -> Response {
    response.headers_mut().insert(OXP_VERSION_HEADER, HeaderValue::from_static(OXP_VERSION));
    response
}

/// Refuses a request that asks for a version we do not speak. None asked means ours.
pub(super) fn check_header(headers: &HeaderMap) -> Result<(), Refusal> {
    match headers.get(OXP_VERSION_HEADER).map(HeaderValue::to_str) {
        None => Ok(()),
        Some(Ok(asked)) if speaks(asked.trim()) => Ok(()),
        Some(Ok(asked)) => Err(unsupported(asked)),
        Some(Err(_)) => Err(unsupported("?")),
    }
}

/// The same for `$schema`: `urn:oxp:1.0`, or the long address of the OpenAPI file, whose path names it.
pub(super) fn check_schema(schema: &str) -> Result<(), Refusal> {
    let asked = match schema.strip_prefix("urn:oxp:") {
        Some(version) => Some(version),
        None => schema.split('/').find(|part| is_version(part)),
    };
    match asked {
        Some(version) if !speaks(version) => Err(unsupported(version)),
        Some(_) | None => Ok(()),
    }
}

fn speaks(version: &str) -> bool {
    matches!(version, "1.0" | "1" | "1.0.0")
}

fn is_version(part: &str) -> bool {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    part.split_once('.').is_some_and(|(major, minor)| number(major) && number(minor))
}

fn unsupported(asked: &str) -> Refusal {
    Refusal::Malformed(
        Message::public(format!("OXP version `{asked}` is not supported"))
            .developer(format!("this server speaks OXP {OXP_VERSION}")),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(schema: &str, expect: bool) {
        assert_eq!(check_schema(schema).is_ok(), expect, "{schema}");
    }

    #[test]
    fn a_schema_names_the_version_short_or_long() {
        check("urn:oxp:1.0", true);
        check("urn:oxp:2.0", false);
        check("urn:oxp:", false);
        check("https://example.com/specification/http/1.0/openapi.json", true);
        check("https://example.com/specification/http/3.1/openapi.json", false);
        check("https://example.com/openapi.json", true);
    }
}
