//! Resources that change are told to those who follow them, across eras.

use std::sync::Arc;
use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use tokio::sync::watch;
use toolmux_core::BoxFuture;
use toolmux_core::call::Call;
use toolmux_core::gateway::Settings;
use toolmux_core::json_text::raw_of;
use toolmux_core::outcome::Outcome;
use toolmux_core::ports::source::{Listing, Relay, Relayed, Source, SourceError};
use toolmux_core::progress::{Progress, Update};
use toolmux_core::requirements::Grants;
use toolmux_core::tool::Passthrough;
use toolmux_http::client::Answer;

use crate::mcp_client::{events, modern, rpc, send, session, text};
use crate::mcp_fixture::{Served, open, serve};

const PATIENCE: Duration = Duration::from_secs(30);
const URI: &str = "test://watched";

/// A resource, how often it changed, and how many follow it.
struct Watched {
    changes: watch::Sender<u64>,
    followers: watch::Sender<usize>,
}

struct Follower<'a>(&'a watch::Sender<usize>);

impl Drop for Follower<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|followers| *followers -= 1);
    }
}

impl Source for Watched {
    fn tools(&self) -> BoxFuture<'_, Result<Listing, SourceError>> {
        Box::pin(std::future::ready(Ok(Listing::default())))
    }

    fn call<'a>(&'a self, _: &'a Call, _: &'a Progress) -> BoxFuture<'a, Result<Outcome, SourceError>> {
        Box::pin(std::future::pending())
    }

    fn offered(&self) -> Passthrough {
        let resources = json!([{ "uri": URI, "name": "watched" }]);
        Passthrough::of("mcp", raw_of(&json!({ "resources": resources, "subscriptions": true })))
    }

    fn relay<'a>(
        &'a self,
        relay: &'a Relay,
        _: &'a Grants,
        progress: &'a Progress,
    ) -> BoxFuture<'a, Result<Relayed, SourceError>> {
        assert_eq!(relay.method, "subscriptions/listen");
        Box::pin(async move {
            let mut changes = self.changes.subscribe();
            self.followers.send_modify(|followers| *followers += 1);
            let _follower = Follower(&self.followers);
            while changes.changed().await.is_ok() {
                progress.send(Update::Data(raw_of(&json!({ "uri": URI })))).await;
            }
            Ok(Ok(raw_of(&json!({}))))
        })
    }
}

impl Watched {
    async fn followed_by(&self, count: usize) {
        let mut followers = self.followers.subscribe();
        let waiting = followers.wait_for(|followers| *followers == count);
        tokio::time::timeout(PATIENCE, waiting).await.expect("the followers come and go").expect("it lives");
    }

    fn change(&self) {
        self.changes.send_modify(|changes| *changes += 1);
    }
}

async fn watched() -> (Arc<Watched>, Served) {
    let source = Arc::new(Watched { changes: watch::Sender::new(0), followers: watch::Sender::new(0) });
    let served = serve(Settings::default(), vec![("Up", Arc::clone(&source) as _)]).await;
    (source, served)
}

async fn next(stream: &mut Answer) -> Value {
    tokio::time::timeout(PATIENCE, events(stream, 1)).await.expect("something is told").remove(0)
}

/// Clients of either era follow the resource at one server, and hear of it.
async fn check(source: &Watched, served: &Served) {
    let wanted = json!({ "notifications": { "resourceSubscriptions": [URI] } });
    let (headers, body) = modern("subscriptions/listen", wanted);
    let headers: Vec<(&str, &str)> = headers.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    let mut listening = send(&served.url, Method::POST, &headers, body).await;
    let acknowledged = next(&mut listening).await;
    assert_eq!(acknowledged["params"]["notifications"]["resourceSubscriptions"][0], URI);
    source.followed_by(1).await;
    source.change();
    let told = next(&mut listening).await;
    assert_eq!(
        (&told["method"], &told["params"]["uri"]),
        (&json!("notifications/resources/updated"), &json!(URI))
    );
    assert_eq!(told["params"]["_meta"], json!({ "io.modelcontextprotocol/subscriptionId": 7 }));
    drop(listening);
}

/// The same for the handshake era.
async fn check_legacy(source: &Watched, served: &Served, followers: usize) {
    let (session, greeting) = session(&served.url, "2025-06-18", json!({})).await;
    assert_eq!(greeting["capabilities"]["resources"]["subscribe"], true);
    let headers = [("mcp-session-id", session.as_str())];
    let mut stream = send(&served.url, Method::GET, &headers, String::new()).await;
    stream.piece().await.expect("a stream");
    let ask = async |method: &str, uri: &str| {
        text(send(&served.url, Method::POST, &headers, rpc(2, method, json!({ "uri": uri }))).await).await.1
    };
    assert!(ask("resources/subscribe", URI).await.contains(r#""result":{}"#));
    source.followed_by(followers).await;
    source.change();
    let told = next(&mut stream).await;
    assert_eq!(told["params"], json!({ "uri": URI }));
    assert!(ask("resources/unsubscribe", URI).await.contains(r#""result":{}"#));
}

#[tokio::test]
async fn clients_of_either_era_hear_of_a_resource_that_changed() {
    let (source, served) = watched().await;
    check(&source, &served).await;
    source.followed_by(0).await;
    check_legacy(&source, &served, 1).await;
    source.followed_by(0).await;
    let anonymous = rpc(2, "resources/subscribe", json!({ "uri": URI }));
    let (_, body) = text(send(&served.url, Method::POST, &[], anonymous).await).await;
    assert!(body.contains("need a session"), "{body}");
}

#[tokio::test]
async fn updates_cross_eras() {
    for between in ["modern", "legacy"] {
        let (source, inner) = watched().await;
        let outer = open(json!({ "url": inner.url, "era": between }));
        let outer = serve(Settings::default(), vec![("Far", outer)]).await;
        check(&source, &outer).await;
        // At a server of the handshake era a subscription lasts as long as the connection.
        source.followed_by(usize::from(between == "legacy")).await;
        check_legacy(&source, &outer, 1).await;
    }
}
