//! Receipts of calls: what this server remembers, and what the store keeps of all servers.

use std::collections::HashSet;

use serde::Serialize;
use toolmux_core::gateway::ReceiptBacklog;
use toolmux_core::ports::store::StoreError;
use toolmux_core::receipt::{Receipt, ReceiptId, list_kept};
use toolmux_http::serve::Web;

use crate::calls_query::CallsQuery;

/// A list of receipts, and where they are kept.
#[derive(Serialize)]
pub(crate) struct ListedReceipts {
    pub(crate) calls: Vec<Receipt>,
    pub(crate) kept: &'static str,
    pub(crate) waiting: u64,
    pub(crate) lost: u64,
}

/// The newest receipts that a query wants.
pub(crate) async fn listed_receipts(web: &Web, query: &CallsQuery) -> Result<ListedReceipts, StoreError> {
    let kept = if web.gateway.stored_receipts().reader().is_some() { "store" } else { "memory" };
    let ReceiptBacklog { waiting, lost } = web.gateway.stored_receipts().backlog();
    Ok(ListedReceipts { calls: newest(web, query).await?, kept, waiting, lost })
}

async fn newest(web: &Web, query: &CallsQuery) -> Result<Vec<Receipt>, StoreError> {
    let own = web.gateway.receipts().list(|receipt| query.filter.fits(receipt), query.limit);
    let Some(store) = web.gateway.stored_receipts().reader() else { return Ok(own) };
    let kept = list_kept(&*store, &query.filter, query.limit).await?;
    let known: HashSet<ReceiptId> = own.iter().map(|receipt| receipt.id).collect();
    let mut all = own;
    all.extend(kept.receipts.into_iter().filter(|receipt| !known.contains(&receipt.id)));
    all.sort_by_key(|receipt| std::cmp::Reverse(receipt.id));
    all.truncate(query.limit);
    Ok(all)
}

/// The JSON text of a receipt.
pub(crate) async fn find_receipt(web: &Web, id: &str) -> Result<Option<String>, StoreError> {
    let Ok(id) = id.parse::<ReceiptId>() else { return Ok(None) };
    if let Some(receipt) = web.gateway.receipts().find(id) {
        return Ok(Some(receipt.to_json()));
    }
    match web.gateway.stored_receipts().reader() {
        Some(store) => store.receipt_find(id).await,
        None => Ok(None),
    }
}
