//! `ats-submit`, `ledger` and `ats-followers`: a server of its own on SQLite, measured by toolmux's own benchmark.

use crate::bench::report::{Report, Row};
use crate::bench::{Bench, Benchmark};
use crate::process;

pub(crate) const SUBMIT: Benchmark = Benchmark {
    name: "ats-submit",
    about: "ATS: from submitting a task to its completed event, on SQLite (target: p50 under 3 ms)",
    run: |bench| run(bench, "submit", &[("us to the completed event, p50", 3_000.0)]),
};

pub(crate) const LEDGER: Benchmark = Benchmark {
    name: "ledger",
    about: "OXP: durable calls with fresh ids on SQLite (target: 10,000 a second)",
    run: |bench| run(bench, "ledger", &[("us for each durable call", 100.0)]),
};

pub(crate) const FOLLOWERS: Benchmark = Benchmark {
    name: "ats-followers",
    about: "ATS: 5,000 followers of one task (targets: all have its end within 1 s, under 250 MB)",
    run: |bench| {
        let promises = [("us to the last follower", 1_000_000.0), ("kB of memory", 250_000.0)];
        run(bench, "followers", &promises)
    },
};

/// Runs one part; the promises are about its rows, in order.
fn run(bench: &Bench<'_>, part: &str, promises: &[(&'static str, f64)]) -> anyhow::Result<Report> {
    let mut cargo = bench.workspace.cargo();
    cargo.args([
        "bench",
        "--quiet",
        "--profile",
        "dist",
        "--package",
        "toolmux",
        "--bench",
        "ats",
        "--",
        part,
    ]);
    let output = process::capture(&mut cargo)?;
    let mut report = Report::new(&["us or kB"]);
    for line in output.lines() {
        match number(line) {
            Some((label, value)) => report.rows.push(Row { label, values: vec![value] }),
            None => report.notes.push(line.to_owned()),
        }
    }
    anyhow::ensure!(report.rows.len() >= promises.len(), "the benchmark said only: {output}");
    for (row, (what, at_most)) in promises.iter().enumerate() {
        report.promise(what, *at_most, (row, 0));
    }
    Ok(report)
}

/// `followers have the end after: 1234 us` is a label and a number.
fn number(line: &str) -> Option<(String, f64)> {
    let (label, value) = line.split_once(": ")?;
    let value = value.strip_suffix(" us").or_else(|| value.strip_suffix(" kB"))?;
    Some((label.to_owned(), value.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::number;

    fn check(line: &str, expect: Option<(&str, f64)>) {
        assert_eq!(number(line), expect.map(|(label, value)| (label.to_owned(), value)));
    }

    #[test]
    fn lines_with_a_number_and_its_unit_are_rows() {
        check("a call: 12.5 us", Some(("a call", 12.5)));
        check("memory at most: 1000 kB", Some(("memory at most", 1000.0)));
        check("that is 10000 calls per second", None);
        check("a call: many us", None);
    }
}
