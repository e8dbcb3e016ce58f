//! `pg-kill`, `pg-terminate`, `pg-stop`, `pg-silent`: PostgreSQL dies, drops its connections, stands still, or cannot be
//! heard; calls are refused truly or wait, and are good again as soon as it is back.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tokio::time::sleep;

use crate::chaos::Scenario;
use crate::chaos::load::Load;
use crate::chaos::place::Place;
use crate::chaos::postgres::Postgres;
use crate::chaos::protocol::Protocol;
use crate::chaos::proxy::Proxy;
use crate::chaos::report::Report;
use crate::chaos::steady::{Setup, Steady};

pub(crate) const KILL: Scenario = Scenario {
    name: "pg-kill",
    about: "the postmaster is killed with -9 and comes back after 5 s, twice",
    seconds: 20,
    short: Some(4),
    run: |place| Box::pin(kill(place)),
};

pub(crate) const TERMINATE: Scenario = Scenario {
    name: "pg-terminate",
    about: "every backend of PostgreSQL is terminated, again and again",
    seconds: 20,
    short: Some(3),
    run: |place| Box::pin(terminate(place)),
};

pub(crate) const STOP: Scenario = Scenario {
    name: "pg-stop",
    about: "PostgreSQL stands still (SIGSTOP), then goes on",
    seconds: 30,
    short: Some(4),
    run: |place| Box::pin(stop(place)),
};

pub(crate) const SILENT: Scenario = Scenario {
    name: "pg-silent",
    about: "the connections to PostgreSQL go silent without being closed; new ones work",
    seconds: 20,
    short: Some(6),
    run: |place| Box::pin(silent(place)),
};

const LOAD: &str = "16 clients, OXP and ATS, 2 replicas";

async fn start(place: &Place, store: &str) -> anyhow::Result<Steady> {
    let load = Load { protocols: &[Protocol::Oxp, Protocol::Ats], ..Load::default() };
    Steady::start(place, Setup { store, replicas: 2, load, ..Setup::default() }).await
}

async fn kill(place: &Place) -> anyhow::Result<Report> {
    let mut postgres = Postgres::start(&[]).await?;
    let steady = start(place, &postgres.url()).await?;
    let (kills, away) = (place.pick(1, 2), place.pick(1, 5));
    let mut report = Report::new(LOAD, format!("{kills} x kill -9, back after {away} s"));
    for _ in 0..kills {
        sleep(place.duration / (kills + 1)).await;
        postgres.kill()?;
        sleep(Duration::from_secs(away)).await;
        postgres.resume().await?;
        steady.until_good(&mut report, Instant::now()).await;
    }
    sleep(place.duration / (kills + 1)).await;
    steady.finish(&mut report).await?;
    Ok(report)
}

async fn terminate(place: &Place) -> anyhow::Result<Report> {
    let postgres = Postgres::start(&[]).await?;
    let steady = start(place, &postgres.url()).await?;
    let (begin, mut terminated) = (Instant::now(), 0);
    while begin.elapsed() < place.duration {
        sleep(Duration::from_millis(100)).await;
        let statement =
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = 'chaos'";
        terminated += postgres.sql("postgres", statement)?.parse().unwrap_or(0);
    }
    let mut report = Report::new(LOAD, format!("{terminated} backends terminated"));
    steady.until_good(&mut report, Instant::now()).await;
    steady.finish(&mut report).await?;
    Ok(report)
}

async fn stop(place: &Place) -> anyhow::Result<Report> {
    let postgres = Postgres::start(&[]).await?;
    let steady = start(place, &postgres.url()).await?;
    sleep(place.share(0.15)).await;
    postgres.signal_all(Signal::STOP);
    let still = place.share(0.6);
    sleep(still).await;
    postgres.signal_all(Signal::CONT);
    let mut report = Report::new(LOAD, format!("SIGSTOP for {:.0} s", still.as_secs_f64()));
    steady.until_good(&mut report, Instant::now()).await;
    sleep(place.share(0.15)).await;
    steady.finish(&mut report).await?;
    Ok(report)
}

async fn silent(place: &Place) -> anyhow::Result<Report> {
    let postgres = Postgres::start(&[]).await?;
    let proxy = Proxy::start(SocketAddr::from((Ipv4Addr::LOCALHOST, postgres.port))).await?;
    let url = format!("postgres://toolmux@{}/chaos", proxy.address);
    let steady = start(place, &url).await?;
    sleep(place.share(0.3)).await;
    proxy.silence();
    let mut report = Report::new(LOAD, "all connections silent, once");
    steady.until_good(&mut report, Instant::now()).await;
    sleep(place.share(0.6)).await;
    steady.finish(&mut report).await?;
    Ok(report)
}
