//! What most scenarios have in common: servers on one store before one counting upstream, under a load that runs on
//! while the scenario does its harm; at the end every good id is sent once more, and all is counted.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::sleep;

use super::ledger::Ledger;
use super::load::{Load, Running, Sample, Targets, latencies};
use super::place::Place;
use super::report::Report;
use super::resend::resend;
use super::sample::Held;
use super::server::Toolmux;
use super::upstream::{Script, Upstream};

const NAMES: [&str; 3] = ["one", "two", "three"];

/// How long calls may stay bad after a fault is over.
const RECOVERY: Duration = Duration::from_secs(30);

pub(crate) struct Steady {
    pub(crate) upstream: Upstream,
    pub(crate) servers: Vec<Toolmux>,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) targets: Arc<Targets>,
    pub(crate) running: Running,
    load: Load,
    before: Held,
}

pub(crate) struct Setup<'a> {
    pub(crate) store: &'a str,
    pub(crate) replicas: usize,
    pub(crate) load: Load,
    pub(crate) script: Script,
    /// More of the configuration.
    pub(crate) config: &'a str,
    pub(crate) environment: Vec<(&'static str, String)>,
}

impl Default for Setup<'_> {
    fn default() -> Self {
        let script = Script { call_takes: Duration::from_millis(5), ..Script::default() };
        Self {
            store: "memory",
            replicas: 1,
            load: Load::default(),
            script,
            config: "",
            environment: Vec::new(),
        }
    }
}

impl Steady {
    pub(crate) async fn start(place: &Place, setup: Setup<'_>) -> anyhow::Result<Self> {
        let upstream = Upstream::start(setup.script).await?;
        let config = format!("store = \"{}\"\n{}{}", setup.store, upstream.source(), setup.config);
        let mut servers = Vec::new();
        for name in &NAMES[..setup.replicas] {
            let mut server = Toolmux::new(place, name, &config)?;
            server.environment.clone_from(&setup.environment);
            server.key = setup.load.key;
            servers.push(server.ready().await?);
        }
        let before = Held::by(servers[0].pid()?)?;
        let targets = Targets::new(servers.iter().map(|server| server.address).collect());
        let ledger = Arc::new(Ledger::default());
        let running = setup.load.clone().start(&targets, &ledger);
        Ok(Self { upstream, servers, ledger, targets, running, load: setup.load, before })
    }

    /// Kills the first server and starts it again; waits until calls are good.
    pub(crate) async fn kill_and_restart(&mut self, report: &mut Report) -> anyhow::Result<()> {
        self.servers[0].kill()?;
        self.servers[0].start()?;
        self.servers[0].until_ready().await?;
        self.until_good(report, Instant::now()).await;
        Ok(())
    }

    /// Waits until calls are good again; how long that took since `fault_over`.
    pub(crate) async fn until_good(&self, report: &mut Report, fault_over: Instant) {
        match self.running.until_good_since(fault_over, RECOVERY).await {
            Some(took) => report.note(format!("good again after {:.2} s", took.as_secs_f64())),
            None => report.demand(false, format!("no good call within {RECOVERY:?} of the fault's end")),
        }
    }

    /// Ends the load and counts. The servers must run.
    pub(crate) async fn finish(mut self, report: &mut Report) -> anyhow::Result<Vec<Sample>> {
        self.running.stop().await;
        let samples = self.running.take_samples();
        let [p50, p99, slowest] = latencies(&samples);
        report.note(format!("p50 {p50:.0} ms, p99 {p99:.0} ms, slowest {slowest:.0} ms"));
        report.note(resend(&self.servers[0].base(), (self.load.tool, self.load.key), &self.ledger).await);
        report.counts = self.ledger.count(&self.upstream.runs());
        let unanswered = report.counts.unanswered;
        report.demand(unanswered == 0, format!("{unanswered} ids were never answered"));
        // Connections of clients that have just left are closed by the server a moment later.
        sleep(Duration::from_millis(200)).await;
        report.leaks = Held::by(self.servers[0].pid()?)?.since(self.before);
        Ok(samples)
    }
}
