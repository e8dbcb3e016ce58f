//! Finding out which era a server speaks: `server/discover` first, `initialize` on anything but a modern
//! answer, silence included.

use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::time::timeout;
use toolmux_core::message::Message;
use toolmux_core::ports::source::Relayed;
use toolmux_core::progress::Progress;

use crate::mcp::client::settings::EraSetting;
use crate::mcp::client::transport::{
    Broken, Channel, DISCOVER, Following, INITIALIZE, OutgoingParams, UpstreamRequest,
};
use crate::mcp::revision::Revision;
use crate::mcp::wire::{HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION, US};

/// How long a server may be silent on the first question before it is asked the old way too. Slow starters
/// of the new era may still answer the first question later.
const SILENCE: Duration = Duration::from_secs(5);

/// What a server says about itself.
#[derive(Clone, Debug)]
pub(in crate::mcp) struct Greeting {
    pub(in crate::mcp) revision: Revision,
    pub(in crate::mcp) capabilities: Value,
    /// How its tools are meant to be used, for models.
    pub(in crate::mcp) instructions: Option<String>,
}

/// There is no time limit here: whoever waits has one, and a server that starts slowly is not slow for ever.
pub(in crate::mcp) async fn greet(
    channel: &Channel,
    era: EraSetting,
    declared: &Value,
) -> Result<Greeting, Broken> {
    match era {
        EraSetting::Legacy => initialize(channel, declared).await,
        EraSetting::Modern => match discover(channel).await? {
            Some(greeting) => Ok(greeting),
            None => Err(Broken::NotReached(Message::public("The server does not speak 2026-07-28"))),
        },
        EraSetting::Auto => probe(channel, declared).await,
    }
}

async fn probe(channel: &Channel, declared: &Value) -> Result<Greeting, Broken> {
    let mut discovering = std::pin::pin!(discover(channel));
    match timeout(SILENCE, &mut discovering).await {
        Ok(Ok(Some(greeting))) => return Ok(greeting),
        Ok(Ok(None)) => return initialize(channel, declared).await,
        Ok(Err(Broken::Status(answer))) if answer.status.is_client_error() => {
            return initialize(channel, declared).await;
        }
        Ok(Err(broken)) => return Err(broken),
        Err(_silent) => {}
    }
    // Both are asked from here on. The first question is polled further, not dropped: that would tell the server that
    // nobody waits for its answer, which may be on its way. If it fails now, only the other answer counts.
    let initializing = initialize(channel, declared);
    tokio::select! {
        biased;
        Ok(Some(greeting)) = &mut discovering => Ok(greeting),
        greeting = initializing => greeting,
    }
}

/// What a modern server says; none when it is not one.
async fn discover(channel: &Channel) -> Result<Option<Greeting>, Broken> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Discovered {
        supported_versions: Vec<String>,
        #[serde(default)]
        capabilities: Value,
        #[serde(default)]
        instructions: Option<String>,
    }
    let answer = ask(channel, DISCOVER, |id, following| {
        OutgoingParams::default().text(Revision::MODERN, id, following)
    });
    Ok(match answer.await? {
        Ok(result) => serde_json::from_str(result.get())
            .ok()
            .filter(|found: &Discovered| {
                found.supported_versions.iter().any(|v| v == Revision::MODERN.text())
            })
            .map(|found| Greeting {
                revision: Revision::MODERN,
                capabilities: found.capabilities,
                instructions: found.instructions,
            }),
        Err(error) if is_modern(&error) => {
            let capabilities = json!({ "tools": {} });
            Some(Greeting { revision: Revision::MODERN, capabilities, instructions: None })
        }
        Err(_) => None,
    })
}

/// Only servers of the new era have these codes; one that lacks our version is none for us.
fn is_modern(error: &RawValue) -> bool {
    let error: Value = serde_json::from_str(error.get()).unwrap_or_default();
    match error["code"].as_i64() {
        Some(HEADER_MISMATCH | MISSING_CAPABILITY) => true,
        Some(UNSUPPORTED_VERSION) => {
            let supported = error["data"]["supported"].as_array();
            supported.is_some_and(|all| all.iter().any(|version| version == Revision::MODERN.text()))
        }
        _ => false,
    }
}

async fn initialize(channel: &Channel, declared: &Value) -> Result<Greeting, Broken> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Initialized {
        protocol_version: String,
        #[serde(default)]
        capabilities: Value,
        #[serde(default)]
        instructions: Option<String>,
    }
    let params = json!({
        "protocolVersion": Revision::LEGACY.text(),
        "capabilities": declared,
        "clientInfo": US,
    });
    let answer = ask(channel, INITIALIZE, |_, _| params.to_string()).await?;
    let refused = |text: String| Broken::NotReached(Message::public(text));
    let result = answer.map_err(|error| {
        Broken::NotReached(Message::public("The server refused the handshake").developer(error.get()))
    })?;
    let agreed: Initialized = serde_json::from_str(result.get())
        .map_err(|error| refused(format!("The server's handshake cannot be read: {error}")))?;
    let revision = Revision::read(&agreed.protocol_version).filter(|revision| !revision.is_modern());
    let unknown =
        || refused(format!("The server speaks `{}`, which is not supported", agreed.protocol_version));
    let revision = revision.ok_or_else(unknown)?;
    Ok(Greeting { revision, capabilities: agreed.capabilities, instructions: agreed.instructions })
}

async fn ask(
    channel: &Channel,
    method: &str,
    params: impl FnOnce(u64, &Following<'_>) -> String,
) -> Result<Relayed, Broken> {
    let progress = Progress::unheard();
    let following = Following::ours(&progress);
    let id = channel.next_id();
    let request = UpstreamRequest {
        id,
        method,
        params: params(id, &following),
        name: None,
        headers: Vec::new(),
        credentials: None,
    };
    channel.request(request, &following).await
}
