//! A connection to a server, whatever carries it, after both sides have found out what they speak.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use http::{HeaderValue, StatusCode};
use toolmux_core::message::Message;
use toolmux_http::client::{HttpClient, HttpLimits};

use super::greet::{Greeting, greet};
use super::reconnect_delay::{ConnectionUse, STEADY};
use crate::mcp::client::auth::remedy;
use crate::mcp::client::settings::{Address, EraSetting, ServerAddress};
use crate::mcp::client::transport::{
    Broken, Channel, ConnectionCredentials, OTHER_CREDENTIALS, StreamableHttp, http_sse, stdio,
};
use crate::mcp::notifications::INITIALIZED;

pub(in crate::mcp) struct Connection {
    pub(in crate::mcp) channel: Channel,
    pub(in crate::mcp) greeting: Greeting,
    started: Instant,
    /// It answered something that a caller asked.
    useful: AtomicBool,
    /// How often the server said that its lists changed.
    list_changes: AtomicU64,
}

impl Connection {
    /// Connects and finds out what the server speaks, with the token of the request that needs the connection. Dropping
    /// the future ends what was begun: a child that was started is killed with it.
    pub(in crate::mcp) async fn open(
        name: &str,
        place: &ServerAddress,
        era: EraSetting,
        token: Option<HeaderValue>,
    ) -> Result<Self, Broken> {
        let started = Instant::now();
        let (channel, greeting) = match &place.address {
            Address::Command { .. } => by_command(name, place, era).await?,
            Address::Url { .. } => by_url(place, era, token).await?,
        };
        // Before the notification, which has to carry the header of the revision that was agreed on.
        if let Channel::Http(http) = &channel {
            http.headers().greeted(greeting.revision);
        }
        // The handshake ends with this notification, which still belongs to whoever the connection was opened for.
        if !greeting.revision.is_modern() {
            channel.notify(INITIALIZED).await;
        }
        // Before anybody else can have the connection, who must not send under the token of the request that opened it.
        if let Channel::Http(http) = &channel {
            http.headers().opened();
        }
        Ok(Connection {
            channel,
            greeting,
            started,
            useful: AtomicBool::new(false),
            list_changes: AtomicU64::new(0),
        })
    }

    /// True when the server wants a token of each user.
    pub(in crate::mcp) fn is_protected(&self) -> bool {
        matches!(&self.channel, Channel::Http(http) if http.headers().is_protected())
    }

    /// How often the server said that its lists changed.
    pub(in crate::mcp) fn list_changes(&self) -> u64 {
        self.list_changes.load(Ordering::Relaxed)
    }

    pub(in crate::mcp) fn note_list_change(&self) {
        self.list_changes.fetch_add(1, Ordering::Relaxed);
    }

    pub(in crate::mcp) fn is_closed(&self) -> bool {
        self.channel.is_closed()
    }

    /// True when we ended it, because nobody used it or for good: that is no failure of the server.
    pub(in crate::mcp) fn is_resting(&self) -> bool {
        matches!(&self.channel, Channel::Duplex(duplex) if duplex.is_stopped())
    }

    /// Notes that it answered something that a caller asked.
    pub(in crate::mcp) fn answered(&self) {
        // Read first: every call comes here, and a write would take the cache line from all other cores each time.
        if !self.useful.load(Ordering::Relaxed) {
            self.useful.store(true, Ordering::Relaxed);
        }
    }

    /// What it was good for.
    pub(in crate::mcp) fn usefulness(&self) -> ConnectionUse {
        let useful = self.useful.load(Ordering::Relaxed) || self.started.elapsed() >= STEADY;
        if useful { ConnectionUse::Useful } else { ConnectionUse::Useless }
    }
}

/// A server that ends at the first word of the new era is started again and greeted in the old way.
async fn by_command(
    name: &str,
    place: &ServerAddress,
    era: EraSetting,
) -> Result<(Channel, Greeting), Broken> {
    let start = || {
        let duplex = stdio::start(name, place).map_err(|error| {
            Broken::NotReached(
                Message::public("The command of the source cannot be started").caused_by(&error),
            )
        });
        duplex.map(Channel::Duplex)
    };
    if let Address::Command { sandbox: Some(sandbox), .. } = &place.address {
        sandbox.check().await.map_err(Broken::NotReached)?;
    }
    let channel = start()?;
    match greet(&channel, era, &place.capabilities).await {
        Ok(greeting) => Ok((channel, greeting)),
        Err(Broken::Lost(_)) if era == EraSetting::Auto => {
            // Its tasks are aborted, which kills the child with its descendants.
            drop(channel);
            let channel = start()?;
            let greeting = greet(&channel, EraSetting::Legacy, &place.capabilities).await?;
            Ok((channel, greeting))
        }
        Err(broken) => Err(broken),
    }
}

/// A server that does not take posts where streamable HTTP has them is tried with HTTP+SSE.
async fn by_url(
    place: &ServerAddress,
    era: EraSetting,
    token: Option<HeaderValue>,
) -> Result<(Channel, Greeting), Broken> {
    let Address::Url { url, headers, authorization, tls } = &place.address else {
        return Err(Broken::NotReached(Message::public("The source has no address")));
    };
    let limits = HttpLimits { body_bytes: place.max_message, ..HttpLimits::default() };
    let client = HttpClient::new(limits).with_tls(tls.clone()).counted_by(&place.connections);
    let (headers, authorization) = (headers.clone(), authorization.clone());
    let is_protected = authorization.is_some();
    let credentials = ConnectionCredentials { headers: headers.clone(), authorization, token };
    let http = StreamableHttp::new(client.clone(), url, place.max_message, credentials)?;
    let channel = Channel::Http(Box::new(http));
    match greet(&channel, era, &place.capabilities).await {
        Ok(greeting) => Ok((channel, greeting)),
        Err(Broken::Status(answer)) if is_older(answer.status) => {
            let channel = Channel::Duplex(http_sse::open(&client, url, &headers, place.max_message).await?);
            let greeting = greet(&channel, EraSetting::Legacy, &place.capabilities).await?;
            Ok((channel, greeting))
        }
        Err(Broken::Unauthorized(wanted)) if !is_protected => {
            let message = Message::public(OTHER_CREDENTIALS);
            let remedy = remedy::remedy(&client, url, &wanted).await;
            Err(Broken::NotReached(message.developer(remedy)))
        }
        Err(broken) => Err(broken),
    }
}

/// Statuses by which servers of 2024-11-05 turn down a post to the address of their stream.
fn is_older(status: StatusCode) -> bool {
    matches!(status, StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED | StatusCode::BAD_REQUEST)
}
