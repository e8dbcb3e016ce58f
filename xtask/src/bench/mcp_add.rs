//! `mcp-add`: a tool written in Rust, called over MCP of 2026-07-28, against a bare handler that does the same sum.

use crate::bench::compare::{CPU, compare};
use crate::bench::exchange::Exchange;
use crate::bench::opentool_add::{BARE_AXUM, BENCH_SERVER};
use crate::bench::report::Report;
use crate::bench::server::Subject;
use crate::bench::{Bench, Benchmark};

pub(crate) const BENCHMARK: Benchmark =
    Benchmark { name: "mcp-add", about: "add(a, b) over MCP 2026-07-28 against a bare axum handler", run };

/// What the revision wants of every request.
const HEADERS: &[(&str, &str)] = &[
    ("Accept", "application/json, text/event-stream"),
    ("MCP-Protocol-Version", "2026-07-28"),
    ("Mcp-Method", "tools/call"),
    ("Mcp-Name", "Calculator_add"),
];

fn run(bench: &Bench<'_>) -> anyhow::Result<Report> {
    let toolmux = Subject { label: "toolmux", program: BENCH_SERVER, arguments: &["--tools", "10"] };
    let body = concat!(
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"Calculator_add","arguments":{"a":1,"b":2},"#,
        r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
        r#""io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"#,
        r#""io.modelcontextprotocol/clientCapabilities":{}}}}"#
    );
    let exchange = Exchange::post_with("/mcp", HEADERS, body, r#""text":"3"#);
    let mut report = compare(bench, &[toolmux, BARE_AXUM], exchange)?;
    report.promise("CPU µs/request, toolmux / bare axum,", 1.3, (2, CPU));
    Ok(report)
}
