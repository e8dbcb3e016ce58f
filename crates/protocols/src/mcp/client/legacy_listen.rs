//! Resources of a server of the handshake era, followed for whoever listens in the way of 2026-07-28.

use std::time::Duration;

use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{Instant, interval_at};
use toolmux_core::message::Message;
use toolmux_core::ports::source::Relayed;

use crate::mcp::client::connect::connecting::Connecting;
use crate::mcp::client::exchange::{UpstreamCall, connected, exchange};
use crate::mcp::client::transport::{Broken, OutgoingParams};
use crate::mcp::notifications::RESOURCE_UPDATED;
use crate::mcp::wire::Params;

/// How often a subscription is renewed: a server that forgot our session forgot it too.
const RENEW: Duration = Duration::from_mins(1);

/// Subscribes and passes on what the server tells, until the connection ends. Others may have subscribed to the
/// same, so nothing is unsubscribed: a subscription lasts as long as the connection.
pub(super) async fn listen(
    connecting: &Connecting,
    params: &RawValue,
    listening: &UpstreamCall<'_>,
) -> Result<Relayed, Broken> {
    let following = listening.following;
    let lost = |text: &str| Broken::Lost(Message::public(text.to_owned()));
    let uris = wanted(params).ok_or_else(|| lost("No resource is named"))?;
    let connection = connected(connecting, &listening.credentials).await?;
    // Subscribed to what comes in before the server is asked: an update that follows its answer at once is not missed.
    let mut updates = connection.channel.resource_updates();
    let mut renewal = interval_at(Instant::now(), RENEW);
    loop {
        tokio::select! {
            update = updates.recv() => match update {
                Ok(params) if concerns(&params, &uris) => {
                    following.heard(RESOURCE_UPDATED, Some(&params)).await;
                }
                Ok(_) | Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return Err(lost("The connection ended")),
            },
            () = connection.channel.closed() => return Err(lost("The connection ended")),
            _ = renewal.tick() => for uri in &uris {
                let name = Some(uri.clone());
                let credentials = listening.credentials.clone();
                let call = UpstreamCall { method: "resources/subscribe", name, schema: None, credentials, following };
                let params = OutgoingParams::default().with("uri", json!(uri).to_string());
                if let Err(error) = exchange(connecting, &call, &params).await? {
                    return Ok(Err(error));
                }
            },
        }
    }
}

fn wanted(params: &RawValue) -> Option<Vec<String>> {
    #[derive(Deserialize)]
    struct Listening {
        notifications: Wanted,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Wanted {
        resource_subscriptions: Vec<String>,
    }
    serde_json::from_str(params.get())
        .ok()
        .map(|params: Listening| params.notifications.resource_subscriptions)
}

/// A server may tell of a part of what was subscribed to.
fn concerns(params: &RawValue, uris: &[String]) -> bool {
    let changed = Params::read(Some(params)).ok().and_then(|params| params.uri);
    changed.is_some_and(|changed| uris.iter().any(|uri| changed.starts_with(uri.as_str())))
}
