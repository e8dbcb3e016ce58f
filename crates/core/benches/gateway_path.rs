//! The path of a call alone: resolve → permit → require → validate → record → dispatch, on a tool that does
//! nothing. Prints `label: N ns per call`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use toolmux_core::BoxFuture;
use toolmux_core::arguments::Arguments;
use toolmux_core::call::{Call, Request};
use toolmux_core::gateway::{Credential, Gateway, Settings};
use toolmux_core::json_text::raw_of;
use toolmux_core::limits::Limits;
use toolmux_core::memory::MemoryStore;
use toolmux_core::names::ToolRef;
use toolmux_core::outcome::{Outcome, Output};
use toolmux_core::ports::source::{Listing, Source, SourceError};
use toolmux_core::progress::Progress;
use toolmux_core::schema::Schema;
use toolmux_core::sources::{Mount, Naming};
use toolmux_core::tool::Tool;

/// Calls per measurement.
const CALLS: u32 = 200_000;
/// Requests made at a time.
const TOGETHER: usize = 1_000;

struct Nothing(usize);

impl Source for Nothing {
    fn tools(&self) -> BoxFuture<'_, Result<Listing, SourceError>> {
        let schema = json!({ "type": "object", "properties": { "a": { "type": "integer" }, "b": { "type": "integer" } },
            "required": ["a", "b"] });
        let tools: Vec<Tool> =
            (0..self.0).map(|n| Tool::new(format!("add_{n}"), "Adds", Schema::new(schema.clone()))).collect();
        Box::pin(std::future::ready(Ok(tools.into())))
    }

    fn call<'a>(&'a self, _: &'a Call, _: &'a Progress) -> BoxFuture<'a, Result<Outcome, SourceError>> {
        Box::pin(async { Ok(Outcome::Returned(Output::value(raw_of(&json!(3))))) })
    }
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        for (tools, ids) in [(10, false), (10_000, false), (10, true)] {
            measure(tools, ids).await;
        }
    });
}

async fn measure(tools: usize, ids: bool) {
    let gateway = Gateway::new(Settings::default(), Arc::new(MemoryStore::default()));
    gateway.sources().mount(Mount::new("Bench", "Bench", Naming::Prefixed, Arc::new(Nothing(tools))));
    gateway.sources().settled(Limits::default().list_timeout).await;
    let caller = gateway.admit(Credential::None, None).expect("an open gateway");
    let text = serde_json::from_str(r#"{"a":1,"b":2}"#).expect("JSON");
    let mut took = Duration::ZERO;
    for begin in (0..CALLS).step_by(TOGETHER) {
        // Made beforehand: reading bytes is the protocol's part, and measured with each of them.
        let requests: Vec<Request> = (begin..begin + TOGETHER as u32)
            .map(|number| {
                let arguments = Arguments::read(Some(text)).expect("an object");
                let id = ids.then(|| number.to_string().into());
                Request { id, ..Request::new(ToolRef::flat("Bench_add_7"), arguments) }
            })
            .collect();
        let started = Instant::now();
        for request in requests {
            gateway.call(&caller, request, &Progress::unheard()).await.expect("an outcome");
        }
        took += started.elapsed();
    }
    let each = took.as_nanos() / u128::from(CALLS);
    let recorded = if ids { ", recorded in memory by id" } else { "" };
    println!("{tools} tools{recorded}: {each} ns per call");
}
