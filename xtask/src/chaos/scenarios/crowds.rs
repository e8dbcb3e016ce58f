//! `idle-connections`, `slow-bodies`: thousands of connections that do nothing, and bodies that arrive a byte at a time,
//! beside ordinary calls, which must not fail.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::chaos::Scenario;
use crate::chaos::load::latencies;
use crate::chaos::place::Place;
use crate::chaos::report::Report;
use crate::chaos::sample::Held;
use crate::chaos::steady::{Setup, Steady};

pub(crate) const IDLE: Scenario = Scenario {
    name: "idle-connections",
    about: "5,000 idle connections beside ordinary calls",
    seconds: 15,
    short: Some(4),
    run: |place| Box::pin(idle(place)),
};

pub(crate) const SLOW_BODIES: Scenario = Scenario {
    name: "slow-bodies",
    about: "200 requests whose bodies arrive a byte at a time beside ordinary calls: cut off in the end",
    seconds: 15,
    short: Some(5),
    run: |place| Box::pin(slow_bodies(place)),
};

async fn idle(place: &Place) -> anyhow::Result<Report> {
    let count = place.pick(1_000, 5_000);
    let steady = Steady::start(place, Setup::default()).await?;
    sleep(place.share(0.4)).await;
    let [_, p99, _] = latencies(&steady.running.take_samples());
    let before = Held::by(steady.servers[0].pid()?)?;
    let mut connections = Vec::new();
    for _ in 0..count {
        connections.push(TcpStream::connect(steady.servers[0].address).await?);
    }
    sleep(place.share(0.6)).await;
    let [_, during, _] = latencies(&steady.running.take_samples());
    let now = Held::by(steady.servers[0].pid()?)?;
    let mut report = Report::new(format!("16 clients and {count} idle connections"), "none");
    report.note(format!("p99 {p99:.0} → {during:.0} ms, RSS {:.0} → {:.0} MB", before.rss, now.rss));
    drop(connections);
    steady.finish(&mut report).await?;
    report.demand_all_good();
    Ok(report)
}

async fn slow_bodies(place: &Place) -> anyhow::Result<Report> {
    let count = place.pick(50, 200);
    let config = "[limits]\nbody_timeout = \"3s\"\n";
    let steady = Steady::start(place, Setup { config, ..Setup::default() }).await?;
    let mut bodies = JoinSet::new();
    for _ in 0..count {
        bodies.spawn(slow_body(steady.servers[0].address, place.duration + Duration::from_secs(10)));
    }
    sleep(place.duration).await;
    let mut answered = 0;
    while let Some(ended) = bodies.join_next().await {
        answered += u32::from(ended?);
    }
    let mut report = Report::new(format!("16 clients and {count} slow bodies"), "none");
    report.note(format!("{answered} slow bodies were answered or cut off"));
    report.demand(answered == count, format!("{} slow bodies were left open", count - answered));
    steady.finish(&mut report).await?;
    report.demand_all_good();
    Ok(report)
}

/// Whether the server ended it.
async fn slow_body(address: std::net::SocketAddr, limit: Duration) -> bool {
    let Ok(mut stream) = TcpStream::connect(address).await else { return false };
    let head = "POST /tools/call HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 100000\r\n\r\n{";
    if stream.write_all(head.as_bytes()).await.is_err() {
        return false;
    }
    let (mut reader, mut writer) = stream.split();
    let drip = async {
        while writer.write_all(b" ").await.is_ok() {
            sleep(Duration::from_millis(200)).await;
        }
    };
    let mut answer = [0; 1024];
    tokio::select! {
        _ = reader.read(&mut answer) => true,
        () = drip => true,
        () = sleep(limit) => false,
    }
}
