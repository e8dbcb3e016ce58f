//! An OXP server as a source: all versions of its tools, with its failures, retry hints and challenges.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use http::HeaderValue;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};
use toolmux_core::BoxFuture;
use toolmux_core::call::Call;
use toolmux_core::hex::to_hex;
use toolmux_core::json_text::raw_of;
use toolmux_core::message::Message;
use toolmux_core::outcome::Outcome;
use toolmux_core::ports::figures::SourceFigures;
use toolmux_core::ports::source::{Listing, Source, SourceError};
use toolmux_core::progress::Progress;
use toolmux_core::refusal::Refusal;
use toolmux_core::requirements::{Grants, Requirements};
use toolmux_core::tool::{Passthrough, Tool};
use toolmux_http::client::{StatusAnswer, credential_headers};
use uuid::Uuid;

use super::client::{OxpClient, OxpError};
use super::upstream::{NOT_EXECUTED, OxpTool, ToolCall, ToolList};
use crate::registry::{AddressHook, AddressTables, Detection, OpenError, Opening, SecretSetting, SourceKind};
use crate::tls::TlsSetting;

pub(crate) const SOURCE: SourceKind = SourceKind {
    kind: "oxp",
    settings: || schemars::schema_for!(OxpSettings),
    open,
    asks_for_tokens: |_| false,
    detection: Detection {
        address: Some(AddressHook {
            what: "an OXP server",
            tables: |url| AddressTables::of_base(url, "/tools"),
        }),
        ..Detection::NONE
    },
};

/// Under which the id of a tool over there is kept.
const PROTOCOL: &str = "oxp";

/// An OXP server.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OxpSettings {
    /// The base URL; `/tools` and `/tools/call` are appended.
    url: String,
    /// The key or token for the server.
    key: Option<SecretSetting>,
    /// Headers for every request.
    #[serde(default)]
    headers: BTreeMap<String, SecretSetting>,
    /// TLS for an https `url`: `{ ca = "ca.pem" }` for a private authority, `{ cert = "client.pem", key = {
    /// file = "client.key" } }` for a client certificate. Read again when a file changes.
    tls: Option<TlsSetting>,
}

struct OxpSource {
    name: String,
    client: OxpClient,
}

fn open(opening: &Opening<'_>) -> Result<Arc<dyn Source>, OpenError> {
    let settings: OxpSettings = opening.settings()?;
    // What the client says of an address quotes it, and an address may hold a password.
    let mut client = OxpClient::new(&settings.url).map_err(|_| {
        OpenError::new("its `url` cannot be used").hint("write url = \"http://127.0.0.1:9800\" or the like")
    })?;
    client = client.tls(opening.tls(settings.tls.as_ref())?);
    if let Some(key) = opening.secret(settings.key.as_ref())? {
        client =
            client.key(&key).map_err(|error| OpenError::new(format!("its `key` cannot be used: {error}")))?;
    }
    for (name, setting) in &settings.headers {
        let wrong = || OpenError::new(format!("header `{name}` cannot be sent"));
        let secret = opening.secret(Some(setting))?.ok_or_else(wrong)?;
        let value = HeaderValue::from_str(secret.expose()).map_err(|_| wrong())?;
        client = client.header(name.parse().map_err(|_| wrong())?, value);
    }
    Ok(Arc::new(OxpSource { name: opening.name.to_owned(), client }))
}

impl Source for OxpSource {
    fn figures(&self) -> SourceFigures {
        SourceFigures::of_connections(self.client.connections())
    }

    fn tools(&self) -> BoxFuture<'_, Result<Listing, SourceError>> {
        Box::pin(async {
            let list = self.client.tools().await.map_err(|error| self.source_error(error))?;
            Ok(listing(list))
        })
    }

    fn call<'a>(&'a self, call: &'a Call, _: &'a Progress) -> BoxFuture<'a, Result<Outcome, SourceError>> {
        Box::pin(async move {
            let answered = self.client.call_once(&tool_call(call)?, credential_headers(call)?).await;
            answered.map(|answered| answered.outcome).map_err(|error| self.source_error(error))
        })
    }
}

