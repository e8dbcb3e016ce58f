//! Calls at a running server.

use http::Method;
use serde::Deserialize;
use toolmux_core::receipt::{Receipt, ReceiptFilter, ReceiptId};
use toolmux_http::sse::Decoder;

use super::print::print_followed;
use crate::cli::console_client::ConsoleClient;
use crate::cli::failure::Failure;
use crate::cli::remote::KeyOptions;
use crate::cli::terminal::{Form, note};

/// The largest event: a receipt with arguments is far smaller.
const LARGEST_EVENT: usize = 1 << 20;

/// How many receipts wait for the store of a server when that is worth a note: some always do, for a moment.
const MANY_WAITING: u64 = 1_000;

/// A running server.
pub(super) struct ServedCalls {
    client: ConsoleClient,
}

#[derive(Deserialize)]
struct ListedCalls {
    calls: Vec<Receipt>,
    #[serde(default)]
    waiting: u64,
    #[serde(default)]
    lost: u64,
}

impl ServedCalls {
    pub(super) fn at(url: &str, key: &KeyOptions) -> Result<Self, Failure> {
        ConsoleClient::new(url, key).map(|client| ServedCalls { client })
    }

    pub(super) async fn list(&self, filter: &ReceiptFilter, most: usize) -> Result<Vec<Receipt>, Failure> {
        let mut query = query(filter);
        query.push(("limit", most.to_string()));
        let listed: ListedCalls = self.client.get("console/api/calls", &query).await?;
        if listed.lost > 0 {
            note(&format!(
                "{} receipts were lost: the store of the server did not take them in time",
                listed.lost
            ));
        }
        if listed.waiting >= MANY_WAITING {
            note(&format!("{} receipts are not in the store of the server yet", listed.waiting));
        }
        Ok(listed.calls)
    }

    pub(super) async fn find(&self, id: ReceiptId) -> Result<Receipt, Failure> {
        self.client.get(&format!("console/api/calls/{id}"), &[]).await
    }

    /// Prints calls as they end. Ends with the server.
    pub(super) async fn follow(&self, filter: &ReceiptFilter, form: Form) -> Result<(), Failure> {
        let mut query = query(filter);
        query.push(("follow", "true".to_owned()));
        let mut answer = self.client.ask(Method::GET, "console/api/calls", &query, String::new()).await?;
        let mut decoder = Decoder::new(LARGEST_EVENT);
        while let Some(piece) = answer.piece().await.map_err(Failure::refused)? {
            for event in decoder.push(&piece).map_err(Failure::refused)? {
                match serde_json::from_str(&event.data) {
                    Ok(receipt) => print_followed(&receipt, form),
                    Err(_) => note(&format!("{}: {}", event.event, event.data)),
                }
            }
        }
        note("the server has ended");
        Ok(())
    }
}

fn query(filter: &ReceiptFilter) -> Vec<(&'static str, String)> {
    let ReceiptFilter { caller, tool, failed, since } = filter;
    let since = since.map(|since| humantime::format_rfc3339_millis(since).to_string());
    let named = [("caller", caller.clone()), ("tool", tool.clone()), ("since", since)];
    let mut query: Vec<_> = named.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
    if *failed {
        query.push(("failed", "true".to_owned()));
    }
    query
}
