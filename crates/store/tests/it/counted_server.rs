//! The server of tests that count: runs what its standard input asks for and says what became of each number.
//! A line `KIND FIRST COUNT LANES` is answered by a line for every number and by `done`. Every run of a tool is
//! written to the log, so that runs can be counted when the process is dead.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod worker;

use std::env::args;
use std::fs::OpenOptions;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use toolmux_core::call::Request;
use toolmux_core::gateway::{Credential, Gateway};
use toolmux_core::outcome::Outcome;
use toolmux_core::progress::Progress;
use toolmux_core::task::{LONGEST_KEPT, TaskId, TaskStatus};
use toolmux_store::StoreSettings;

use self::worker::{Work, gateway, request};

fn work(log: String) -> Work {
    Arc::new(move |_, n| {
        let mut file = OpenOptions::new().create(true).append(true).open(&log).unwrap();
        file.write_all(format!("{n}\n").as_bytes()).unwrap();
        Box::pin(std::future::ready(()))
    })
}

/// What became of a number: a word, and the task if there is one.
async fn ask(gateway: &Arc<Gateway>, kind: &str, n: u64) -> String {
    let caller = gateway.admit(Credential::None, None).unwrap();
    let request = Request { id: Some(format!("id {n}").into()), ..request("Kit_once", n) };
    if kind == "call" {
        return match gateway.call(&caller, request, &Progress::unheard()).await {
            Ok(Outcome::Returned(_)) => "good".to_owned(),
            Ok(Outcome::Failed(_)) => "failed".to_owned(),
            Err(_) => "refused".to_owned(),
        };
    }
    match gateway.tasks().submit(&caller, request, Some(LONGEST_KEPT)).await {
        Ok(id) if kind == "end" => format!("{} {id}", end(gateway, &id).await.as_str()),
        Ok(id) => format!("good {id}"),
        Err(_) => "refused".to_owned(),
    }
}

async fn end(gateway: &Arc<Gateway>, id: &TaskId) -> TaskStatus {
    let caller = gateway.admit(Credential::None, None).unwrap();
    let mut follow = gateway.tasks().follow(&caller, id, 0).await.unwrap().unwrap();
    while follow.next().await.unwrap().is_some() {}
    gateway.tasks().find(&caller, id).await.unwrap().unwrap().status
}

/// Asks for all numbers, `concurrency` at a time.
async fn ask_all(gateway: &Arc<Gateway>, kind: &str, [first, count, concurrency]: [u64; 3]) {
    let next = Arc::new(AtomicU64::new(first));
    let concurrency = (0..concurrency).map(|_| {
        let (gateway, kind, next) = (Arc::clone(gateway), kind.to_owned(), Arc::clone(&next));
        tokio::spawn(async move {
            loop {
                let n = next.fetch_add(1, Ordering::SeqCst);
                if n >= first + count {
                    return;
                }
                println!("{n} {}", ask(&gateway, &kind, n).await);
            }
        })
    });
    for task in concurrency.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    println!("done");
}

#[tokio::main(worker_threads = 2)]
async fn main() {
    let [url, log]: [String; 2] = args().skip(1).collect::<Vec<_>>().try_into().unwrap();
    let settings = StoreSettings { lease: Duration::from_secs(2), ..StoreSettings::default() };
    let gateway = gateway(&url, settings, work(log)).await;
    println!("done");
    for line in std::io::stdin().lines().map_while(Result::ok) {
        let mut words = line.split(' ');
        let kind = words.next().unwrap();
        let numbers: Vec<u64> = words.map(|word| word.parse().unwrap()).collect();
        ask_all(&gateway, kind, numbers.try_into().unwrap()).await;
    }
}
