//! How soon a task is known to be done (`submit`), how many durable calls with fresh ids a server takes
//! (`ledger`), and how many followers it carries (`followers`): `cargo bench -p toolmux --bench ats [-- PART]`. The
//! server is a process of its own, on SQLite. `cargo xtask bench` reads what this prints.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use http::{HeaderMap, HeaderValue, Method, header};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;
use toolmux::ats::Client;
use toolmux::{Server, Toolkit, tool};
use toolmux_http::client::{HttpClient, HttpLimits};

const STORE: &str = "TOOLMUX_BENCH_STORE";
const FOLLOWERS: usize = 5_000;
const TASKS: usize = 500;
const CALLERS: usize = 64;
const CALLS: usize = 500;

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

#[tokio::main(worker_threads = 2)]
async fn main() -> anyhow::Result<()> {
    if let Ok(store) = std::env::var(STORE) {
        return serve(store).await;
    }
    let folder = tempfile::tempdir()?;
    let mut child = Command::new(std::env::current_exe()?)
        .env(STORE, format!("sqlite:{}", folder.path().join("bench.db").display()))
        .stdout(Stdio::piped())
        .spawn()?;
    let mut lines = BufReader::new(child.stdout.take().context("piped")?).lines();
    let base = lines.next().context("the server says where it listens")??;
    let measured = measure(&base, &child).await;
    child.kill()?;
    child.wait()?;
    measured
}

async fn serve(store: String) -> anyhow::Result<()> {
    let go = Arc::new(Notify::new());
    let waits = Arc::clone(&go);
    let toolkit = Toolkit::new("Kit")
        .tool(tool("quick", "Does nothing", |_: Nothing| std::future::ready(Ok(3))))
        .tool(tool("wait", "Waits for go", move |_: Nothing| {
            let waits = Arc::clone(&waits);
            async move {
                waits.notified().await;
                Ok(3)
            }
        }))
        .tool(tool("go", "Lets wait go on", move |_: Nothing| {
            go.notify_waiters();
            std::future::ready(Ok(3))
        }));
    let running = Server::new().listen("127.0.0.1:0").store(store).toolkit(toolkit).start().await?;
    println!("{}", running.url());
    std::future::pending::<()>().await;
    Ok(())
}

async fn measure(base: &str, child: &Child) -> anyhow::Result<()> {
    let client = Client::new(base)?;
    let part = std::env::args().nth(1).filter(|part| !part.starts_with("--"));
    let wanted = |name: &str| part.as_deref().is_none_or(|part| part == name);
    if wanted("submit") {
        latency(&client).await?;
    }
    if wanted("ledger") {
        throughput(base).await?;
    }
    if wanted("followers") {
        followers(base, &client).await?;
        println!("memory of the server at most: {} kB", most_memory(child)?);
    }
    Ok(())
}

/// The most memory a process ever had, in kB.
fn most_memory(child: &Child) -> anyhow::Result<u64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id()))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("Linux says so")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}

fn empty() -> &'static RawValue {
    serde_json::from_str("{}").expect("an empty object is JSON")
}

/// From submitting a task to its last event, one at a time.
async fn latency(client: &Client) -> anyhow::Result<()> {
    let mut took = Vec::with_capacity(TASKS);
    for _ in 0..TASKS {
        let started = Instant::now();
        let task = client.call("Kit_quick", empty(), None).await?;
        let mut followed = client.follow(&task);
        while followed.next().await?.status != "completed" {}
        took.push(started.elapsed());
    }
    took.sort();
    println!("submit to completed event, p50: {} us", took[TASKS / 2].as_micros());
    println!("submit to completed event, p99: {} us", took[TASKS * 99 / 100].as_micros());
    Ok(())
}

/// OXP calls with ids that nobody used before.
async fn throughput(base: &str) -> anyhow::Result<()> {
    let base = format!("{base}/tools/call");
    let http = HttpClient::new(HttpLimits::default());
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let (started, mut callers) = (Instant::now(), JoinSet::new());
    for caller in 0..CALLERS {
        let (base, http, headers) = (base.clone(), http.clone(), headers.clone());
        callers.spawn(async move {
            let url = base.parse()?;
            for call in 0..CALLS {
                let body = format!(r#"{{"tool_id":"Kit.quick","call_id":"{caller}-{call}","input":{{}}}}"#);
                let answer = http.send(Method::POST, &url, headers.clone(), body).await?;
                anyhow::ensure!(answer.status().is_success(), "the answer is {}", answer.status());
                answer.body().await?;
            }
            Ok(())
        });
    }
    while let Some(done) = callers.join_next().await {
        done??;
    }
    let took = started.elapsed();
    let calls = CALLERS * CALLS;
    println!("durable OXP call with a fresh id: {:.1} us", took.as_secs_f64() * 1e6 / calls as f64);
    println!("that is {:.0} calls per second over {CALLERS} connections", calls as f64 / took.as_secs_f64());
    Ok(())
}

/// From letting a task go on until the last of its followers has its end.
async fn followers(base: &str, client: &Client) -> anyhow::Result<()> {
    let task = client.call("Kit_wait", empty(), None).await?;
    let address = base.trim_start_matches("http://").to_owned();
    let (ready, mut readies) = mpsc::channel(FOLLOWERS);
    let mut all = JoinSet::new();
    for _ in 0..FOLLOWERS {
        let (address, task, ready) = (address.clone(), task.clone(), ready.clone());
        all.spawn(async move { follow(&address, &task, ready).await });
    }
    for _ in 0..FOLLOWERS {
        readies.recv().await.context("every follower gets in")?;
    }
    let started = Instant::now();
    client.call("Kit_go", empty(), None).await?;
    while let Some(done) = all.join_next().await {
        done??;
    }
    println!("{FOLLOWERS} followers have the end after: {} us", started.elapsed().as_micros());
    Ok(())
}

async fn follow(address: &str, task: &str, ready: mpsc::Sender<()>) -> anyhow::Result<()> {
    let mut stream = TcpStream::connect(address).await?;
    stream
        .write_all(
            format!("GET /callback/{task} HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n\r\n")
                .as_bytes(),
        )
        .await?;
    let (mut text, mut piece) = (Vec::new(), [0; 1024]);
    let mut told = false;
    loop {
        let read = tokio::time::timeout(Duration::from_mins(1), stream.read(&mut piece)).await??;
        anyhow::ensure!(read > 0, "the stream ended too soon");
        text.extend_from_slice(&piece[..read]);
        let so_far = String::from_utf8_lossy(&text);
        if so_far.contains("\"completed\"") {
            return Ok(());
        }
        if !told && so_far.contains("\"running\"") {
            told = true;
            ready.send(()).await?;
        }
    }
}
