//! How a server in this process ends: by `stop`, by being dropped, and when it cannot start.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::timeout;
use toolmux::source::{BoxFuture, Call, Listing, Outcome, Progress, Schema, Source, SourceError, Tool};
use toolmux::{Limits, Running, Server};

use crate::process::request;

/// Long enough for a busy machine; nothing is measured.
const TEST_TIMEOUT: Duration = Duration::from_secs(30);

/// How far a source has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Open,
    Called,
    Closed,
}

/// Its one tool never ends, and it tells when it is closed.
struct Endless(watch::Sender<Stage>);

impl Source for Endless {
    fn tools(&self) -> BoxFuture<'_, Result<Listing, SourceError>> {
        let tool = Tool::new("hang", "Never ends", Schema::no_parameters());
        Box::pin(std::future::ready(Ok(vec![tool].into())))
    }

    fn call<'a>(&'a self, _: &'a Call, _: &'a Progress) -> BoxFuture<'a, Result<Outcome, SourceError>> {
        self.0.send_replace(Stage::Called);
        Box::pin(std::future::pending())
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.0.send_replace(Stage::Closed);
        Box::pin(std::future::ready(()))
    }
}

fn server(address: &str) -> (Server, watch::Receiver<Stage>) {
    let (sender, stage) = watch::channel(Stage::Open);
    // Longer than any test waits, so that what ends did not end because its time was over.
    let limits = Limits { drain: Duration::from_mins(10), ..Limits::default() };
    (Server::new().listen(address).limits(limits).source("Kit", Arc::new(Endless(sender))), stage)
}

async fn until_stage(stage: &mut watch::Receiver<Stage>, wanted: Stage) {
    let reached = stage.wait_for(|stage| *stage == wanted);
    timeout(TEST_TIMEOUT, reached)
        .await
        .unwrap_or_else(|_| panic!("{wanted:?} comes in time"))
        .expect("told");
}

async fn started() -> (Running, watch::Receiver<Stage>) {
    let (server, stage) = server("127.0.0.1:0");
    (server.start().await.expect("started"), stage)
}

/// The listener gives its address up before the sources are ended.
async fn is_free(address: std::net::SocketAddr) -> bool {
    TcpListener::bind(address).await.is_ok()
}

#[tokio::test]
async fn a_dropped_server_frees_its_address_and_ends_its_sources() {
    let (running, mut stage) = started().await;
    let address = running.address();
    assert!(!is_free(address).await);
    drop(running);
    until_stage(&mut stage, Stage::Closed).await;
    assert!(is_free(address).await);
}

#[tokio::test]
async fn a_dropped_server_cuts_calls_in_flight() {
    let (running, mut stage) = started().await;
    let mut called = TcpStream::connect(running.address()).await.expect("it listens");
    let body = br#"{"jsonrpc":"2.0","method":"Kit_hang","id":"1"}"#;
    called.write_all(&request("POST /opentool/call", "", body)).await.expect("sent");
    until_stage(&mut stage, Stage::Called).await;
    drop(running);
    let mut answer = Vec::new();
    let ended = timeout(TEST_TIMEOUT, called.read_to_end(&mut answer)).await.expect("the connection ends");
    assert!(ended.is_err() || answer.is_empty(), "{}", String::from_utf8_lossy(&answer));
    until_stage(&mut stage, Stage::Closed).await;
}

#[tokio::test]
async fn a_stop_that_nobody_waits_for_any_longer_cuts_calls_in_flight() {
    let (running, mut stage) = started().await;
    let mut called = TcpStream::connect(running.address()).await.expect("it listens");
    let body = br#"{"jsonrpc":"2.0","method":"Kit_hang","id":"1"}"#;
    called.write_all(&request("POST /opentool/call", "", body)).await.expect("sent");
    until_stage(&mut stage, Stage::Called).await;
    timeout(Duration::ZERO, running.stop()).await.expect_err("the call is in flight");
    until_stage(&mut stage, Stage::Closed).await;
}

#[tokio::test]
async fn a_stopped_server_has_ended_its_sources() {
    let (running, stage) = started().await;
    running.stop().await;
    assert_eq!(*stage.borrow(), Stage::Closed);
}

#[tokio::test]
async fn a_server_that_cannot_listen_ends_its_sources() {
    let taken = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let (server, stage) = server(&taken.local_addr().expect("an address").to_string());
    let error = server.start().await.err().expect("refused");
    assert!(error.to_string().contains("cannot listen on"), "{error}");
    assert_eq!(*stage.borrow(), Stage::Closed);
}
