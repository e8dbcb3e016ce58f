//! `openapi-call`: an HTTP API behind toolmux, beside the same function relayed from an MCP server. `openapi-20000`: an API
//! of 20,000 operations beside one of 10.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use serde_json::{Map, Value, json};

use crate::bench::compare::{CPU, compare_servers};
use crate::bench::mcp_proxy::{TOOLMUX, exchange};
use crate::bench::report::Report;
use crate::bench::server::{Program, Server};
use crate::bench::{Bench, Benchmark};

pub(crate) const CALL: Benchmark = Benchmark {
    name: "openapi-call",
    about: "an operation of an OpenAPI document, and the same function as a tool of an MCP server",
    run: run_call,
};

pub(crate) const CATALOGUE: Benchmark = Benchmark {
    name: "openapi-20000",
    about: "the same operation in a document with 20,000 operations and in one with 10",
    run: run_catalogue,
};

fn run_call(bench: &Bench<'_>) -> anyhow::Result<Report> {
    let upstream = upstream(bench)?;
    let relayed = format!("kind = \"mcp\"\nurl = \"http://{}/mcp\"\n", upstream.address);
    let servers = [api(bench, 1, upstream.address)?, toolmux(bench, "relayed", &relayed)?];
    let mut report = compare_servers(bench, ["openapi", "relayed MCP"], &servers, exchange())?;
    report.promise("CPU µs/request, openapi / relayed MCP,", 1.3, (2, CPU));
    Ok(report)
}

fn run_catalogue(bench: &Bench<'_>) -> anyhow::Result<Report> {
    let upstream = upstream(bench)?;
    let servers = [api(bench, 20_000, upstream.address)?, api(bench, 10, upstream.address)?];
    let mut report = compare_servers(bench, ["20000 operations", "10 operations"], &servers, exchange())?;
    report.promise("CPU µs/request, 20,000 operations / 10 operations,", 1.1, (2, CPU));
    Ok(report)
}

/// The MCP server and HTTP API that both servers call.
fn upstream(bench: &Bench<'_>) -> anyhow::Result<Server> {
    let mut bare = Command::new(Program::XTASK.build(bench.workspace)?);
    Server::launch(bare.arg("bare-mcp"), &exchange(), &bench.folder().join("bare-api.log"))
}

/// toolmux in front of an API with this many operations, of which one adds two numbers.
fn api(bench: &Bench<'_>, operations: usize, upstream: SocketAddr) -> anyhow::Result<Server> {
    let name = format!("openapi-{operations}");
    let document = bench.folder().join(format!("{name}.json"));
    write_document(&document, operations)?;
    let table =
        format!("kind = \"openapi\"\ndocument = \"{}\"\nurl = \"http://{upstream}\"\n", document.display());
    toolmux(bench, &name, &table)
}

fn write_document(file: &Path, operations: usize) -> anyhow::Result<()> {
    let number = json!({ "type": "integer" });
    let numbers =
        json!({ "type": "object", "required": ["a", "b"], "properties": { "a": number, "b": number } });
    let body = json!({ "required": true, "content": { "application/json": { "schema": numbers } } });
    let operation = |id: &str| json!({ "post": { "operationId": id, "summary": "Adds two numbers", "requestBody": body } });
    let others = (1..operations).map(|index| (format!("/add/{index}"), operation(&format!("add_{index}"))));
    let paths: Map<String, Value> =
        std::iter::once(("/add".to_owned(), operation("add"))).chain(others).collect();
    let document =
        json!({ "openapi": "3.1.0", "info": { "title": "Sums", "version": "1.0.0" }, "paths": paths });
    Ok(fs::write(file, document.to_string())?)
}

/// toolmux with one source of this table.
fn toolmux(bench: &Bench<'_>, name: &str, table: &str) -> anyhow::Result<Server> {
    let folder = bench.folder();
    let config = folder.join(format!("{name}.toml"));
    fs::write(&config, format!("store = \"memory\"\n[sources.Up]\nnames = \"bare\"\n{table}"))?;
    let mut command = Command::new(TOOLMUX.build(bench.workspace)?);
    Server::launch(command.arg("serve").arg(&config), &exchange(), &folder.join(format!("{name}.log")))
}
