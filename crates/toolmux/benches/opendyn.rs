//! What a call of a C function costs: in this process, through a worker, with many callers, after a crash,
//! and with Python's ctypes beside it. `cargo bench -p toolmux --bench opendyn`.

#[path = "../../dylib-host/tests/fixture/compile.rs"]
mod compile;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolmux_core::arguments::Arguments;
use toolmux_core::call::Request;
use toolmux_core::gateway::{Credential, Gateway, Settings};
use toolmux_core::memory::MemoryStore;
use toolmux_core::names::ToolRef;
use toolmux_core::outcome::Outcome;
use toolmux_core::progress::Progress;
use toolmux_core::secret::Secret;
use toolmux_core::sources::{Mount, Naming};
use toolmux_protocols::opendyn::{self, Direct};
use toolmux_protocols::registry::Opening;

const CALLS: usize = 20_000;
const CALLERS: usize = 64;
const CRASHES: usize = 4;
const PYTHON: &str = r"
import ctypes, json, sys, time
add = ctypes.CDLL(sys.argv[1]).add
add.argtypes, add.restype = [ctypes.c_int, ctypes.c_int], ctypes.c_int
def measure(what, call, count=200000):
    start = time.perf_counter()
    for _ in range(count): call()
    print(f'{what}: {(time.perf_counter() - start) / count * 1e9:.0f} ns')
measure('ctypes, numbers', lambda: add(2, 3))
def through_json():
    a = json.loads('{\'a\':2,\'b\':3}'.replace(chr(39), chr(34)))
    return json.dumps({'result': add(a['a'], a['b'])})
measure('ctypes, JSON to JSON', through_json)
";

fn main() -> anyhow::Result<()> {
    toolmux::become_worker_if_asked();
    let folder = tempfile::tempdir()?;
    let library = compile::compile(folder.path());
    direct(&library)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    // Servers call from tasks on the runtime's own threads, and so does this.
    let calls = runtime.spawn(through_gateways(folder.path().to_owned(), library.clone()));
    runtime.block_on(calls)??;
    let python = Command::new("python3").args(["-c", PYTHON]).arg(&library).output()?;
    print!("{}", String::from_utf8_lossy(&python.stdout));
    Ok(())
}

fn document() -> Value {
    let int = json!({ "type": "integer", "cType": { "type": "int", "isPointer": false } });
    let number = |name: &str| json!({ "name": name, "schema": int, "isIn": true, "required": true });
    json!({
        "opendyn": "1.0.0",
        "info": { "title": "Fixture", "version": "1.0.0", "callingConvention": "cdecl" },
        "functions": [
            { "name": "add", "description": "Adds", "parameters": [number("a"), number("b")],
              "return": { "name": "result", "schema": int } },
            { "name": "segv", "description": "Crashes", "parameters": [] },
        ],
    })
}

/// JSON bytes to JSON bytes, nothing around it.
fn direct(library: &Path) -> anyhow::Result<()> {
    let mut library = Direct::open(&document().to_string(), library)?;
    let start = Instant::now();
    for _ in 0..CALLS * 10 {
        std::hint::black_box(library.call("add", std::hint::black_box(r#"{"a":2,"b":3}"#))?);
    }
    let each = start.elapsed().as_nanos() as f64 / (CALLS * 10) as f64;
    println!("in-process, JSON to JSON: {each:.0} ns");
    Ok(())
}

struct Bench {
    gateway: Arc<Gateway>,
}

impl Bench {
    async fn open(folder: &Path, library: &Path, in_process: bool) -> anyhow::Result<Self> {
        let file = folder.join("document.json");
        std::fs::write(&file, document().to_string())?;
        let table = json!({ "document": file, "library": library, "in_process": in_process });
        let source = {
            let no_secrets = |_: &_| Ok(Secret::new(""));
            let opening = Opening { name: "C", table, folder, secrets: &no_secrets };
            opendyn::open(&opening, std::env::current_exe()?)?
        };
        let gateway = Gateway::new(Settings::default(), Arc::new(MemoryStore::default()));
        gateway.sources().mount(Mount::new("C", "C", Naming::Prefixed, source));
        gateway.sources().settled(Duration::from_secs(20)).await;
        Ok(Bench { gateway })
    }

    async fn call(&self, tool: &str, arguments: &Arguments) -> anyhow::Result<Outcome> {
        let refused = |refusal: toolmux_core::refusal::Refusal| anyhow::anyhow!(refusal.message().public);
        let caller = self.gateway.admit(Credential::None, None).map_err(refused)?;
        let request = Request::new(ToolRef::either(tool), arguments.clone());
        self.gateway.call(&caller, request, &Progress::unheard()).await.map_err(refused)
    }

    async fn median(&self) -> anyhow::Result<f64> {
        let arguments = numbers();
        let mut times = Vec::with_capacity(CALLS);
        for _ in 0..CALLS {
            let start = Instant::now();
            self.call("C.add", &arguments).await?;
            times.push(start.elapsed());
        }
        times.sort_unstable();
        Ok(times[CALLS / 2].as_nanos() as f64)
    }
}

fn numbers() -> Arguments {
    Arguments::from_map([("a".to_owned(), json!(2)), ("b".to_owned(), json!(3))].into_iter().collect())
}

async fn through_gateways(folder: PathBuf, library: PathBuf) -> anyhow::Result<()> {
    let inside = Bench::open(&folder, &library, true).await?;
    println!("gateway, in-process, median: {:.0} ns", inside.median().await?);
    let isolated = Arc::new(Bench::open(&folder, &library, false).await?);
    println!("gateway, isolated, median: {:.0} ns", isolated.median().await?);
    let start = Instant::now();
    let callers = (0..CALLERS).map(|_| {
        let isolated = Arc::clone(&isolated);
        tokio::spawn(async move {
            let arguments = numbers();
            for _ in 0..CALLS / 8 {
                isolated.call("C.add", &arguments).await?;
            }
            anyhow::Ok(())
        })
    });
    for caller in callers.collect::<Vec<_>>() {
        caller.await??;
    }
    let calls = CALLERS * (CALLS / 8);
    let each = start.elapsed().as_nanos() as f64 / calls as f64;
    println!("gateway, isolated, {CALLERS} callers, of each call: {each:.0} ns");
    let mut slowest = Duration::ZERO;
    for _ in 0..CRASHES {
        let crashed = Instant::now();
        isolated.call("C.segv", &Arguments::none()).await?;
        isolated.call("C.add", &numbers()).await?;
        slowest = slowest.max(crashed.elapsed());
    }
    println!("crash and the next answer, slowest of {CRASHES}: {} ns", slowest.as_nanos());
    Ok(())
}
