//! `mcp-proxy`: toolmux in front of a streamable HTTP MCP server, beside a bare reverse proxy in front of the same.

use std::fs;
use std::net::SocketAddr;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use crate::bench::compare::{CPU, compare_servers};
use crate::bench::exchange::Exchange;
use crate::bench::load::Load;
use crate::bench::median::median;
use crate::bench::report::{Report, Target};
use crate::bench::server::{Program, Server};
use crate::bench::{Bench, Benchmark};

pub(crate) const BENCHMARK: Benchmark = Benchmark {
    name: "mcp-proxy",
    about: "an MCP tool over HTTP behind toolmux, behind a bare reverse proxy",
    run,
};

pub(super) const TOOLMUX: Program = Program::Binary { package: "toolmux", name: "toolmux" };

/// A call of the tool `add` over MCP.
pub(super) fn exchange() -> Exchange {
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":1,"b":2},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
    let headers = [
        ("Accept", "application/json, text/event-stream"),
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", "add"),
    ];
    Exchange::post_with("/mcp", &headers, body, r#""sum":3"#)
}

fn run(bench: &Bench<'_>) -> anyhow::Result<Report> {
    let folder = bench.folder();
    fs::create_dir_all(&folder)?;
    let (xtask, toolmux) = (Program::XTASK.build(bench.workspace)?, TOOLMUX.build(bench.workspace)?);
    let mut bare = Command::new(&xtask);
    let upstream = Server::launch(bare.arg("bare-mcp"), &exchange(), &folder.join("bare-mcp.log"))?;
    let config = folder.join("mcp-proxy.toml");
    let source = "[sources.Up]\nkind = \"mcp\"\nnames = \"bare\"\n";
    fs::write(&config, format!("store = \"memory\"\n{source}url = \"http://{}/mcp\"\n", upstream.address))?;
    let mut ours = Command::new(toolmux);
    let ours = Server::launch(ours.arg("serve").arg(&config), &exchange(), &folder.join("mcp-toolmux.log"))?;
    let mut proxy = Command::new(&xtask);
    proxy.args(["bare-proxy", "--upstream", &upstream.address.to_string()]);
    let proxy = Server::launch(&mut proxy, &exchange(), &folder.join("bare-proxy.log"))?;
    let places = [ours.address, proxy.address, upstream.address];
    let [through_us, through_proxy, direct] = alone(bench, places)?;
    let mut report = compare_servers(bench, ["toolmux", "bare proxy"], &[ours, proxy], exchange())?;
    let added = through_us - direct;
    report.targets.push(Target { what: "p50 µs added, one connection,", at_most: 150.0, value: added });
    report.promise("CPU µs/request, toolmux / bare proxy,", 1.7, (2, CPU));
    report.notes.push(format!("the bare proxy adds {:.0} µs at p50", through_proxy - direct));
    Ok(report)
}

/// The p50 of one connection that waits for nobody else, at each place in turn, in microseconds.
fn alone(bench: &Bench<'_>, places: [SocketAddr; 3]) -> anyhow::Result<[f64; 3]> {
    let duration = Duration::from_secs(bench.options.seconds.get()) / 2;
    let load = Load { exchange: Arc::new(exchange()), connections: 1, duration };
    let mut seen = [const { Vec::new() }; 3];
    for _ in 0..bench.options.rounds.get() {
        for (place, seen) in places.iter().zip(&mut seen) {
            seen.push(bench.generate(&load, *place)?.p50);
        }
    }
    Ok(seen.map(median))
}
