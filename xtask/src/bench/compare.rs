//! Two servers side by side: rounds in turn, so that whatever else the machine does meets both.

use std::sync::Arc;
use std::time::Duration;

use crate::bench::Bench;
use crate::bench::exchange::Exchange;
use crate::bench::load::Load;
use crate::bench::median::median;
use crate::bench::report::{Report, Row};
use crate::bench::server::{Server, Subject};
use crate::bench::usage;

const COLUMNS: &[&str] = &["requests/s", "p50 µs", "p99 µs", "CPU µs/request", "RSS MB"];

/// Where `CPU µs/request` stands in a row.
pub(crate) const CPU: usize = 3;

const WARM_UP: Duration = Duration::from_millis(500);

/// A row for each subject and one with the first divided by the second.
pub(crate) fn compare(
    bench: &Bench<'_>,
    subjects: &[Subject; 2],
    exchange: Exchange,
) -> anyhow::Result<Report> {
    let servers = [
        Server::start(bench.workspace, &subjects[0], &exchange)?,
        Server::start(bench.workspace, &subjects[1], &exchange)?,
    ];
    compare_servers(bench, [subjects[0].label, subjects[1].label], &servers, exchange)
}

/// The same for servers that run already.
pub(crate) fn compare_servers(
    bench: &Bench<'_>,
    labels: [&str; 2],
    servers: &[Server; 2],
    exchange: Exchange,
) -> anyhow::Result<Report> {
    let exchange = Arc::new(exchange);
    let connections = bench.options.connections.get();
    let load = |duration| Load { exchange: Arc::clone(&exchange), connections, duration };
    for server in servers {
        bench.generate(&load(WARM_UP), server.address)?;
    }
    let measured = load(Duration::from_secs(bench.options.seconds.get()));
    let mut rounds = [Vec::new(), Vec::new()];
    let mut bad = 0;
    for round in 0..bench.options.rounds.get() {
        // Who goes first changes every round: being second must not be an advantage.
        for index in [round % 2, 1 - round % 2] {
            let (values, unexpected) = measure(bench, &servers[index], &measured)?;
            rounds[index].push(values);
            bad += unexpected;
        }
    }
    let mut report = tabulate(labels, &rounds);
    report.notes.push(format!("load generator: {}", bench.generator));
    if bad > 0 {
        report.notes.push(format!("{bad} answers were not the expected ones and are not counted"));
    }
    Ok(report)
}

/// The ratio is the median of each round's own ratio: what slows both servers of a round cancels out.
fn tabulate(labels: [&str; 2], rounds: &[Vec<Vec<f64>>; 2]) -> Report {
    let divide = |(first, second): (&Vec<f64>, &Vec<f64>)| -> Vec<f64> {
        first.iter().zip(second).map(|(first, second)| first / second).collect()
    };
    let ratios: Vec<Vec<f64>> = rounds[0].iter().zip(&rounds[1]).map(divide).collect();
    let mut report = Report::new(COLUMNS);
    for (label, rounds) in [(labels[0], &rounds[0]), (labels[1], &rounds[1]), ("ratio", &ratios)] {
        report.rows.push(Row { label: label.to_owned(), values: medians(rounds) });
    }
    report
}

/// The values of one round in the order of `COLUMNS`, and how many answers were unexpected.
fn measure(bench: &Bench<'_>, server: &Server, load: &Load) -> anyhow::Result<(Vec<f64>, u64)> {
    let before = usage::cpu(server.pid())?;
    let round = bench.generate(load, server.address)?;
    let used = usage::cpu(server.pid())?.saturating_sub(before);
    let per_request = used.as_secs_f64() * 1e6 / (round.good + round.bad) as f64;
    let resident = usage::resident(server.pid())?;
    let values = vec![round.requests_per_second(), round.p50, round.p99, per_request, resident];
    Ok((values, round.bad))
}

fn medians(rounds: &[Vec<f64>]) -> Vec<f64> {
    let column = |index: usize| rounds.iter().map(|values| values[index]).collect();
    (0..COLUMNS.len()).map(|index| median(column(index))).collect()
}

#[cfg(test)]
mod tests {
    use super::{COLUMNS, tabulate};

    /// The same values in every column; the rows of the table, each by its first column.
    fn check(first: &[f64], second: &[f64], expect: [f64; 3]) {
        let rounds =
            [first, second].map(|values| values.iter().map(|value| vec![*value; COLUMNS.len()]).collect());
        let rows: Vec<f64> = tabulate(["a", "b"], &rounds).rows.iter().map(|row| row.values[0]).collect();
        assert_eq!(rows, expect);
    }

    #[test]
    fn a_disturbed_round_does_not_move_the_ratio() {
        check(&[2.0, 2.0, 2.0], &[1.0, 1.0, 1.0], [2.0, 1.0, 2.0]);
        check(&[2.0, 20.0, 30.0], &[1.0, 10.0, 20.0], [20.0, 10.0, 2.0]);
    }
}
