//! The bytes of MCP that both sides know: the members of requests that we act on, capabilities, error objects.

use std::borrow::Cow;
use std::sync::LazyLock;

use bytes::Bytes;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;
use toolmux_core::json_text::{RawJson, optional_text, raw_of, read_object, to_raw};

use super::members::Members;
use crate::jsonrpc;

/// Keys of `_meta`.
pub(super) const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
pub(super) const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
pub(super) const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
pub(super) const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
pub(super) const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
pub(super) const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";
/// Our own: the request in whose answering a question is asked.
pub(super) const ASKED_FOR: &str = "toolmux/requestId";
pub(super) const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";

/// The extension by which calls become tasks since 2026-07-28.
pub(super) const TASKS: &str = "io.modelcontextprotocol/tasks";

pub(super) const PARSE_ERROR: i64 = -32700;
pub(super) const INVALID_REQUEST: i64 = -32600;
pub(super) const METHOD_NOT_FOUND: i64 = -32601;
pub(super) const INVALID_PARAMS: i64 = -32602;
pub(super) const INTERNAL_ERROR: i64 = -32603;
pub(super) const HEADER_MISMATCH: i64 = -32020;
pub(super) const MISSING_CAPABILITY: i64 = -32021;
pub(super) const UNSUPPORTED_VERSION: i64 = -32022;
/// By which servers of the handshake era say that the user must open addresses first.
pub(super) const URL_ELICITATION_REQUIRED: i64 = -32042;

/// What servers ask their clients.
pub(super) const ELICITATION: &str = "elicitation/create";
pub(super) const SAMPLING: &str = "sampling/createMessage";
pub(super) const ROOTS: &str = "roots/list";

/// The members of any request's parameters that we act on.
#[derive(Debug, Default, Deserialize)]
#[serde(expecting = "an object")]
pub(super) struct Params<'a> {
    #[serde(borrow, default, deserialize_with = "optional_text")]
    pub(super) name: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "optional_text")]
    pub(super) uri: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) arguments: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "optional_text")]
    pub(super) cursor: Option<Cow<'a, str>>,
    #[serde(borrow, default, rename = "inputResponses")]
    pub(super) input_responses: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "optional_text", rename = "requestState")]
    pub(super) request_state: Option<Cow<'a, str>>,
    #[serde(default)]
    pub(super) task: Option<TaskAsked>,
    #[serde(borrow, default, deserialize_with = "optional_text", rename = "taskId")]
    pub(super) task_id: Option<Cow<'a, str>>,
    #[serde(borrow, default, rename = "_meta")]
    pub(super) meta: Option<Meta<'a>>,
}

/// How 2025-11-25 asks for a task.
#[derive(Debug, Deserialize)]
#[serde(expecting = "an object")]
pub(super) struct TaskAsked {
    /// For how many milliseconds it is to be kept.
    #[serde(default)]
    pub(super) ttl: Option<u64>,
}

/// The members of `_meta` that we act on.
#[derive(Debug, Default, Deserialize)]
#[serde(expecting = "an object")]
pub(super) struct Meta<'a> {
    #[serde(
        borrow,
        default,
        deserialize_with = "optional_text",
        rename = "io.modelcontextprotocol/protocolVersion"
    )]
    pub(super) version: Option<Cow<'a, str>>,
    #[serde(borrow, default, rename = "io.modelcontextprotocol/clientCapabilities")]
    pub(super) capabilities: Option<&'a RawValue>,
    #[serde(
        borrow,
        default,
        deserialize_with = "optional_text",
        rename = "io.modelcontextprotocol/logLevel"
    )]
    pub(super) log_level: Option<Cow<'a, str>>,
    #[serde(borrow, default, rename = "progressToken")]
    pub(super) progress_token: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "optional_text")]
    pub(super) traceparent: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "optional_text")]
    pub(super) tracestate: Option<Cow<'a, str>>,
}

impl<'a> Params<'a> {
    /// Absent parameters are empty ones.
    pub(super) fn read(params: Option<&'a RawValue>) -> Result<Self, Fault> {
        let Some(params) = params else { return Ok(Params::default()) };
        read_object(params.get().as_bytes())
            .map_err(|error| Fault::new(INVALID_PARAMS, format!("The parameters cannot be read: {error}")))
    }
}

/// What a client declares that it can do.
#[derive(Clone, Debug, Default)]
pub(super) struct Capabilities(Option<RawJson>);

impl From<Option<RawJson>> for Capabilities {
    fn from(declared: Option<RawJson>) -> Self {
        Capabilities(declared)
    }
}

impl Capabilities {
    pub(super) fn new(declared: Option<&RawValue>) -> Self {
        Capabilities(declared.map(ToOwned::to_owned))
    }

    pub(super) fn declared(&self) -> Option<&RawValue> {
        self.0.as_deref()
    }

    /// True when the client answers questions of any kind.
    pub(super) fn can_be_asked(&self) -> bool {
        self.kinds().any()
    }

