//! The wait for sources, with a line on the terminal that says who is still awaited.

use std::time::{Duration, Instant};

use toolmux_core::gateway::{Gateway, SourceStatus};

use super::terminal::Terminal;

/// How often the line is drawn anew.
const EVERY: Duration = Duration::from_millis(250);

/// Waits until every source has been heard of, but not longer than `patience`.
pub(super) async fn connected(gateway: &Gateway, terminal: &Terminal, patience: Duration) {
    let began = Instant::now();
    let drawing = async {
        loop {
            tokio::time::sleep(EVERY).await;
            terminal.show(&line(gateway, began.elapsed()));
        }
    };
    tokio::select! {
        () = gateway.settled(patience) => {}
        () = drawing, if terminal.is_live() => {}
    }
    terminal.clear();
}

fn line(gateway: &Gateway, waited: Duration) -> String {
    let sources = gateway.sources();
    let awaited: Vec<&str> = sources
        .iter()
        .filter(|source| source.status == SourceStatus::Connecting)
        .map(|source| source.name.as_str())
        .collect();
    let heard = sources.len() - awaited.len();
    format!(
        "{heard}/{} sources, {:.0?} s: waiting for {}",
        sources.len(),
        waited.as_secs(),
        awaited.join(", ")
    )
}
