//! `bad-upstreams-breaker`: an MCP server whose answers are lost, until the circuit breaker of its source opens; then the
//! server recovers. The breaker must open after as many failures as by default, let nothing through while it is open,
//! and close again.

use std::fmt::Write;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::chaos::Scenario;
use crate::chaos::answer::{Answer, NOTHING_LISTENS};
use crate::chaos::client::HttpClient;
use crate::chaos::ledger::Ledger;
use crate::chaos::misbehaviour::Misbehaviour;
use crate::chaos::place::Place;
use crate::chaos::protocol::{CallRequest, Protocol};
use crate::chaos::report::Report;
use crate::chaos::scripted;
use crate::chaos::server::Toolmux;
use crate::chaos::upstream::{Script, Upstream};

pub(crate) const SCENARIO: Scenario = Scenario {
    name: "bad-upstreams-breaker",
    about: "the same until the circuit breaker opens; then the upstream recovers and it closes",
    seconds: 10,
    short: Some(4),
    run: |place| Box::pin(run(place)),
};

/// `limits.breaker_failures` as it is by default.
const FAILURES: usize = 5;
/// How many calls are sent while the breaker is open, and after it has closed.
const MORE: usize = 5;
/// How long a breaker may take to close, on a busy machine.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(30);

/// One source and what became of its calls.
struct Tried {
    how: Misbehaviour,
    name: &'static str,
    base: String,
    http: HttpClient,
    ledger: Ledger,
    sent: usize,
}

/// What a source did not do as it must.
type Judged = (Tried, Result<(), String>);

async fn run(place: &Place) -> anyhow::Result<Report> {
    let upstream = Upstream::start(Script::default()).await?;
    let lossy: Vec<_> = Misbehaviour::ALL.into_iter().filter(|(how, _)| how.counts_as_failure()).collect();
    let rest = place.pick(1, 5);
    let mut config = format!("store = \"{}\"\n[limits]\nbreaker_rest = \"{rest}s\"\n", place.sqlite());
    for (_, name) in &lossy {
        write!(config, "[sources.{name}]\nkind = \"mcp\"\nurl = \"{}/{name}\"\n", upstream.url())?;
    }
    let server = Toolmux::start_ready(place, "server", &config).await?;
    server.until_listed(lossy.len() * scripted::TOOLS.len()).await?;
    let load = format!("{} sources, one call after the other", lossy.len());
    let mut report = Report::new(load, "every answer is wrong, then all are good");
    let mut opening = JoinSet::new();
    for (how, name) in lossy {
        let (http, ledger) = (HttpClient::new(), Ledger::default());
        let tried = Tried { how, name, base: server.base(), http, ledger, sent: 0 };
        opening.spawn(tried.until_open());
    }
    let mut closing = JoinSet::new();
    let mut opened = 0;
    for (tried, judged) in opening.join_all().await {
        opened += usize::from(judged.is_ok());
        demand(&mut report, &tried, judged);
        closing.spawn(tried.until_closed());
    }
    let asked = upstream.calls();
    upstream.recover();
    let mut closed = 0;
    for (tried, judged) in closing.join_all().await {
        closed += usize::from(judged.is_ok());
        demand(&mut report, &tried, judged);
        report.counts = std::mem::take(&mut report.counts).plus(tried.ledger.count(&upstream.runs()));
    }
    report.note(format!("{opened} breakers opened after {asked} requests, {closed} closed again"));
    Ok(report)
}

fn demand(report: &mut Report, tried: &Tried, judged: Result<(), String>) {
    if let Err(fault) = judged {
        report.demand(false, format!("{:?}: {fault}", tried.how));
    }
}

impl Tried {
    /// Fails as often as the breaker allows; from then on nothing may reach the upstream.
    async fn until_open(mut self) -> Judged {
        for count in 1..=FAILURES {
            let answer = self.call().await;
            if answer != Answer::MayHaveRun {
                return (self, Err(format!("call {count} was answered with {answer:?}")));
            }
        }
        for _ in 0..MORE {
            let answer = self.call().await;
            if !is_open(&answer) {
                return (self, Err(format!("after {FAILURES} failures: {answer:?}")));
            }
        }
        (self, Ok(()))
    }

    /// Waits until a call comes through, after which all must.
    async fn until_closed(mut self) -> Judged {
        let start = Instant::now();
        loop {
            match self.call().await {
                Answer::Good => break,
                answer if is_open(&answer) && start.elapsed() < CLOSE_TIMEOUT => {
                    sleep(Duration::from_millis(100)).await;
                }
                answer => return (self, Err(format!("the breaker did not close: {answer:?}"))),
            }
        }
        for _ in 0..MORE {
            let answer = self.call().await;
            if answer != Answer::Good {
                return (self, Err(format!("after the breaker closed: {answer:?}")));
            }
        }
        (self, Ok(()))
    }

    /// A call with an id of its own, of a tool that may not be repeated.
    async fn call(&mut self) -> Answer {
        self.sent += 1;
        let (tool, id) = (format!("{}.record", self.name), format!("{}-{}", self.name, self.sent));
        let call = CallRequest { tool: &tool, id: &id, arguments: json!({ "id": id }), key: None };
        let answer = Protocol::Oxp.call(&self.http, &self.base, &call).await;
        let answer = answer.unwrap_or(Answer::Unanswered(NOTHING_LISTENS.to_owned()));
        self.ledger.answered(&id, answer.clone());
        answer
    }
}

fn is_open(answer: &Answer) -> bool {
    matches!(answer, Answer::Refused(reason) if reason.contains("circuit breaker"))
}
