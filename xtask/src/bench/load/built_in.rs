//! The built-in generator, which looks at every answer.
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

use super::{Load, Round};
use crate::bench::exchange::Exchange;

/// How long after the end of a round the last answers may come.
const GRACE: Duration = Duration::from_secs(10);

/// What one connection saw.
#[derive(Default)]
struct Seen {
    good: u64,
    bad: u64,
    /// Of the good answers.
    latencies: Vec<Duration>,
}

/// Runs for the whole duration unless a connection breaks.
pub(super) fn generate(load: &Load, address: SocketAddr) -> anyhow::Result<Round> {
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
    let mut total = Seen::default();
    while let Some(ended) = connections.join_next().await {
        let seen = ended.context("a connection panicked")??;
        total.good += seen.good;
        total.bad += seen.bad;
        total.latencies.extend(seen.latencies);
    }
    let elapsed = start.elapsed();
    total.latencies.sort_unstable();
    let [p50, p99] = [0.5, 0.99].map(|share| percentile(&total.latencies, share));
    Ok(Round { good: total.good, bad: total.bad, elapsed, p50, p99 })
}

/// The latency that this share of the answers did not exceed, in microseconds.
pub(crate) fn percentile(ascending: &[Duration], share: f64) -> f64 {
    let last = ascending.len().saturating_sub(1);
    let index = (last as f64 * share).round() as usize;
    ascending.get(index).map_or(0.0, |latency| latency.as_secs_f64() * 1e6)
}

async fn one(exchange: Arc<Exchange>, address: SocketAddr, end: Instant) -> anyhow::Result<Seen> {
    let mut stream = TcpStream::connect(address).await.context("cannot connect")?;
    stream.set_nodelay(true)?;
    let mut received = Vec::with_capacity(16 * 1024);
    let mut seen = Seen::default();
    let mut sent = Instant::now();
    while sent < end {
        stream.write_all(&exchange.request).await.context("cannot send")?;
        let good = answer(&exchange, &mut stream, &mut received).await?;
        let now = Instant::now();
        if good {
            seen.good += 1;
            seen.latencies.push(now - sent);
        } else {
            seen.bad += 1;
        }
        sent = now;
    }
    Ok(seen)
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
    use super::{Load, Round, generate, percentile};
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
        check(&["3"], |round| round.good > 0 && round.bad == 0);
        check(&["3"], |round| round.p50 > 0.0 && round.p50 <= round.p99);
    }

    #[test]
    fn a_percentile_is_an_answer_that_was_seen() {
        let latencies: Vec<Duration> = (1..=101).map(Duration::from_micros).collect();
        let check = |latencies: &[Duration], share, expect: f64| {
            assert!((percentile(latencies, share) - expect).abs() < 1e-6);
        };
        check(&latencies, 0.5, 51.0);
        check(&latencies, 0.99, 100.0);
        check(&[], 0.5, 0.0);
    }

    #[test]
    fn other_answers_are_counted_apart() {
        check(&["3", "4"], |round| round.good.abs_diff(round.bad) <= 1 && round.bad > 0);
    }
}
