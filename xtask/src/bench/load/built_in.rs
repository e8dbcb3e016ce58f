//! The load generator: a few kept-alive connections, each sending one request after the other.
//!
//! One thread, fixed bytes, no HTTP library: it must cost little beside the server it shares the machine with.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::bench::exchange::Exchange;

/// How long after the end of a round the last answers may come.
const GRACE: Duration = Duration::from_secs(10);

pub(crate) struct Load {
    pub(crate) exchange: Arc<Exchange>,
    pub(crate) connections: usize,
    pub(crate) duration: Duration,
}

/// What one round gave: only good answers are counted as such.
#[derive(Default)]
pub(crate) struct Round {
    pub(crate) good: u64,
    pub(crate) bad: u64,
    pub(crate) elapsed: Duration,
    /// Of the good answers, in ascending order once the round is over.
    latencies: Vec<Duration>,
}

impl Round {
    pub(crate) fn requests_per_second(&self) -> f64 {
        self.good as f64 / self.elapsed.as_secs_f64()
    }

    /// The latency that this share of the answers did not exceed, in microseconds.
    pub(crate) fn percentile(&self, share: f64) -> f64 {
        let last = self.latencies.len().saturating_sub(1);
        let index = (last as f64 * share).round() as usize;
        self.latencies.get(index).map_or(0.0, |latency| latency.as_secs_f64() * 1e6)
    }
}

/// Runs for the whole duration unless a connection breaks.
pub(crate) fn generate(load: &Load, address: SocketAddr) -> anyhow::Result<Round> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let limit = load.duration + GRACE;
    runtime
        .block_on(async { timeout(limit, all(load, address)).await.context("the server stopped answering")? })
}

async fn all(load: &Load, address: SocketAddr) -> anyhow::Result<Round> {
    let start = Instant::now();
    let mut connections = JoinSet::new();
    for _ in 0..load.connections {
        connections.spawn(one(Arc::clone(&load.exchange), address, start + load.duration));
    }
    let mut total = Round::default();
    while let Some(ended) = connections.join_next().await {
        let round = ended.context("a connection panicked")??;
        total.good += round.good;
        total.bad += round.bad;
        total.latencies.extend(round.latencies);
    }
    total.elapsed = start.elapsed();
    total.latencies.sort_unstable();
    if total.good == 0 {
        bail!("no good answer among {}", total.bad);
    }
    Ok(total)
}

async fn one(exchange: Arc<Exchange>, address: SocketAddr, end: Instant) -> anyhow::Result<Round> {
    let mut stream = TcpStream::connect(address).await.context("cannot connect")?;
    stream.set_nodelay(true)?;
    let mut received = Vec::with_capacity(16 * 1024);
    let mut round = Round::default();
    let mut sent = Instant::now();
    while sent < end {
        stream.write_all(&exchange.request).await.context("cannot send")?;
        let good = answer(&exchange, &mut stream, &mut received).await?;
        let now = Instant::now();
        if good {
            round.good += 1;
            round.latencies.push(now - sent);
        } else {
            round.bad += 1;
        }
        sent = now;
    }
    Ok(round)
}

async fn answer(exchange: &Exchange, stream: &mut TcpStream, received: &mut Vec<u8>) -> anyhow::Result<bool> {
    received.clear();
    loop {
        let count = stream.read_buf(received).await.context("cannot receive")?;
        if count == 0 {
            bail!("the server closed a connection that was to be kept");
        }
        if let Some(answer) = exchange.read(received)? {
            return Ok(answer.good);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Load, Round, generate};
    use crate::bench::exchange::Exchange;
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::sync::Arc;
    use std::thread;
    use std::time::Duration;

    /// A server for one connection that gives these bodies in turn; what the generator made of them.
    fn check(bodies: &'static [&'static str], expect: fn(&Round) -> bool) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 4096];
            for body in bodies.iter().cycle() {
                if stream.read(&mut request).unwrap_or(0) == 0 {
                    return;
                }
                write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len()).unwrap();
            }
        });
        let exchange = Arc::new(Exchange::post("/", "{}", "3"));
        let load = Load { exchange, connections: 1, duration: Duration::from_millis(50) };
        assert!(expect(&generate(&load, address).unwrap()));
        server.join().unwrap();
    }

    #[test]
    fn good_answers_are_counted_and_timed() {
        check(&["3"], |round| round.good > 0 && round.bad == 0 && round.latencies.len() as u64 == round.good);
        check(&["3"], |round| round.percentile(0.5) > 0.0 && round.percentile(0.5) <= round.percentile(0.99));
    }

    #[test]
    fn other_answers_are_counted_apart() {
        check(&["3", "4"], |round| round.good.abs_diff(round.bad) <= 1 && round.bad > 0);
    }
}
