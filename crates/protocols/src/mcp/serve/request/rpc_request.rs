//! One request as a client sent it, on its own: nothing in it borrows from the message it came in.

use std::borrow::Cow;

use serde_json::value::RawValue;
use toolmux_core::arguments::{Arguments, ArgumentsError};
use toolmux_core::call::CallId;
use toolmux_core::json_text::RawJson;
use toolmux_core::memory_budget::Reservation;

use super::method::{Method, Streams, Target};
use super::params::RequestParams;
use super::peer::Peer;
use crate::mcp::members::Members;
use crate::mcp::wire::{Capabilities, Fault, Params};

/// Longer parameters of a call are not held twice: their text is kept without the arguments.
const LONG_PARAMS: usize = 256 << 10;

#[derive(Debug)]
pub(in crate::mcp) struct RpcRequest {
    pub(in crate::mcp) id: RawJson,
    pub(in crate::mcp) method: &'static Method,
    /// The name of the method as it was sent, which may be in no table.
    pub(in crate::mcp) name: Cow<'static, str>,
    /// The parameters as they came. Of a call with long ones, `arguments` is `null` here.
    pub(in crate::mcp) text: Option<RawJson>,
    params: Result<RequestParams, Fault>,
    /// The idempotency key of the HTTP request: the same again is the same call.
    pub(in crate::mcp) call_id: Option<CallId>,
    /// The trace that the HTTP request names.
    pub(in crate::mcp) trace: Option<Box<str>>,
    /// What the message takes of the memory for all requests.
    pub(in crate::mcp) held: Option<Reservation>,
}

impl RpcRequest {
    pub(in crate::mcp) fn new(
        id: &RawValue,
        name: &str,
        method: &'static Method,
        params: Option<&RawValue>,
    ) -> Self {
        let read = Params::read(params).map(|params| RequestParams::new(params, method.target));
        let is_call = read.is_ok() && method.target == Target::Tool;
        RpcRequest {
            id: id.to_owned(),
            method,
            name: if method.name == name { Cow::Borrowed(method.name) } else { Cow::Owned(name.to_owned()) },
            text: params
                .map(|params| if is_call { without_long_arguments(params) } else { params.to_owned() }),
            params: read,
            call_id: None,
            trace: None,
            held: None,
        }
    }

    /// What was read of the parameters, or why they could not be.
    pub(in crate::mcp) fn params(&self) -> Result<&RequestParams, Fault> {
        self.params.as_ref().map_err(Clone::clone)
    }

    /// The arguments of a call, which are no longer here afterwards.
    pub(in crate::mcp) fn take_arguments(&mut self) -> Result<Arguments, ArgumentsError> {
        let arguments = self.params.as_mut().ok().and_then(|params| params.arguments.take());
        arguments.unwrap_or_else(|| Arguments::read(None))
    }

    /// What the client declares with this request, which is no longer here afterwards.
    pub(in crate::mcp) fn take_capabilities(&mut self) -> Capabilities {
        Capabilities::from(self.params.as_mut().ok().and_then(|params| params.meta.capabilities.take()))
    }

    /// True when the request itself names a version, which only clients of the stateless revision do.
    pub(in crate::mcp) fn names_version(&self) -> bool {
        self.params.as_ref().is_ok_and(|params| params.meta.version.is_some())
    }

    /// True when messages may have to leave before the answer.
    pub(in crate::mcp) fn may_stream(&self, peer: &Peer) -> bool {
        match self.method.streams {
            Streams::Never => false,
            Streams::Always | Streams::UntilClosed => true,
            Streams::WhenFollowed => {
                let follows = |params: &RequestParams| {
                    params.meta.progress_token.is_some() || params.meta.log_level.is_some()
                };
                !peer.revision.is_modern() || self.params.as_ref().is_ok_and(follows)
            }
        }
    }
}

/// The parameters of a call whose arguments were read: long ones are left out, but keep their place.
fn without_long_arguments(params: &RawValue) -> RawJson {
    let members = if params.get().len() > LONG_PARAMS { Members::read(params) } else { None };
    match members {
        Some(mut members) if members.has("arguments") => {
            members.put_raw("arguments", RawJson::default());
            members.write()
        }
        _ => params.to_owned(),
    }
}
