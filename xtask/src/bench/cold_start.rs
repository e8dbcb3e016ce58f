//! `cold-start`: from starting the process to its first good answer, and what it then holds in memory.

use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::bench::exchange::Exchange;
use crate::bench::median::median;
use crate::bench::report::{Report, Row};
use crate::bench::server::{Program, Server};
use crate::bench::{Bench, Benchmark, usage};

pub(crate) const BENCHMARK: Benchmark = Benchmark {
    name: "cold-start",
    about: "the quickstart: time to the first good answer, and idle memory",
    run,
};

const TOOLMUX: Program = Program::Binary { package: "toolmux", name: "toolmux" };
const ARGUMENTS: &[&str] = &["serve", "examples/quickstart/toolmux.toml"];
const STARTS: usize = 20;

/// Work that goes on after the first answer has ended by then.
const UNTIL_IDLE: Duration = Duration::from_millis(500);

fn run(bench: &Bench<'_>) -> anyhow::Result<Report> {
    let binary = TOOLMUX.build(bench.workspace)?;
    let log = bench.folder().join("cold-start.log");
    let exchange = Exchange::get("/opentool/version", "version");
    let mut ready = Vec::new();
    let mut resident = Vec::new();
    for start in 0..STARTS {
        let mut command = Command::new(&binary);
        command.args(ARGUMENTS).current_dir(&bench.workspace.root);
        let server = Server::launch(&mut command, &exchange, &log)?;
        ready.push(server.ready_after.as_secs_f64() * 1e3);
        // Memory differs little between starts: a few are enough.
        if start % 5 == 0 {
            thread::sleep(UNTIL_IDLE);
            resident.push(usage::resident(server.pid())?);
        }
    }
    Ok(report(ready, resident))
}

fn report(ready: Vec<f64>, resident: Vec<f64>) -> Report {
    let slowest = ready.iter().copied().fold(0.0, f64::max);
    let most = resident.iter().copied().fold(0.0, f64::max);
    let mut report = Report::new(&["median", "worst"]);
    report.rows.push(Row { label: "first good answer, ms".to_owned(), values: vec![median(ready), slowest] });
    report.rows.push(Row { label: "idle RSS, MB".to_owned(), values: vec![median(resident), most] });
    report.promise("ms to the first good answer", 100.0, (0, 0));
    report.promise("MB of idle RSS", 20.0, (1, 0));
    report
}
