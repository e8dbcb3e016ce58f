//! `config-rewrites`: the configuration is written again and again under load, every fifth time as nonsense. No call may
//! notice; a key that is removed from it is refused soon after, and stays refused while the configuration is broken.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::time::sleep;

use crate::chaos::Scenario;
use crate::chaos::answer::Answer;
use crate::chaos::client::HttpClient;
use crate::chaos::load::Load;
use crate::chaos::place::Place;
use crate::chaos::protocol::{self, CallRequest, Protocol};
use crate::chaos::report::Report;
use crate::chaos::steady::{Setup, Steady};

pub(crate) const SCENARIO: Scenario = Scenario {
    name: "config-rewrites",
    about: "200 rewrites of the configuration under load, broken ones among them: no call fails, removed keys do",
    seconds: 140,
    short: Some(7),
    run: |place| Box::pin(run(place)),
};

const KEY: &str = "the-key-of-the-load-which-stays";
const OLD_KEY: &str = "the-key-that-is-removed-half-way";

/// What the log says of a configuration that is used from now on, and of one that is not.
const TAKEN: &str = "the configuration was reloaded";
const KEPT: &str = "the new configuration is not used";

/// The server takes up what two looks in a row agree on, 250 ms apart: what stays for less is never taken up.
const LOOKS: Duration = Duration::from_millis(600);

/// From the write of the configuration to the first refusal of a key that is not in it any more.
const PROMISED: Duration = Duration::from_secs(2);

/// The same with a debug build on a busy machine.
const PROMISED_SHORT: Duration = Duration::from_secs(5);

/// After this the scenario does not wait any longer for a key to be accepted or refused.
const KEY_TIMEOUT: Duration = Duration::from_secs(20);

async fn run(place: &Place) -> anyhow::Result<Report> {
    let load = Load { clients: 24, protocols: &protocol::ALL, key: Some(KEY), ..Load::default() };
    let keys = format!("[keys.load]\nkey = \"{KEY}\"\n");
    let setup = Setup { store: &place.sqlite(), load, config: &keys, ..Setup::default() };
    let steady = Steady::start(place, setup).await?;
    let rewrites = place.pick(10, 200);
    let config = steady.servers[0].config();
    let good = fs::read_to_string(&config)?;
    let mut report =
        Report::new("24 clients, 4 protocols", format!("{rewrites} rewrites, {} broken", rewrites / 5));
    let probe = Probe { http: HttpClient::new(), base: steady.servers[0].base() };
    for number in 0..rewrites {
        let text = rewritten(&good, number, rewrites);
        fs::write(&config, text)?;
        if number == 0 {
            let accepted = probe.until(Key::Accepted).await;
            report.demand(accepted.is_some(), "a new key was not accepted");
        } else if number == rewrites / 2 {
            demand_refused(&mut report, probe.until(Key::Refused).await, place);
        }
        sleep(LOOKS.max(place.duration / rewrites)).await;
    }
    report.demand(!probe.accepted().await, "the removed key was accepted while the configuration was broken");
    fs::write(&config, good)?;
    sleep(LOOKS).await;
    report.demand(!probe.accepted().await, "the removed key was accepted again");
    let log = fs::read_to_string(steady.servers[0].log())?;
    let (taken, kept) = (log.matches(TAKEN).count(), log.matches(KEPT).count());
    report.note(format!("{taken} rewrites taken up, {kept} refused"));
    report.demand(taken > 0 && kept > 0, "the server took up no rewrite, or refused none");
    steady.finish(&mut report).await?;
    report.demand_all_good();
    Ok(report)
}

/// The configuration of one rewrite; the first half has one key more.
fn rewritten(good: &str, number: u32, rewrites: u32) -> String {
    let old_key = format!("[keys.old]\nkey = \"{OLD_KEY}\"\n");
    let keys = if number < rewrites / 2 { &old_key } else { "" };
    match number % 5 {
        4 => "this is = = not TOML".to_owned(),
        _ => format!(
            "{good}{keys}[toolsets.set{number}]\ntools = [\"Up.*\"]\n[limits]\nqueue = {}\n",
            1_000 + number
        ),
    }
}

fn demand_refused(report: &mut Report, took: Option<Duration>, place: &Place) {
    let promised = place.pick(PROMISED_SHORT, PROMISED);
    if let Some(took) = took {
        report.note(format!("the removed key was refused after {:.0} ms", took.as_secs_f64() * 1e3));
    }
    let kept = took.is_some_and(|took| took <= promised);
    report.demand(kept, format!("a removed key was accepted for longer than {promised:?}"));
}

/// A caller with the key that is removed.
struct Probe {
    http: HttpClient,
    base: String,
}

impl Probe {
    async fn accepted(&self) -> bool {
        let arguments = json!({ "id": "probe" });
        let call = CallRequest { tool: "Up.read_only", id: "probe", arguments, key: Some(OLD_KEY) };
        matches!(Protocol::OpenTool.call(&self.http, &self.base, &call).await, Ok(Answer::Good))
    }

    /// How long it took; `None` when it did not happen in time.
    async fn until(&self, wanted: Key) -> Option<Duration> {
        let written = Instant::now();
        while written.elapsed() < KEY_TIMEOUT {
            if self.accepted().await == (wanted == Key::Accepted) {
                return Some(written.elapsed());
            }
            sleep(Duration::from_millis(5)).await;
        }
        None
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Key {
    Accepted,
    Refused,
}