impl OxpSource {
    fn source_error(&self, error: OxpError) -> SourceError {
        let told = |public: String| Message::public(public).caused_by(&error);
        let unavailable =
            |message: Message| SourceError::Refused(Refusal::Unavailable { message, retry_after: None });
        match error {
            OxpError::Http(error) => error.into(),
            // It is our key that is not known there; our caller can do nothing about it.
            OxpError::Refused(Refusal::Unauthenticated(message)) => unavailable(
                Message::public(format!("Source `{}` does not accept our key", self.name))
                    .developer(message.public),
            ),
            OxpError::Refused(refusal) => SourceError::Refused(refusal),
            OxpError::Address(_) | OxpError::Key => {
                unavailable(told(format!("Source `{}` has no address", self.name)))
            }
            OxpError::NotOxp { status, retry_after, .. } => {
                let what =
                    if status.is_success() { "gave an answer that cannot be read" } else { "answered" };
                let public = format!("Source `{}` {what} ({status})", self.name);
                StatusAnswer { status, retry_after }.error(&NOT_EXECUTED, told(public))
            }
        }
    }
}

/// Tools go by their own names; where two toolkits over there have one of the same name, with their toolkit.
fn listing(list: ToolList) -> Listing {
    let mut toolkits: HashMap<String, Vec<String>> = HashMap::new();
    for tool in &list.tools {
        let seen = toolkits.entry(tool.tool.clone()).or_default();
        if !seen.contains(&tool.toolkit) {
            seen.push(tool.toolkit.clone());
        }
    }
    let name = |tool: &OxpTool| match toolkits.get(&tool.tool) {
        Some(toolkits) if toolkits.len() > 1 => format!("{}_{}", tool.toolkit, tool.tool),
        _ => tool.tool.clone(),
    };
    let tools = list.tools.iter().map(|tool| described(name(tool), tool)).collect();
    Listing { tools, unusable: list.unusable }
}

fn described(name: String, listed: &OxpTool) -> Tool {
    let mut tool = Tool::new(name, listed.description.as_str(), listed.input.clone());
    tool.version = listed.version;
    tool.returns = listed.returns.clone();
    tool.requires = listed.requires.clone();
    tool.extra = Passthrough::of(PROTOCOL, raw_of(&Value::String(listed.id())));
    tool
}

fn tool_call(call: &Call) -> Result<ToolCall, SourceError> {
    let known = call.entry().tool.extra.of_protocol(PROTOCOL);
    let tool_id: String = known.and_then(|id| serde_json::from_str(id.get()).ok()).ok_or_else(|| {
        SourceError::NotReached(Message::public(format!("There is no tool `{}`", call.tool_name())))
    })?;
    Ok(ToolCall {
        tool_id,
        call_id: Some(call_id(call)),
        trace_id: trace_id(call),
        input: call.arguments().text().to_owned(),
        grants: required(&call.entry().requires, call.grants()),
    })
}

/// The trace that the call belongs to, or what its caller named when calls are not traced.
fn trace_id(call: &Call) -> Option<String> {
    let traced = call.outgoing_trace().map(|trace| to_hex(&trace.context.trace));
    traced.or_else(|| call.trace().map(str::to_owned))
}

/// Over there all our callers are one, so that an id must tell them apart.
fn call_id(call: &Call) -> String {
    let Some(id) = call.id() else { return Uuid::now_v7().to_string() };
    let digest =
        Sha256::new().chain_update(call.caller().name()).chain_update([0]).chain_update(id).finalize();
    let mut half = [0; 16];
    half.copy_from_slice(&digest[..16]);
    Uuid::from_bytes(half).to_string()
}

/// Only what the tool requires is sent: what the caller brought for it, and what the gateway added because
/// configuration names it for this source.
fn required(requires: &Requirements, grants: &Grants) -> Grants {
    let tokens = requires
        .authorization
        .iter()
        .filter_map(|needed| grants.token(&needed.id).map(|token| (needed.id.clone(), token.clone())));
    let secrets =
        requires.secrets.iter().filter_map(|id| grants.secret(id).map(|secret| (id.clone(), secret.clone())));
    Grants {
        authorization: tokens.collect(),
        secrets: secrets.collect(),
        user_id: grants.user_id.clone().filter(|_| requires.user_id || !requires.authorization.is_empty()),
        supplied: Vec::new(),
    }
}
