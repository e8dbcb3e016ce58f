//! `OXP-Version`, which stands on every answer that an OXP client may read: OXP's own, and those of health and
//! challenges, which are kept elsewhere.

use axum::response::Response;
use http::{HeaderName, HeaderValue};

/// The version of OXP we speak.
pub(crate) const OXP_VERSION: &str = "1.0";
/// The header it stands in.
pub(crate) const OXP_VERSION_HEADER: HeaderName = HeaderName::from_static("oxp-version");

/// Marks an answer with our version.
pub fn stamp(mut response: Response) -> Response {
    response.headers_mut().insert(OXP_VERSION_HEADER, HeaderValue::from_static(OXP_VERSION));
    response
}
