//! Hearing from a server that its lists changed.

use serde_json::json;
use toolmux_core::progress::Progress;

use super::connection::Connection;
use crate::mcp::LISTEN;
use crate::mcp::client::transport::{Channel, Following, OutgoingParams, UpstreamRequest};

/// Ends when the server tells of changed lists or its connection ends; never when nothing more can be told: the gateway
/// asks from time to time anyway.
pub(in crate::mcp) async fn lists_changed(connection: &Connection) {
    let modern = connection.greeting.revision.is_modern();
    match &connection.channel {
        Channel::Duplex(duplex) => {
            tokio::select! {
                () = duplex.messages.lists_changed.notified() => {}
                () = duplex.messages.closed() => {}
                () = listen(connection) => {}
            }
        }
        Channel::Http(http) => {
            // Servers of the handshake era ask, and tell of resources, on that stream too.
            let worthwhile = !modern || tells_changes(connection);
            if !worthwhile || http.changed(modern.then(|| listening(connection))).await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}

fn tells_changes(connection: &Connection) -> bool {
    let tells = |kind: &str| connection.greeting.capabilities[kind]["listChanged"] == json!(true);
    ["tools", "prompts", "resources"].into_iter().any(tells)
}

/// A modern server tells of changes on a shared connection only while somebody listens. Never ends.
async fn listen(connection: &Connection) {
    if connection.greeting.revision.is_modern() && tells_changes(connection) {
        let progress = Progress::unheard();
        let following = Following::ours(&progress);
        connection.channel.request(listening(connection), &following).await.ok();
    }
    std::future::pending::<()>().await;
}

fn listening(connection: &Connection) -> UpstreamRequest<'static> {
    let wanted =
        json!({ "toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true });
    let params = OutgoingParams::default().with("notifications", wanted.to_string());
    let progress = Progress::unheard();
    let following = Following::ours(&progress);
    let id = connection.channel.next_id();
    let params = params.text(connection.greeting.revision, id, &following);
    UpstreamRequest { id, method: LISTEN, params, name: None, headers: Vec::new(), credentials: None }
}
