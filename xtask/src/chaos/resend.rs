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
const RESEND_TIMEOUT: Duration = Duration::from_secs(15);

/// How often an id is sent that the server cannot look up just now.
const ATTEMPTS: usize = 40;

/// The runs are judged by the ledger afterwards; what is said here is for the notes.
pub(crate) async fn resend(
    base: &str,
    (tool, key): (&'static str, Option<&'static str>),
    ledger: &Arc<Ledger>,
) -> String {
    let mut ids = ledger.good();
    // Ids end with a counter: the longer, the newer. The newest are those that a fault is most likely to have cost.
    ids.sort_by(|one, other| (other.len(), other).cmp(&(one.len(), one)));
    let ids: Vec<String> = ids.into_iter().take(MOST).collect();
    let mut clients = JoinSet::new();
    for part in ids.chunks(ids.len().div_ceil(CLIENTS).max(1)) {
        let (part, base, ledger) = (part.to_vec(), base.to_owned(), Arc::clone(ledger));
        clients.spawn(async move {
            let (http, mut sent) = (HttpClient::new(), 0);
            for id in part {
                // A store that cannot answer for one id does not answer for the next either.
                let Some(answer) = again(&http, &base, (tool, key), &id).await else { break };
                ledger.answered(&id, answer);
                sent += 1;
            }
            sent
        });
    }
    let mut sent = 0;
    let all = async {
        while let Some(ended) = clients.join_next().await {
            sent += ended.unwrap_or(0);
        }
    };
    // What is not answered by then is not asked for any more.
    let _ = timeout(RESEND_TIMEOUT, all).await;
    format!("{sent} good ids sent again")
}

async fn again(http: &HttpClient, base: &str, (tool, key): (&str, Option<&str>), id: &str) -> Option<Answer> {
    for _ in 0..ATTEMPTS {
        let call = CallRequest { tool, id, arguments: json!({ "id": id }), key };
        match Protocol::Oxp.call(http, base, &call).await {
            Ok(answer @ (Answer::Good | Answer::MayHaveRun)) => return Some(answer),
            _ => sleep(Duration::from_millis(50)).await,
        }
    }
    None
}
