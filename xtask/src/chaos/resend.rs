//! Every id that was answered as good is sent once more: its record must answer, and the tool must not run again.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::answer::Answer;
use super::client::HttpClient;
use super::ledger::Ledger;
use super::protocol::{CallRequest, Protocol};

/// More than these would only take longer.
const MOST: usize = 2_000;

const CLIENTS: usize = 8;

/// For all of them together.
const PATIENCE: Duration = Duration::from_secs(15);

/// How often an id is sent that the server cannot look up just now.
const ATTEMPTS: usize = 40;

/// The runs are judged by the ledger afterwards; what is said here is for the notes.
pub(crate) async fn resend(base: &str, tool: &'static str, ledger: &Arc<Ledger>) -> String {
    let mut ids = ledger.good();
    ids.sort_unstable();
    // The newest are those that a fault is most likely to have cost.
    let ids: Vec<String> = ids.into_iter().rev().take(MOST).collect();
    let mut clients = JoinSet::new();
    for part in ids.chunks(ids.len().div_ceil(CLIENTS).max(1)) {
        let (part, base, ledger) = (part.to_vec(), base.to_owned(), Arc::clone(ledger));
        clients.spawn(async move {
            let http = HttpClient::new();
            for id in part {
                again(&http, &base, tool, &id, &ledger).await;
            }
        });
    }
    let all = async { while clients.join_next().await.is_some() {} };
    match timeout(PATIENCE, all).await {
        Ok(()) => format!("{} ids sent again", ids.len()),
        Err(_) => format!("some of {} ids sent again", ids.len()),
    }
}

async fn again(http: &HttpClient, base: &str, tool: &str, id: &str, ledger: &Ledger) {
    for _ in 0..ATTEMPTS {
        let call = CallRequest { tool, id, arguments: json!({ "id": id }), key: None };
        match Protocol::Oxp.call(http, base, &call).await {
            Ok(answer @ (Answer::Good | Answer::MayHaveRun)) => return ledger.answered(id, answer),
            _ => sleep(Duration::from_millis(50)).await,
        }
    }
}
