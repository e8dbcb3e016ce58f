//! `ledger-postgres`: durable calls with fresh ids over one, two and three servers that share one PostgreSQL. With
//! `--binary LABEL=FILE`, given several times, these programs are measured in turn.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use crate::bench::exchange::Exchange;
use crate::bench::median::median;
use crate::bench::report::{Report, Row};
use crate::bench::server::{Program, Server};
use crate::bench::{Bench, Benchmark, percentile, usage};
use crate::chaos::postgres::Postgres;

pub(crate) const BENCHMARK: Benchmark = Benchmark {
    name: "ledger-postgres",
    about: "OXP: durable calls with fresh ids over 1, 2 and 3 servers on one PostgreSQL",
    run,
};

const COLUMNS: &[&str] =
    &["calls/s", "p50 µs", "p99 µs", "commits/call", "WAL bytes/call", "server CPU µs/call"];
const SERVERS: usize = 3;
const WARM_UP: Duration = Duration::from_secs(1);

/// A program with its servers, which share a database of their own.
struct Subject {
    label: String,
    servers: Vec<Server>,
    database: String,
    /// Ids are never used again.
    next: Arc<AtomicU64>,
}

fn run(bench: &Bench<'_>) -> anyhow::Result<Report> {
    let runtime = Runtime::new()?;
    // As in production: a commit is on the disk when it is acknowledged.
    let postgres = runtime.block_on(Postgres::start(&[]))?;
    let programs = programs(bench)?;
    let mut subjects = Vec::new();
    for (number, (label, binary)) in programs.into_iter().enumerate() {
        subjects.push(subject(bench, &postgres, (label, &binary), number)?);
    }
    let mut rounds: Vec<Vec<Vec<f64>>> = vec![Vec::new(); subjects.len() * SERVERS];
    for subject in &subjects {
        runtime.block_on(load(bench, subject, SERVERS, WARM_UP))?;
    }
    let duration = Duration::from_secs(bench.options.seconds.get());
    for round in 0..bench.options.rounds.get() {
        for servers in 1..=SERVERS {
            for turn in 0..subjects.len() {
                // Who goes first changes every round.
                let index = (turn + round) % subjects.len();
                let measured = measure(bench, &runtime, (&postgres, &subjects[index]), (servers, duration))?;
                rounds[index * SERVERS + servers - 1].push(measured);
            }
        }
    }
    Ok(tabulate(&subjects, &rounds))
}

fn tabulate(subjects: &[Subject], rounds: &[Vec<Vec<f64>>]) -> Report {
    let mut report = Report::new(COLUMNS);
    for (index, rounds) in rounds.iter().enumerate() {
        let column = |column: usize| median(rounds.iter().map(|values| values[column]).collect());
        let label = format!("{}, {} servers", subjects[index / SERVERS].label, index % SERVERS + 1);
        report.rows.push(Row { label, values: (0..COLUMNS.len()).map(column).collect() });
    }
    if subjects.len() == 2 {
        for servers in 0..SERVERS {
            let ratios = rounds[servers].iter().zip(&rounds[SERVERS + servers]);
            let ratio = median(ratios.map(|(first, second)| second[0] / first[0]).collect());
            let [first, second] = [&subjects[0].label, &subjects[1].label];
            report
                .notes
                .push(format!("{} servers: {second} does {ratio:.2} × the calls of {first}", servers + 1));
        }
    }
    report
}

/// What is measured: what `--binary` names, else a fresh build.
fn programs(bench: &Bench<'_>) -> anyhow::Result<Vec<(String, PathBuf)>> {
    if bench.options.binary.is_empty() {
        let built = Program::Binary { package: "toolmux", name: "toolmux" }.build(bench.workspace)?;
        return Ok(vec![("toolmux".to_owned(), built)]);
    }
    let named = bench.options.binary.iter().map(|named| {
        let (label, file) = named.split_once('=').context("`--binary` takes LABEL=FILE")?;
        Ok((label.to_owned(), fs::canonicalize(file)?))
    });
    named.collect()
}