    /// True when the client answers requests of this method.
    pub(super) fn answers(&self, method: &str) -> bool {
        let kinds = self.kinds();
        match method {
            ELICITATION => kinds.elicitation.is_some(),
            SAMPLING => kinds.sampling.is_some(),
            ROOTS => kinds.roots.is_some(),
            _ => false,
        }
    }

    /// True when the client opens addresses for its user.
    pub(super) fn opens_urls(&self) -> bool {
        #[derive(Deserialize)]
        struct Modes<'a> {
            #[serde(borrow, default)]
            url: Option<&'a RawValue>,
        }
        let modes = self.kinds().elicitation.and_then(|modes| serde_json::from_str(modes.get()).ok());
        modes.is_some_and(|modes: Modes<'_>| modes.url.is_some())
    }

    /// True when the client takes a task for an answer, since 2026-07-28.
    pub(super) fn takes_tasks(&self) -> bool {
        self.kinds().extensions.and_then(Members::read).is_some_and(|extensions| extensions.has(TASKS))
    }

    fn kinds(&self) -> Kinds<'_> {
        let declared = self.0.as_deref().filter(|declared| declared.get() != "{}");
        declared.and_then(|declared| serde_json::from_str(declared.get()).ok()).unwrap_or_default()
    }
}

#[derive(Default, Deserialize)]
#[serde(expecting = "an object")]
struct Kinds<'a> {
    #[serde(borrow, default)]
    elicitation: Option<&'a RawValue>,
    #[serde(borrow, default)]
    sampling: Option<&'a RawValue>,
    #[serde(borrow, default)]
    roots: Option<&'a RawValue>,
    #[serde(borrow, default)]
    extensions: Option<&'a RawValue>,
}

impl Kinds<'_> {
    fn any(&self) -> bool {
        self.elicitation.is_some() || self.sampling.is_some() || self.roots.is_some()
    }
}

/// An error answer: its code, and the whole error object.
#[derive(Clone, Debug)]
pub(super) struct Fault {
    pub(super) code: i64,
    pub(super) object: RawJson,
}

impl Fault {
    pub(super) fn new(code: i64, message: impl Into<String>) -> Self {
        Fault::build(code, message.into(), None)
    }

    pub(super) fn with_data(code: i64, message: impl Into<String>, data: &serde_json::Value) -> Self {
        Fault::build(code, message.into(), Some(raw_of(data)))
    }

    /// The error object of an upstream, as it came.
    pub(super) fn relayed(object: RawJson) -> Self {
        let error: Result<jsonrpc::Error<'_>, _> = serde_json::from_str(object.get());
        let code = error.map_or(INTERNAL_ERROR, |error| error.code);
        Fault { code, object }
    }

    pub(super) fn no_method(method: &str) -> Self {
        Fault::new(METHOD_NOT_FOUND, format!("Method `{method}` is not available"))
    }

    /// The client did not declare what answering would take.
    pub(super) fn missing(capabilities: &serde_json::Value) -> Self {
        let data = json!({ "requiredCapabilities": capabilities });
        Fault::with_data(MISSING_CAPABILITY, "The client lacks a capability that this request needs", &data)
    }

    fn build(code: i64, message: String, data: Option<RawJson>) -> Self {
        let error = jsonrpc::Error { code, message: message.into(), data };
        Fault { code, object: to_raw(&error).expect("an error is writable") }
    }

    /// The HTTP status that 2026-07-28 gives it.
    pub(super) fn status(&self) -> StatusCode {
        match self.code {
            METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
            PARSE_ERROR | INVALID_REQUEST | INVALID_PARAMS | HEADER_MISMATCH | MISSING_CAPABILITY
            | UNSUPPORTED_VERSION => StatusCode::BAD_REQUEST,
            _ => StatusCode::OK,
        }
    }
}

/// What a request is answered with: the text of the result, or an error.
pub(super) type Reply = Result<Bytes, Fault>;

/// A result that says nothing but that all went well.
pub(super) fn empty_result() -> Bytes {
    Bytes::from_static(b"{}")
}

/// The text of a result.
pub(super) fn text_of(result: RawJson) -> Bytes {
    Bytes::from(Box::<str>::from(result).into_boxed_bytes())
}

/// The text of an answer.
pub(super) fn reply(id: Option<&RawValue>, reply: &Reply) -> Vec<u8> {
    jsonrpc::reply(id, reply.as_ref().map(|result| &result[..]).map_err(|fault| &*fault.object))
}

/// Who we are.
#[derive(Serialize)]
pub(super) struct Implementation {
    name: &'static str,
    title: &'static str,
    version: &'static str,
}

pub(super) const US: Implementation =
    Implementation { name: "toolmux", title: "toolmux", version: env!("CARGO_PKG_VERSION") };

/// The same as text.
pub(super) static US_WRITTEN: LazyLock<RawJson> =
    LazyLock::new(|| to_raw(&US).expect("who we are is writable"));

/// What results of ours say of us, as text, for results that say nothing else in `_meta`.
pub(super) static OUR_META: LazyLock<RawJson> = LazyLock::new(|| raw_of(&our_meta()));

/// `_meta` of results that are our own.
pub(super) fn our_meta() -> serde_json::Value {
    json!({ SERVER_INFO: US })
}
