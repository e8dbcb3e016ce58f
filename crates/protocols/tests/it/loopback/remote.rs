//! Sources that are servers: each calls our own server of its protocol, through a proxy that counts connections.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::{JoinHandle, JoinSet};
use toolmux_core::BoxFuture;
use toolmux_core::call::Call;
use toolmux_core::gateway::{Gateway, Settings};
use toolmux_core::limits::Limits;
use toolmux_core::outcome::Outcome;
use toolmux_core::ports::source::{Listing, Source, SourceError};
use toolmux_core::progress::Progress;

use super::contract::{OtherSide, Tools, is_listed, until};
use super::open;
use crate::oxp::Server;
use crate::scripted_source::Scripted;

/// What our server calls the tools of the toolkit `Kit`.
const FLAT: Tools = Tools {
    add: "Kit_Add",
    sum: "3.0",
    fail: "Kit_Fail",
    why: "It is not there",
    slow: "Kit_Slow",
    leaves: "Kit_Text",
    left: "unknown_tool",
    late: None,
};

/// The scripted source, which stops to list a tool.
struct Shrinking {
    scripted: Arc<Scripted>,
    shrunk: AtomicBool,
    changed: Notify,
}

impl Source for Shrinking {
    fn tools(&self) -> BoxFuture<'_, Result<Listing, SourceError>> {
        Box::pin(async {
            let mut listing = self.scripted.tools().await?;
            listing.tools.retain(|tool| &*tool.name != "Text" || !self.shrunk.load(Ordering::SeqCst));
            Ok(listing)
        })
    }

    fn call<'a>(&'a self, call: &'a Call, to: &'a Progress) -> BoxFuture<'a, Result<Outcome, SourceError>> {
        self.scripted.call(call, to)
    }

    fn changed(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.changed.notified())
    }
}

/// A server behind a proxy.
struct Remote {
    source: Arc<Shrinking>,
    server: Server,
    connections: Arc<AtomicUsize>,
    proxy: JoinHandle<()>,
    /// The protocol tells clients of changed lists.
    tells_of_changes: bool,
}

impl Drop for Remote {
    fn drop(&mut self) {
        self.proxy.abort();
    }
}

impl OtherSide for Remote {
    fn running(&self) -> usize {
        self.server.gateway.sources().calls_in_flight()
    }

    fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    async fn shrink(&self, gateway: &Arc<Gateway>) {
        self.source.shrunk.store(true, Ordering::SeqCst);
        self.source.changed.notify_one();
        until("it leaves the list there", || !is_listed(&self.server.gateway, FLAT.leaves)).await;
        if self.tells_of_changes {
            until("it leaves the list here", || !is_listed(gateway, FLAT.leaves)).await;
        }
    }
}

/// A proxy to the address, and how many connections are open through it.
pub(super) async fn proxy(to: String) -> (String, Arc<AtomicUsize>, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let base = format!("http://{}", listener.local_addr().expect("bound"));
    let connections = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&connections);
    let serving = tokio::spawn(async move {
        let mut open = JoinSet::new();
        while let Ok((mut near, _)) = listener.accept().await {
            let (to, counted) = (to.clone(), Arc::clone(&counted));
            counted.fetch_add(1, Ordering::SeqCst);
            open.spawn(async move {
                let mut far = TcpStream::connect(to).await.expect("the server listens");
                tokio::io::copy_bidirectional(&mut near, &mut far).await.ok();
                counted.fetch_sub(1, Ordering::SeqCst);
            });
        }
    });
    (base, connections, serving)
}

async fn check(kind: &str, path: &str, tools: Tools) {
    check_within(Limits::default(), kind, path, tools).await;
}

/// The same with a server that has these limits.
async fn check_within(limits: Limits, kind: &str, path: &str, tools: Tools) {
    let scripted = Scripted::new();
    let source = Arc::new(Shrinking { scripted, shrunk: AtomicBool::new(false), changed: Notify::new() });
    let server = Server::start(Settings { limits, ..Settings::default() }, source.clone()).await;
    let (base, connections, proxy) = proxy(server.base.replace("http://", "")).await;
    let remote = Remote { source, server, connections, proxy, tells_of_changes: kind == "mcp" };
    let gateway = super::contract::gateway(open(kind, json!({ "url": format!("{base}{path}") }))).await;
    super::contract::check(gateway, tools, remote).await;
}

#[tokio::test]
async fn an_opentool_server_is_a_source() {
    check("opentool", "", Tools { sum: r#"{"result":3.0}"#, ..FLAT }).await;
}

#[tokio::test]
async fn an_oxp_server_is_a_source() {
    // A refusal of OXP does not say which it is, and a call is not cancelled: it ends with its time over there.
    let own = Tools { add: "Add", fail: "Fail", slow: "Slow", leaves: "Text", left: "unavailable", ..FLAT };
    let limits = Limits { call_timeout: Duration::from_secs(2), ..Limits::default() };
    check_within(limits, "oxp", "", own).await;
}

#[tokio::test]
async fn an_ats_server_is_a_source() {
    check("ats", "", FLAT).await;
}

#[tokio::test]
async fn an_mcp_server_over_http_is_a_source() {
    check("mcp", "/mcp", Tools { late: Some("unavailable"), ..FLAT }).await;
}

#[tokio::test]
async fn an_mcp_server_over_http_and_sse_is_a_source() {
    check("mcp", "/sse", Tools { sum: r#""3.0""#, late: Some("unavailable"), ..FLAT }).await;
}
