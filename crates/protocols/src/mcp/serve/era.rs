//! Which era a request over HTTP is of, and what 2026-07-28 wants of its headers and `_meta`.

use http::{HeaderMap, HeaderName};
use serde_json::json;
use serde_json::value::RawValue;
use toolmux_core::arguments::Arguments;
use toolmux_core::call::Caller;
use toolmux_core::catalog::Catalog;
use toolmux_core::names::ToolRef;

use super::exchange::{Peer, RpcRequest};
use super::session;
use super::session_state::SessionKey;
use crate::mcp::mirror;
use crate::mcp::revision::Revision;
use crate::mcp::wire::{
    CAPABILITIES, Capabilities, Fault, HEADER_MISMATCH, INVALID_PARAMS, Params, UNSUPPORTED_VERSION, VERSION,
};

static VERSION_HEADER: HeaderName = HeaderName::from_static("mcp-protocol-version");
static METHOD_HEADER: HeaderName = HeaderName::from_static("mcp-method");
static NAME_HEADER: HeaderName = HeaderName::from_static("mcp-name");
pub(super) static SESSION_HEADER: HeaderName = HeaderName::from_static("mcp-session-id");

/// Why a request over HTTP goes no further.
pub(super) enum Stopped {
    Fault(Fault),
    /// The session is not one of ours: the client has to begin anew.
    NoSession,
}

impl From<Fault> for Stopped {
    fn from(fault: Fault) -> Self {
        Stopped::Fault(fault)
    }
}

/// Who asks, in which revision.
pub(super) fn peer(
    headers: &HeaderMap,
    method: &str,
    params: &Params<'_>,
    caller: Caller,
) -> Result<Peer, Stopped> {
    let said = text(headers, &VERSION_HEADER);
    let known = said.map(Revision::read);
    let modern = params.meta().version.is_some()
        || method == "server/discover"
        || known.is_some_and(|revision| revision.is_none_or(Revision::is_modern));
    if modern {
        return Ok(check_modern(headers, method, params, caller)?);
    }
    legacy_peer(headers, caller)
}

/// Who asks, for messages that only legacy clients send.
pub(super) fn legacy_peer(headers: &HeaderMap, caller: Caller) -> Result<Peer, Stopped> {
    let said = text(headers, &VERSION_HEADER).and_then(Revision::read);
    match text(headers, &SESSION_HEADER) {
        None => Ok(Peer {
            caller,
            revision: said.filter(|said| !said.is_modern()).unwrap_or(Revision::UNSAID),
            capabilities: Capabilities::default(),
            session: None,
        }),
        Some(id) => {
            let (revision, capabilities) = session::open(id, &caller).ok_or(Stopped::NoSession)?;
            let session = SessionKey { caller: caller.name().into(), id: id.into() };
            Ok(Peer { caller, revision, capabilities, session: Some(session) })
        }
    }
}

/// True when the headers name the stateless revision, which has neither streams of their own nor sessions.
pub(super) fn is_modern(headers: &HeaderMap) -> bool {
    text(headers, &VERSION_HEADER).and_then(Revision::read).is_some_and(Revision::is_modern)
}

/// Who asks where there are no headers; none when the message is not of the stateless revision.
pub(super) fn headless(asked: &RpcRequest, caller: &Caller) -> Result<Option<Peer>, Fault> {
    let params = Params::read(asked.params.as_deref())?;
    if params.meta().version.is_none() && asked.method != "server/discover" {
        return Ok(None);
    }
    let (version, capabilities) = carried(&params)?;
    supported(version)?;
    let capabilities = Capabilities::new(Some(capabilities));
    Ok(Some(Peer { caller: caller.clone(), revision: Revision::MODERN, capabilities, session: None }))
}

/// The rungs of 2026-07-28: `_meta`, then headers, then the version; the first that breaks is told.
fn check_modern(
    headers: &HeaderMap,
    method: &str,
    params: &Params<'_>,
    caller: Caller,
) -> Result<Peer, Fault> {
    let (version, capabilities) = carried(params)?;
    same(headers, &VERSION_HEADER, version)?;
    same(headers, &METHOD_HEADER, method)?;
    match (method, &params.name, &params.uri) {
        ("tools/call" | "prompts/get", Some(name), _) => same(headers, &NAME_HEADER, name)?,
        ("resources/read", _, Some(uri)) => same(headers, &NAME_HEADER, uri)?,
        ("tasks/get" | "tasks/update" | "tasks/cancel", ..) => {
            params.task_id.iter().try_for_each(|id| same(headers, &NAME_HEADER, id))?;
        }
        _ => {}
    }
    supported(version)?;
    let capabilities = Capabilities::new(Some(capabilities));
    Ok(Peer { caller, revision: Revision::MODERN, capabilities, session: None })
}

/// What every request carries.
fn carried<'a>(params: &'a Params<'_>) -> Result<(&'a str, &'a RawValue), Fault> {
    let meta = params.meta();
    match (meta.version.as_deref(), meta.capabilities) {
        (Some(version), Some(capabilities)) => Ok((version, capabilities)),
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

/// Arguments whose schema mirrors them as headers must stand in both places, and be the same.
pub(super) fn mirrored(
    headers: &HeaderMap,
    params: &Params<'_>,
    peer: &Peer,
    catalog: &Catalog,
) -> Result<(), Fault> {
    let place = params.name.as_deref().and_then(|name| catalog.find(&ToolRef::flat(name)));
    let Some(place) = place.filter(|place| catalog.permits(&peer.caller, *place)) else { return Ok(()) };
    let schema = catalog.entry(place).tool.input.value();
    if !mirror::mirrors(schema) {
        return Ok(());
    }
    let Ok(arguments) = Arguments::read(params.arguments) else { return Ok(()) };
    for (name, expected) in mirror::headers(schema, arguments.map()) {
        let said = headers.get(name.as_str()).map(|value| value.to_str().ok().and_then(mirror::read));
        match (expected, said) {
            (None, None) => {}
            (Some(expected), Some(Some(said))) if equal(&expected, &said) => {}
            (_, _) => return Err(mismatch(&name)),
        }
    }
    Ok(())
}

fn equal(expected: &str, said: &str) -> bool {
    let number = |text: &str| text.parse::<f64>().ok();
    expected == said || (number(expected).is_some() && number(expected) == number(said))
}

fn same(headers: &HeaderMap, name: &HeaderName, expected: &str) -> Result<(), Fault> {
    let mut all = headers.get_all(name).iter();
    let said = all.next().and_then(|value| mirror::read(value.to_str().ok()?));
    if said.as_deref() == Some(expected) && all.next().is_none() {
        Ok(())
    } else {
        Err(mismatch(name.as_str()))
    }
}

fn mismatch(name: &str) -> Fault {
    Fault::new(HEADER_MISMATCH, format!("Header `{name}` does not say what the body says"))
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}
