//! `config-rewrites`: the configuration is written again and again under load, every fifth time as nonsense. No call may
//! notice.

use std::fs;
use std::time::Duration;

use tokio::time::sleep;

use crate::chaos::Scenario;
use crate::chaos::load::Load;
use crate::chaos::place::Place;
use crate::chaos::protocol;
use crate::chaos::report::Report;
use crate::chaos::steady::{Setup, Steady};

pub(crate) const SCENARIO: Scenario = Scenario {
    name: "config-rewrites",
    about: "200 rewrites of the configuration under load, broken ones among them: no call fails",
    seconds: 40,
    short: Some(4),
    run: |place| Box::pin(run(place)),
};

async fn run(place: &Place) -> anyhow::Result<Report> {
    let load = Load { clients: 24, protocols: &protocol::ALL, ..Load::default() };
    let steady = Steady::start(place, Setup { store: &place.sqlite(), load, ..Setup::default() }).await?;
    let rewrites = place.pick(20, 200);
    let config = steady.servers[0].config();
    let good = fs::read_to_string(&config)?;
    for number in 0..rewrites {
        let text = match number % 5 {
            4 => "this is = = not TOML".to_owned(),
            _ => format!(
                "{good}[toolsets.set{number}]\ntools = [\"Up.*\"]\n[limits]\nqueue = {}\n",
                1_000 + number
            ),
        };
        fs::write(&config, text)?;
        sleep(place.duration / rewrites).await;
    }
    fs::write(&config, good)?;
    sleep(Duration::from_secs(1)).await;
    let mut report =
        Report::new("24 clients, 4 protocols", format!("{rewrites} rewrites, {} broken", rewrites / 5));
    steady.finish(&mut report).await?;
    report.demand_all_good();
    Ok(report)
}
