//! `cargo xtask cost`: processor time and memory against the size of hostile input, for every parser and route.
//!
//! To add a case, write it in the file of its family and add it to `CASES` there. Each is measured at four sizes, each
//! twice the one before, with the processor time of the process itself, so that a busy machine does not matter. Growth
//! that is clearly more than linear fails the command.

mod families;
mod growth;
mod server;
mod upstream;
mod usage;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};

use self::families::FAMILIES;
use self::growth::Growth;
use self::server::Server;
use self::upstream::Upstream;
use self::usage::{Cost, Watched};
use crate::selection::Selection;
use crate::workspace::Workspace;

/// How often the smallest size is doubled.
const DOUBLINGS: u32 = 3;
/// Processor time is counted in hundredths of a second: one point is repeated until it took so long.
const ENOUGH: Duration = Duration::from_millis(150);
/// How often at most.
const MOST_REPEATS: u32 = 12;
/// Points of less processor time are noise, in milliseconds.
const CPU_FLOOR: f64 = 10.0;
/// Points of less memory are noise, in mebibytes.
const MEMORY_FLOOR: f64 = 8.0;

/// One parser or route with one kind of hostile input.
pub(crate) struct Case {
    name: &'static str,
    about: &'static str,
    /// The smallest size, in whatever the case counts.
    smallest: usize,
    input: Input,
}

/// How the input of a size reaches the parser.
enum Input {
    /// As a request to a running server, made anew for each size.
    Request(fn(usize) -> Vec<u8>),
    /// As the answer of the upstream to a call, which is then made.
    Answer(upstream::Answer),
    /// As the list of an upstream, which the server reads at its start; then the list is asked for.
    Listing(fn(usize) -> upstream::Script),
    /// As a file that a command of the program is run on.
    File { arguments: &'static [&'static str], name: &'static str, text: fn(usize) -> String },
}

/// What a case showed.
struct Measured {
    case: &'static Case,
    sizes: Vec<usize>,
    costs: Vec<Cost>,
}

pub(crate) fn list() -> String {
    let line = |case: &Case| format!("  {:<26} {}", case.name, case.about);
    ["Cases:".to_owned()].into_iter().chain(cases().map(line)).collect::<Vec<_>>().join("\n")
}

