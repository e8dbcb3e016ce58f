//! Documents that clients keep and ask for again: the tag of one, and the answer to who may have it already.

use axum::response::Response;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use sha2::{Digest, Sha256};

use super::answer::json;

/// The tag of a document, which is another for other bytes.
pub fn tag_of(document: &[u8]) -> Bytes {
    let digest: [u8; 32] = Sha256::digest(document).into();
    let half = digest.first_chunk().copied().map_or(0, u128::from_be_bytes);
    format!("\"{half:032x}\"").into()
}

/// A JSON document under its tag; nothing but the tag for a request that names it in `If-None-Match`.
pub fn tagged(request: &HeaderMap, tag: Bytes, document: Bytes) -> Response {
    let known = request.get(header::IF_NONE_MATCH).is_some_and(|known| names(known, &tag));
    let (status, body) =
        if known { (StatusCode::NOT_MODIFIED, Bytes::new()) } else { (StatusCode::OK, document) };
    let mut response = json(status, body);
    let tag = HeaderValue::from_maybe_shared(tag).expect("a tag is made of hexadecimal digits");
    response.headers_mut().insert(header::ETAG, tag);
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

/// True when a list of tags, each perhaps weak, has this one or any.
fn names(known: &HeaderValue, tag: &Bytes) -> bool {
    let Ok(known) = known.to_str() else { return false };
    known.split(',').map(|tag| tag.trim().trim_start_matches("W/")).any(|k| k == "*" || k.as_bytes() == tag)
}
