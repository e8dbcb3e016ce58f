//! `opendyn-add`: what calling a C function costs, in-process, through a worker, after a crash, and with
//! Python's ctypes; runs the product's own benchmark and reads its nanoseconds.

use anyhow::Context;

use crate::bench::gateway_path::nanoseconds;
use crate::bench::report::{Report, Row};
use crate::bench::{Bench, Benchmark};
use crate::process;

pub(crate) const BENCHMARK: Benchmark = Benchmark {
    name: "opendyn-add",
    about: "add(int, int) of a C library: in-process, isolated, 64 callers, after a crash, ctypes",
    run,
};

/// Rows by their labels, and what they must not exceed.
const LIMITS: [(&str, &str, f64); 3] = [
    ("in-process, JSON to JSON", "ns in-process, JSON to JSON", 1_000.0),
    ("gateway, isolated, 64 callers, of each call", "ns of each call with 64 callers", 10_000.0),
    ("crash and the next answer, slowest of 4", "ns from a crash to the next answer", 10_000_000.0),
];

fn run(bench: &Bench<'_>) -> anyhow::Result<Report> {
    let mut cargo = bench.workspace.cargo();
    cargo.args(["bench", "--quiet", "--profile", "dist", "--package", "toolmux", "--bench", "opendyn"]);
    let output = process::capture(&mut cargo)?;
    let mut report = Report::new(&["ns"]);
    report.rows = output
        .lines()
        .filter_map(nanoseconds)
        .map(|(label, value)| Row { label, values: vec![value] })
        .collect();
    let row = |report: &Report, label: &str| {
        let found = report.rows.iter().position(|row| row.label == label);
        found.with_context(|| format!("the benchmark did not tell `{label}`"))
    };
    for (label, what, at_most) in LIMITS {
        let at = row(&report, label)?;
        report.promise(what, at_most, (at, 0));
    }
    let (inside, isolated) =
        (row(&report, "gateway, in-process, median")?, row(&report, "gateway, isolated, median")?);
    let above = report.rows[isolated].values[0] - report.rows[inside].values[0];
    report.rows.push(Row { label: "isolated above in-process, median".to_owned(), values: vec![above] });
    let last = report.rows.len() - 1;
    report.promise("ns of an isolated call above an in-process one", 15_000.0, (last, 0));
    let ctypes = report.rows[row(&report, "ctypes, JSON to JSON")?].values[0];
    let own = row(&report, "in-process, JSON to JSON")?;
    report.promise("ns in-process, against ctypes", ctypes, (own, 0));
    Ok(report)
}
