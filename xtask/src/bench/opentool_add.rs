//! `opentool-add`: a tool written in Rust, called over OpenTool, against a bare handler that does the same sum.

use crate::bench::compare::{CPU, compare};
use crate::bench::exchange::Exchange;
use crate::bench::report::Report;
use crate::bench::server::{Program, Subject};
use crate::bench::{Bench, Benchmark};

pub(crate) const BENCHMARK: Benchmark =
    Benchmark { name: "opentool-add", about: "add(a, b) over OpenTool against a bare axum handler", run };

/// The SDK's server with as many tools as `--tools` says, `Calculator_add` among them.
pub(crate) const BENCH_SERVER: Program = Program::Example { package: "toolmux", name: "bench_server" };

pub(crate) const BARE_AXUM: Subject =
    Subject { label: "bare axum", program: Program::XTASK, arguments: &["bare-axum"] };

pub(crate) fn exchange() -> Exchange {
    let body = r#"{"jsonrpc":"2.0","method":"Calculator_add","params":{"a":1,"b":2},"id":"1"}"#;
    Exchange::post("/opentool/call", body, ":3")
}

fn run(bench: &Bench<'_>) -> anyhow::Result<Report> {
    let toolmux = Subject { label: "toolmux", program: BENCH_SERVER, arguments: &["--tools", "10"] };
    let mut report = compare(bench, &[toolmux, BARE_AXUM], exchange())?;
    report.promise("CPU µs/request, toolmux / bare axum,", 1.25, (2, CPU));
    Ok(report)
}
