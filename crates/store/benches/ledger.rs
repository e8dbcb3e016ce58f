//! How many durable calls with fresh ids a store begins and finishes in a second.
//! `cargo bench -p toolmux-store --bench ledger [URL]`; without an address, SQLite in a temporary folder.

use std::sync::Arc;
use std::time::Instant;

use toolmux_core::outcome::{Outcome, Output};
use toolmux_core::ports::store::{Begun, CallKey};
use toolmux_store::{StoreSettings, open};

const CALLERS: usize = 256;
const CALLS: usize = 400;

#[tokio::main(worker_threads = 2)]
async fn main() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = format!("sqlite:{}", folder.path().join("bench.db").display());
    let url = std::env::args().nth(1).filter(|argument| !argument.starts_with("--")).unwrap_or(file);
    let store = open(&url, StoreSettings::default()).await.expect("the store opens");
    let started = Instant::now();
    let callers: Vec<_> = (0..CALLERS)
        .map(|caller| {
            let store = Arc::clone(&store);
            tokio::spawn(async move {
                let outcome = Outcome::Returned(Output::of(&serde_json::json!({ "sum": 3 })).expect("JSON"));
                for call in 0..CALLS {
                    let id = format!("{caller}-{call}-{}", std::process::id());
                    let key = CallKey { caller: "bench".into(), id: id.into() };
                    let begun = store.call_begin(&key, &[7; 32]).await.expect("the store answers");
                    assert!(matches!(begun, Begun::Fresh));
                    store.call_finish(&key, &outcome).await.expect("the store answers");
                }
            })
        })
        .collect();
    for caller in callers {
        caller.await.expect("no caller panics");
    }
    let (calls, took) = (CALLERS * CALLS, started.elapsed());
    println!("{calls} durable calls in {took:?}: {:.0} per second", calls as f64 / took.as_secs_f64());
    store.close().await;
}
