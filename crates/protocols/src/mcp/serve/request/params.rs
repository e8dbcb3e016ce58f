//! The parameters of a request, read once: the members that we act on. What a method alone knows it reads itself.

use std::borrow::Cow;

use toolmux_core::arguments::{Arguments, ArgumentsError};
use toolmux_core::json_text::RawJson;

use super::method::Target;
use crate::mcp::revision::Revision;
use crate::mcp::wire::{Meta, Params, TaskAsked};

#[derive(Debug, Default)]
pub(in crate::mcp) struct RequestParams {
    pub(in crate::mcp) name: Option<Box<str>>,
    pub(in crate::mcp) uri: Option<Box<str>>,
    pub(in crate::mcp) cursor: Option<Box<str>>,
    /// Answers to what a result asked.
    pub(in crate::mcp) input_responses: Option<RawJson>,
    pub(in crate::mcp) request_state: Option<Box<str>>,
    pub(in crate::mcp) task: Option<TaskAsked>,
    pub(in crate::mcp) task_id: Option<Box<str>>,
    /// Of a call, until they are taken for it.
    pub(in crate::mcp) arguments: Option<Result<Arguments, ArgumentsError>>,
    pub(in crate::mcp) meta: RequestMeta,
}

/// `_meta` of a request.
#[derive(Debug, Default)]
pub(in crate::mcp) struct RequestMeta {
    pub(in crate::mcp) version: Option<Cow<'static, str>>,
    /// What the client declares that it can do, until it is taken for the peer.
    pub(in crate::mcp) capabilities: Option<RawJson>,
    pub(in crate::mcp) log_level: Option<Box<str>>,
    pub(in crate::mcp) progress_token: Option<RawJson>,
    pub(in crate::mcp) traceparent: Option<Box<str>>,
    pub(in crate::mcp) tracestate: Option<Box<str>>,
}

impl RequestParams {
    /// Takes what was read out of the message, so that its bytes can be freed.
    pub(in crate::mcp) fn new(params: Params<'_>, target: Target) -> Self {
        let arguments = (target == Target::Tool).then(|| Arguments::read(params.arguments));
        RequestParams {
            name: params.name.map(Into::into),
            uri: params.uri.map(Into::into),
            cursor: params.cursor.map(Into::into),
            input_responses: params.input_responses.map(ToOwned::to_owned),
            request_state: params.request_state.map(Into::into),
            task: params.task,
            task_id: params.task_id.map(Into::into),
            arguments,
            meta: params.meta.map(RequestMeta::new).unwrap_or_default(),
        }
    }

    /// What a request is about, as `Mcp-Name` has to repeat it.
    pub(in crate::mcp) fn named(&self, target: Target) -> Option<&str> {
        match target {
            Target::Nothing => None,
            Target::Tool | Target::Prompt => self.name.as_deref(),
            Target::Resource => self.uri.as_deref(),
            Target::Task => self.task_id.as_deref(),
        }
    }

    /// The tool, prompt or resource by which a call that waits for answers is continued.
    pub(in crate::mcp) fn name_or_uri(&self) -> &str {
        self.name.as_deref().or(self.uri.as_deref()).unwrap_or_default()
    }
}

impl RequestMeta {
    fn new(meta: Meta<'_>) -> Self {
        let version = meta.version.map(|version| match Revision::read(&version) {
            // Nearly every request names a version that we know: no copy of it is needed.
            Some(known) => Cow::Borrowed(known.text()),
            None => Cow::Owned(version.into_owned()),
        });
        RequestMeta {
            version,
            capabilities: meta.capabilities.map(ToOwned::to_owned),
            log_level: meta.log_level.map(Into::into),
            progress_token: meta.progress_token.map(ToOwned::to_owned),
            traceparent: meta.traceparent.map(Into::into),
            tracestate: meta.tracestate.map(Into::into),
        }
    }
}
