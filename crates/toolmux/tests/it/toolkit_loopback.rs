//! A toolkit of Rust functions under the contract of sources.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use schemars::JsonSchema;
use serde::Deserialize;
use toolmux::{ToolError, Toolkit, tool};
use toolmux_core::gateway::Gateway;

use crate::source_contract::{OtherSide, Tools, check, gateway, mount};

const TOOLS: Tools = Tools {
    add: "add",
    sum: "3.0",
    fail: "fail",
    why: "It is not there",
    slow: "slow",
    leaves: "leaves",
    left: "unknown_tool",
    late: None,
};

#[derive(Deserialize, JsonSchema)]
struct Numbers {
    a: f64,
    b: f64,
}

/// Counts a call of `slow` until its future is dropped.
struct RunningCall(Arc<AtomicUsize>);

impl RunningCall {
    fn begin(running: &Arc<AtomicUsize>) -> Self {
        running.fetch_add(1, Ordering::SeqCst);
        RunningCall(Arc::clone(running))
    }
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The functions run in this process, so that its other side is a counter of the test.
#[derive(Default)]
struct Functions {
    running: Arc<AtomicUsize>,
}

impl Functions {
    fn toolkit(&self) -> Toolkit {
        let running = Arc::clone(&self.running);
        let slow = move || {
            let running = Arc::clone(&running);
            async move {
                let _running = RunningCall::begin(&running);
                std::future::pending::<Result<(), ToolError>>().await
            }
        };
        let add = |numbers: Numbers| async move { Ok::<_, ToolError>(numbers.a + numbers.b) };
        let fail = || async { Err::<(), _>(ToolError::new("It is not there")) };
        Toolkit::new("Near")
            .tool(tool(TOOLS.add, "Adds two numbers", add))
            .tool(tool(TOOLS.fail, "Fails", fail))
            .tool(tool(TOOLS.slow, "Does not end", slow))
    }

    fn toolkit_with_leaves(&self) -> Toolkit {
        self.toolkit().tool(tool(TOOLS.leaves, "Leaves the list", || async { Ok::<_, ToolError>(1) }))
    }
}

impl OtherSide for Functions {
    fn running(&self) -> usize {
        self.running.load(Ordering::SeqCst)
    }

    /// The list of a toolkit does not change; a program mounts another.
    async fn shrink(&self, gateway: &Arc<Gateway>) {
        mount(gateway, Arc::new(self.toolkit())).await;
    }
}

#[tokio::test]
async fn a_toolkit_of_rust_functions_is_a_source() {
    let functions = Functions::default();
    let gateway = gateway(Arc::new(functions.toolkit_with_leaves())).await;
    check(gateway, TOOLS, functions).await;
}