pub(crate) fn run(workspace: &Workspace, selection: &Selection) -> anyhow::Result<ExitCode> {
    if selection.list {
        println!("{}", list());
        return Ok(ExitCode::SUCCESS);
    }
    let chosen: Vec<&Case> = cases()
        .filter(|case| {
            selection.names.is_empty()
                || selection.names.iter().any(|name| case.name.starts_with(name.as_str()))
        })
        .collect();
    if chosen.is_empty() {
        bail!("no case has such a name\nhint: cargo xtask cost --list says what there is");
    }
    let toolmux = match selection.binary()? {
        Some(binary) => binary,
        None => workspace.debug_program()?,
    };
    let measured = measure_all(&toolmux, &chosen)?;
    if selection.markdown {
        println!("\n| case | sizes | processor | memory | verdict |\n|---|---|---|---|---|");
        for one in &measured {
            println!("{}", one.row());
        }
    }
    let bad = measured.iter().filter(|one| !one.is_linear()).count();
    println!("\n{} cases, {bad} of them grow more than linearly", measured.len());
    Ok(if bad == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn cases() -> impl Iterator<Item = &'static Case> {
    FAMILIES.iter().copied().flatten()
}

fn measure_all(toolmux: &Path, chosen: &[&'static Case]) -> anyhow::Result<Vec<Measured>> {
    let upstream = Upstream::start(families::tools())?;
    let server = Server::start(toolmux, &families::config(&upstream.base))?;
    let place = Place { toolmux, server, upstream };
    let mut all = Vec::new();
    for case in chosen {
        let mut measured = place.measure(case).with_context(|| format!("`{}`", case.name))?;
        // Once more before it is believed: another process may have had the cache or the memory.
        if !measured.is_linear() {
            measured = place.measure(case).with_context(|| format!("`{}`", case.name))?;
        }
        println!("{}", measured.line());
        all.push(measured);
    }
    Ok(all)
}

/// What cases are measured with.
struct Place<'a> {
    toolmux: &'a Path,
    server: Server,
    upstream: Upstream,
}

impl Place<'_> {
    fn measure(&self, case: &'static Case) -> anyhow::Result<Measured> {
        let sizes: Vec<usize> = (0..=DOUBLINGS).map(|doubling| case.smallest << doubling).collect();
        let start = match case.input {
            Input::Request(_) | Input::Answer(_) => Cost::default(),
            Input::Listing(_) | Input::File { .. } => self.once(case, 0)?,
        };
        let mut costs = Vec::new();
        for size in &sizes {
            let cost = self.repeated(case, *size)?;
            costs.push(Cost {
                cpu: cost.cpu.saturating_sub(start.cpu),
                memory: (cost.memory - start.memory).max(0.0),
            });
        }
        Ok(Measured { case, sizes, costs })
    }

    /// Once is never enough to tell: until it took long enough, or often enough.
    fn repeated(&self, case: &Case, size: usize) -> anyhow::Result<Cost> {
        let (mut total, mut repeats) = (Cost::default(), 0);
        while total.cpu < ENOUGH && repeats < MOST_REPEATS {
            let cost = self.once(case, size)?;
            total = Cost { cpu: total.cpu + cost.cpu, memory: total.memory.max(cost.memory) };
            repeats += 1;
        }
        Ok(Cost { cpu: total.cpu / repeats, ..total })
    }

    fn once(&self, case: &Case, size: usize) -> anyhow::Result<Cost> {
        match case.input {
            Input::Request(request) => self.sent(&request(size)),
            Input::Answer(answer) => {
                self.upstream.answer_calls(answer, size);
                self.sent(&families::plain_call())
            }
            Input::Listing(script) => {
                let upstream = Upstream::start(script(size))?;
                let server = Server::start(self.toolmux, &families::config(&upstream.base))?;
                server.send(&server::get("/tools"))?;
                server.send(&server::get("/model/gemini/tools"))?;
                let cpu = crate::bench::usage::cpu(server.pid())?;
                Ok(Cost { cpu, memory: usage::peak(server.pid())? })
            }
            Input::File { arguments, name, text } => {
                server::run_on(self.toolmux, arguments, name, &text(size))
            }
        }
    }

    fn sent(&self, request: &[u8]) -> anyhow::Result<Cost> {
        let watched = Watched::begin(self.server.pid())?;
        self.server.send(request)?;
        watched.end()
    }
}

impl Measured {
    fn cpu(&self) -> Growth {
        let cost = |cost: &Cost| cost.cpu.as_secs_f64() * 1000.0;
        Growth::of(&self.points(cost), CPU_FLOOR)
    }

    fn memory(&self) -> Growth {
        Growth::of(&self.points(|cost| cost.memory), MEMORY_FLOOR)
    }

    fn points(&self, part: impl Fn(&Cost) -> f64) -> Vec<(usize, f64)> {
        self.sizes.iter().copied().zip(self.costs.iter().map(part)).collect()
    }

    fn is_linear(&self) -> bool {
        self.cpu().is_linear() && self.memory().is_linear()
    }

    fn verdict(&self) -> &'static str {
        if self.is_linear() { "linear" } else { "MORE THAN LINEAR" }
    }

    fn largest(&self) -> Cost {
        self.costs.last().copied().unwrap_or_default()
    }

    fn line(&self) -> String {
        let (Cost { cpu, memory }, size) = (self.largest(), self.sizes.last().copied().unwrap_or_default());
        format!(
            "{:<26} {size:>9}: {:>7.1} ms (n^{:<4}) {memory:>7.1} MiB (n^{:<4}) {}",
            self.case.name,
            cpu.as_secs_f64() * 1000.0,
            self.cpu(),
            self.memory(),
            self.verdict()
        )
    }

    fn row(&self) -> String {
        let sizes: Vec<String> = self.sizes.iter().map(ToString::to_string).collect();
        let Cost { cpu, memory } = self.largest();
        format!(
            "| `{}`: {} | {} | {:.1} ms, n^{} | {memory:.1} MiB, n^{} | {} |",
            self.case.name,
            self.case.about,
            sizes.join(", "),
            cpu.as_secs_f64() * 1000.0,
            self.cpu(),
            self.memory(),
            self.verdict()
        )
    }
}
