//! One request to the server and its answer, over the connection there is or a new one.

use std::sync::Arc;

use http::HeaderMap;
use http::header::AUTHORIZATION;
use serde_json::Value;
use toolmux_core::arguments::Arguments;
use toolmux_core::ports::source::Relayed;

use crate::mcp::client::connect::connecting::Connecting;
use crate::mcp::client::connect::connection::Connection;
use crate::mcp::client::decode;
use crate::mcp::client::transport::{Broken, Channel, Following, OutgoingParams, UpstreamRequest};
use crate::mcp::mirror;

/// A request, whichever connection it will go by.
pub(in crate::mcp) struct UpstreamCall<'a> {
    pub(in crate::mcp) method: &'a str,
    pub(in crate::mcp) name: Option<String>,
    /// Of a tool whose parameters may be mirrored as headers, and its arguments.
    pub(in crate::mcp) schema: Option<(&'a Value, &'a Arguments)>,
    pub(in crate::mcp) credentials: HeaderMap,
    pub(in crate::mcp) following: &'a Following<'a>,
}

/// The connection there is, or a new one; many who ask at once wait for the same.
pub(in crate::mcp) async fn connected(
    connecting: &Connecting,
    credentials: &HeaderMap,
) -> Result<Arc<Connection>, Broken> {
    let token = credentials.get(AUTHORIZATION);
    connecting.connected(token).await.map_err(Broken::before_call)
}

/// One request and its answer. A session that the server forgot is begun again, once: the server said so instead of
/// running anything. Dropping the future cancels the request at the server.
pub(in crate::mcp) async fn exchange(
    connecting: &Connecting,
    call: &UpstreamCall<'_>,
    params: &OutgoingParams<'_>,
) -> Result<Relayed, Broken> {
    let connection = connected(connecting, &call.credentials).await?;
    match once(&connection, call, params).await {
        Err(Broken::SessionGone) => {
            connecting.forget(&connection);
            let anew = async { once(&*connected(connecting, &call.credentials).await?, call, params).await };
            Box::pin(anew).await
        }
        Err(broken) if broken.suggests_new_session() => {
            // 2024-11-05 defines no status for this: the request may have run, and only the next one gets a new stream.
            connecting.forget(&connection);
            Err(broken)
        }
        answer => answer,
    }
}

async fn once(
    connection: &Connection,
    call: &UpstreamCall<'_>,
    params: &OutgoingParams<'_>,
) -> Result<Relayed, Broken> {
    let id = connection.channel.next_id();
    let params = params.text(connection.greeting.revision, id, call.following);
    let headers = match call.schema.filter(|_| matches!(connection.channel, Channel::Http(_))) {
        Some((schema, arguments)) if mirror::mirrors(schema) => mirror::headers(schema, arguments.map()),
        _ => Vec::new(),
    };
    let headers = headers.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
    let request = UpstreamRequest {
        id,
        method: call.method,
        params,
        name: call.name.as_deref(),
        headers,
        credentials: Some(&call.credentials),
    };
    let answer = connection.channel.request(request, call.following).await;
    if answer.is_ok() {
        connection.answered();
    }
    Ok(match answer? {
        Ok(result) if connection.greeting.revision.is_modern() => Ok(decode::unsigned(result)),
        answer => answer,
    })
}
