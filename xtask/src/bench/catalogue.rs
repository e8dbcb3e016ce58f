//! `catalogue-10000`: a call must not cost more because the catalogue is large.

use crate::bench::compare::{CPU, compare};
use crate::bench::opentool_add::{BENCH_SERVER, exchange};
use crate::bench::report::Report;
use crate::bench::server::Subject;
use crate::bench::{Bench, Benchmark};

pub(crate) const BENCHMARK: Benchmark =
    Benchmark { name: "catalogue-10000", about: "the same call with 10,000 tools and with 10", run };

fn run(bench: &Bench<'_>) -> anyhow::Result<Report> {
    let many = Subject { label: "10000 tools", program: BENCH_SERVER, arguments: &["--tools", "10000"] };
    let few = Subject { label: "10 tools", program: BENCH_SERVER, arguments: &["--tools", "10"] };
    let mut report = compare(bench, &[many, few], exchange())?;
    report.promise("CPU µs/request, 10,000 tools / 10 tools,", 1.1, (2, CPU));
    Ok(report)
}
