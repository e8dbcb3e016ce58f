//! Which era a request is of, and what 2026-07-28 wants of its headers and `_meta`.

use http::{HeaderMap, HeaderName};
use serde_json::json;
use toolmux_core::call::Caller;

use super::method::Opens;
use super::params::RequestParams;
use super::peer::Peer;
use super::rpc_request::RpcRequest;
use super::session_id;
use super::session_state::SessionKey;
use crate::mcp::headers::{METHOD_HEADER, NAME_HEADER, SESSION_HEADER, VERSION_HEADER};
use crate::mcp::mirror;
use crate::mcp::revision::Revision;
use crate::mcp::wire::{
    CAPABILITIES, Capabilities, Fault, HEADER_MISMATCH, INVALID_PARAMS, UNSUPPORTED_VERSION, VERSION,
};

/// Why a request over HTTP goes no further.
pub(in crate::mcp) enum Stopped {
    Fault(Fault),
    /// The session is not one of ours: the client has to begin anew.
    NoSession,
}

impl From<Fault> for Stopped {
    fn from(fault: Fault) -> Self {
        Stopped::Fault(fault)
    }
}

/// Who sent a request over HTTP. What it declares is moved from the request to the peer.
pub(in crate::mcp) fn peer(
    headers: &HeaderMap,
    request: &mut RpcRequest,
    caller: Caller,
) -> Result<Peer, Stopped> {
    let named = text(headers, &VERSION_HEADER).map(Revision::read);
    if carries_era(request)? || named.is_some_and(|revision| revision.is_none_or(Revision::is_modern)) {
        return Ok(modern_peer(Some(headers), request, caller)?);
    }
    legacy_peer(headers, caller)
}

/// Who sent a request where there are no headers; none when it is not of the stateless revision.
pub(in crate::mcp) fn headless(request: &mut RpcRequest, caller: &Caller) -> Result<Option<Peer>, Fault> {
    if !carries_era(request)? {
        return Ok(None);
    }
    modern_peer(None, request, caller.clone()).map(Some)
}

/// Who asks, for messages that only legacy clients send.
pub(in crate::mcp) fn legacy_peer(headers: &HeaderMap, caller: Caller) -> Result<Peer, Stopped> {
    let named = text(headers, &VERSION_HEADER).and_then(Revision::read);
    match text(headers, &SESSION_HEADER) {
        None => Ok(Peer {
            caller,
            revision: named.filter(|named| !named.is_modern()).unwrap_or(Revision::UNSAID),
            capabilities: Capabilities::default(),
            session: None,
        }),
        Some(id) => {
            let (revision, capabilities) = session_id::open(id, &caller).ok_or(Stopped::NoSession)?;
            let session = SessionKey { caller: caller.name().into(), id: id.into() };
            Ok(Peer { caller, revision, capabilities, session: Some(session) })
        }
    }
}

/// True when the headers name the stateless revision, which has neither streams of their own nor sessions.
pub(in crate::mcp) fn is_modern(headers: &HeaderMap) -> bool {
    text(headers, &VERSION_HEADER).and_then(Revision::read).is_some_and(Revision::is_modern)
}

/// True when the message itself is one of the stateless revision.
fn carries_era(request: &RpcRequest) -> Result<bool, Fault> {
    Ok(request.params()?.meta.version.is_some() || request.method.opens == Opens::Discovery)
}

/// Checks what 2026-07-28 wants, in this order: `_meta`, then headers, then the version. The first fault is answered.
fn modern_peer(headers: Option<&HeaderMap>, request: &mut RpcRequest, caller: Caller) -> Result<Peer, Fault> {
    let params = request.params()?;
    let version = version_of(params)?;
    if let Some(headers) = headers {
        same(headers, &VERSION_HEADER, version)?;
        same(headers, &METHOD_HEADER, &request.name)?;
        if let Some(name) = params.named(request.method.target) {
            same(headers, &NAME_HEADER, name)?;
        }
    }
    supported(version)?;
    let capabilities = request.take_capabilities();
    Ok(Peer { caller, revision: Revision::MODERN, capabilities, session: None })
}

/// The version that every request carries, besides the client's capabilities.
fn version_of(params: &RequestParams) -> Result<&str, Fault> {
    let meta = &params.meta;
    match (meta.version.as_deref(), &meta.capabilities) {
        (Some(version), Some(_)) => Ok(version),
        (version, capabilities) => {
            let missing = [(VERSION, version.is_none()), (CAPABILITIES, capabilities.is_none())];
            let missing: Vec<&str> =
                missing.into_iter().filter_map(|(key, absent)| absent.then_some(key)).collect();
            let text = format!("`params._meta` lacks `{}`", missing.join("` and `"));
            Err(Fault::new(INVALID_PARAMS, text))
        }
    }
}

/// Refuses a version that is not the stateless one.
fn supported(version: &str) -> Result<(), Fault> {
    if version == Revision::MODERN.text() {
        return Ok(());
    }
    let data = json!({ "supported": [Revision::MODERN.text()], "requested": version });
    Err(Fault::with_data(
        UNSUPPORTED_VERSION,
        format!("Protocol version `{version}` is not supported"),
        &data,
    ))
}

fn same(headers: &HeaderMap, name: &HeaderName, expected: &str) -> Result<(), Fault> {
    let mut all = headers.get_all(name).iter();
    let first = all.next().and_then(|value| mirror::read(value.to_str().ok()?));
    if first.as_deref() == Some(expected) && all.next().is_none() {
        Ok(())
    } else {
        Err(mismatch(name.as_str()))
    }
}

/// A header that differs from what the body says.
pub(in crate::mcp) fn mismatch(name: &str) -> Fault {
    Fault::new(HEADER_MISMATCH, format!("Header `{name}` does not match the body"))
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}
