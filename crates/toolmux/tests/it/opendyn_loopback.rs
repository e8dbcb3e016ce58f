//! A C library under the contract of sources. Its workers are the real binary, which the crate of the sources has not.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use toolmux_core::gateway::Gateway;
use toolmux_core::ports::source::Source;
use toolmux_protocols::opendyn;
use toolmux_protocols::registry::Opening;

use crate::opendyn_fixture::{LIBRARY, document, function};
use crate::process::BINARY;
use crate::source_contract::{OtherSide, Tools, check, gateway, mount};

const TOOLS: Tools = Tools {
    add: "add",
    sum: r#"{"result":3}"#,
    fail: "counter",
    why: "`counter`",
    slow: "spin",
    leaves: "obj_live",
    left: "unknown_tool",
    late: Some("unavailable"),
};

/// Workers that are known among all processes by the name of their program.
struct Workers {
    folder: tempfile::TempDir,
    name: String,
}

impl Workers {
    /// A name of its own for the binary, which the system cuts to 15 letters.
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let name = format!("loop-{}", std::process::id());
        std::os::unix::fs::symlink(BINARY, folder.path().join(&name)).expect("linked");
        Workers { folder, name }
    }

    fn open(&self, functions: &Value) -> Arc<dyn Source> {
        let table = json!({ "document": document(functions.clone()), "library": &*LIBRARY });
        let secrets = |_: &_| Err("no secrets here".to_owned());
        let opening = Opening { name: "Near", table, folder: self.folder.path(), secrets: &secrets };
        opendyn::open(&opening, self.worker()).unwrap_or_else(|error| panic!("{error}"))
    }

    fn worker(&self) -> PathBuf {
        self.folder.path().join(&self.name)
    }

    /// What `/proc` says of each, from its state on.
    fn states(&self) -> Vec<String> {
        let name = format!("({}) ", self.name);
        let processes = std::fs::read_dir(Path::new("/proc")).expect("it is there").filter_map(|entry| {
            let stat = std::fs::read_to_string(entry.ok()?.path().join("stat")).ok()?;
            Some(stat.split_once(&name)?.1.to_owned())
        });
        processes.filter(|state| !state.starts_with('Z')).collect()
    }
}

impl OtherSide for Workers {
    /// One that waits for work sleeps, and `spin` never does.
    fn running(&self) -> usize {
        self.states().iter().filter(|state| state.starts_with('R')).count()
    }

    fn children(&self) -> usize {
        self.states().len()
    }

    async fn shrink(&self, gateway: &Arc<Gateway>) {
        let fewer: Vec<Value> = functions().into_iter().filter(|one| one["name"] != TOOLS.leaves).collect();
        mount(gateway, self.open(&json!(fewer))).await;
    }
}

fn functions() -> Vec<Value> {
    let mut counter = function(TOOLS.fail, "int", &[]);
    counter["return"]["success"] = "==0".into();
    let mut spin = function(TOOLS.slow, "void", &[]);
    spin["timeoutMs"] = 1_000.into();
    let add = function(TOOLS.add, "int", &[("a", "int"), ("b", "int")]);
    vec![add, counter, spin, function(TOOLS.leaves, "int", &[])]
}

#[tokio::test]
async fn a_c_library_is_a_source() {
    let workers = Workers::new();
    let gateway = gateway(workers.open(&json!(functions()))).await;
    check(gateway, TOOLS, workers).await;
}
