//! The server that `crash.rs` kills: submits tasks and runs them, and says each step it takes.
//! Ends by itself when nobody reads what it says any more.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod worker;

use std::env::args;
use std::fs::OpenOptions;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use toolmux_core::gateway::Credential;
use toolmux_core::task::LONGEST_KEPT;
use toolmux_store::StoreSettings;

use self::worker::{Work, gateway, request};

/// Writes a line for every run of a tool, so that runs can be counted when the process is dead.
fn work(log: String) -> Work {
    Arc::new(move |tool, n| {
        let mut file = OpenOptions::new().create(true).append(true).open(&log).unwrap();
        file.write_all(format!("{tool} {n}\n").as_bytes()).unwrap();
        println!("began {n}");
        Box::pin(async move {
            // Some take longer than others, so that some are killed at work.
            for _ in 0..n % 50 {
                tokio::task::yield_now().await;
            }
            println!("worked {n}");
        })
    })
}

#[tokio::main(worker_threads = 2)]
async fn main() {
    let [url, log, first, most]: [String; 4] = args().skip(1).collect::<Vec<_>>().try_into().unwrap();
    let settings = StoreSettings { lease: Duration::from_secs(1), ..StoreSettings::default() };
    let gateway = gateway(&url, settings, work(log)).await;
    println!("ready");
    let caller = gateway.admit(Credential::None, None).unwrap();
    let (first, most): (u64, u64) = (first.parse().unwrap(), most.parse().unwrap());
    for n in first..first + most {
        let tool = if n % 2 == 0 { "Kit_once" } else { "Kit_again" };
        if let Ok(id) = gateway.tasks().submit(&caller, request(tool, n), Some(LONGEST_KEPT)).await {
            println!("accepted {id}");
        }
    }
    std::io::stdin().lines().count();
}
