//! `oxp-add`: a tool written in Rust, called over OXP, against a bare handler that does the same sum.

use crate::bench::compare::{CPU, compare};
use crate::bench::exchange::Exchange;
use crate::bench::opentool_add::{BARE_AXUM, BENCH_SERVER};
use crate::bench::report::Report;
use crate::bench::server::Subject;
use crate::bench::{Bench, Benchmark};

pub(crate) const BENCHMARK: Benchmark =
    Benchmark { name: "oxp-add", about: "add(a, b) over OXP against a bare axum handler", run };

fn run(bench: &Bench<'_>) -> anyhow::Result<Report> {
    let toolmux = Subject { label: "toolmux", program: BENCH_SERVER, arguments: &["--tools", "10"] };
    let body = r#"{"tool_id":"Calculator.add","input":{"a":1,"b":2}}"#;
    let exchange = Exchange::post("/tools/call", body, r#""value":3"#);
    let mut report = compare(bench, &[toolmux, BARE_AXUM], exchange)?;
    report.promise("CPU µs/request, toolmux / bare axum,", 1.3, (2, CPU));
    Ok(report)
}