fn subject(
    bench: &Bench<'_>,
    postgres: &Postgres,
    (label, binary): (String, &Path),
    number: usize,
) -> anyhow::Result<Subject> {
    let database = format!("bench{number}");
    postgres.sql("postgres", &format!("CREATE DATABASE {database}"))?;
    let store = format!("postgres://toolmux@127.0.0.1:{}/{database}", postgres.port);
    let document = bench.workspace.root.join("examples/opendyn/libm.opendyn.json");
    let document = document.display();
    let config = format!(
        "store = '{store}'\n[sources.Math]\nkind = \"opendyn\"\ndocument = '{document}'\nlibrary = \"libm.so.6\"\n"
    );
    let file = bench.folder().join(format!("{database}.toml"));
    fs::create_dir_all(bench.folder())?;
    fs::write(&file, config)?;
    let next = Arc::new(AtomicU64::new(0));
    let mut servers = Vec::new();
    for server in 0..SERVERS {
        let mut command = Command::new(binary);
        command.arg("serve").arg(&file).env("RUST_LOG", "error");
        let log = bench.folder().join(format!("{database}-{server}.log"));
        servers.push(Server::launch(&mut command, &exchange(&next), &log)?);
    }
    Ok(Subject { label, servers, database, next })
}

/// A call with an id that nobody used before.
fn exchange(next: &AtomicU64) -> Exchange {
    let id = next.fetch_add(1, Ordering::Relaxed);
    let body = format!(r#"{{"tool_id":"Math.sqrt","call_id":"call-{id}","input":{{"x":16}}}}"#);
    Exchange::post("/tools/call", &body, "4.0")
}

/// One round, in the order of `COLUMNS`.
fn measure(
    bench: &Bench<'_>,
    runtime: &Runtime,
    (postgres, subject): (&Postgres, &Subject),
    (servers, duration): (usize, Duration),
) -> anyhow::Result<Vec<f64>> {
    let number =
        |statement: &str| -> anyhow::Result<f64> { Ok(postgres.sql(&subject.database, statement)?.parse()?) };
    let commits = format!("SELECT xact_commit FROM pg_stat_database WHERE datname = '{}'", subject.database);
    let written = "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')";
    let cpu = || -> anyhow::Result<Duration> {
        subject.servers.iter().map(|server| usage::cpu(server.pid())).sum::<Result<Duration, _>>()
    };
    let (commits_before, wal_before, cpu_before) = (number(&commits)?, number(written)?, cpu()?);
    let start = Instant::now();
    let mut latencies = runtime.block_on(load(bench, subject, servers, duration))?;
    let elapsed = start.elapsed().as_secs_f64();
    let used = cpu()?.saturating_sub(cpu_before).as_secs_f64() * 1e6;
    // What a connection did is counted there at most a second later.
    std::thread::sleep(Duration::from_millis(1_100));
    let (commits, wal) = (number(&commits)? - commits_before, number(written)? - wal_before);
    latencies.sort_unstable();
    let calls = latencies.len() as f64;
    let [p50, p99] = [0.5, 0.99].map(|share| percentile(&latencies, share));
    Ok(vec![calls / elapsed, p50, p99, commits / calls, wal / calls, used / calls])
}

/// Connections spread over the first servers, each sending one call after another; how long each call took.
async fn load(
    bench: &Bench<'_>,
    subject: &Subject,
    servers: usize,
    duration: Duration,
) -> anyhow::Result<Vec<Duration>> {
    let (mut connections, end) = (JoinSet::new(), Instant::now() + duration);
    for connection in 0..bench.options.connections.get() {
        let address = subject.servers[connection % servers].address;
        connections.spawn(one(address, Arc::clone(&subject.next), end));
    }
    let mut latencies = Vec::new();
    while let Some(ended) = connections.join_next().await {
        latencies.extend(ended.context("a connection panicked")??);
    }
    Ok(latencies)
}

async fn one(address: SocketAddr, next: Arc<AtomicU64>, end: Instant) -> anyhow::Result<Vec<Duration>> {
    let mut stream = TcpStream::connect(address).await.context("cannot connect")?;
    stream.set_nodelay(true)?;
    let (mut received, mut latencies) = (Vec::with_capacity(16 << 10), Vec::new());
    let mut sent = Instant::now();
    while sent < end {
        let exchange = exchange(&next);
        stream.write_all(&exchange.request).await.context("cannot send")?;
        received.clear();
        let answer = loop {
            if stream.read_buf(&mut received).await.context("cannot receive")? == 0 {
                bail!("the server closed a connection that was to be kept");
            }
            if let Some(answer) = exchange.read(&received)? {
                break answer;
            }
        };
        anyhow::ensure!(answer.good, "not the expected answer: {}", String::from_utf8_lossy(&received));
        let now = Instant::now();
        latencies.push(now - sent);
        sent = now;
    }
    Ok(latencies)
}
