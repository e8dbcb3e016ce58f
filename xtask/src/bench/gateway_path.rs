//! `gateway-path`: core alone, without a network; runs core's own benchmark and reads its nanoseconds.

use crate::bench::report::{Report, Row};
use crate::bench::{Bench, Benchmark};
use crate::process;

pub(crate) const BENCHMARK: Benchmark = Benchmark {
    name: "gateway-path",
    about: "resolve, validate, dispatch and record in memory, without a network",
    run,
};

fn run(bench: &Bench<'_>) -> anyhow::Result<Report> {
    let mut cargo = bench.workspace.cargo();
    cargo.args([
        "bench",
        "--quiet",
        "--profile",
        "dist",
        "--package",
        "toolmux-core",
        "--bench",
        "gateway_path",
    ]);
    let output = process::capture(&mut cargo)?;
    let mut report = Report::new(&["ns/call"]);
    for line in output.lines() {
        match nanoseconds(line) {
            Some((label, value)) => report.rows.push(Row { label, values: vec![value] }),
            None => report.notes.push(line.to_owned()),
        }
    }
    if let Some(last) = report.rows.len().checked_sub(1) {
        report.promise("ns of the first row", 3000.0, (0, 0));
        report.promise("ns of the last row, which is recorded,", 3000.0, (last, 0));
    }
    Ok(report)
}

/// `resolve to record: 1234.5 ns per call` is a label and a number.
pub(crate) fn nanoseconds(line: &str) -> Option<(String, f64)> {
    let (before, _) = line.split_once(" ns")?;
    let (label, value) = before.rsplit_once(' ')?;
    Some((label.trim().trim_end_matches(':').to_owned(), value.replace(',', "").parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::nanoseconds;

    fn check(line: &str, expect: Option<(&str, f64)>) {
        assert_eq!(nanoseconds(line), expect.map(|(label, value)| (label.to_owned(), value)));
    }

    #[test]
    fn lines_with_nanoseconds_are_rows() {
        check("gateway path: 1234.5 ns per call", Some(("gateway path", 1234.5)));
        check("  10,000 tools   1,850 ns/call", Some(("10,000 tools", 1850.0)));
        check("100000 calls", None);
        check("many ns", None);
    }
}
