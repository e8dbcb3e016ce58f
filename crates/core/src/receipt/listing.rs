//! Receipts that a store keeps, found by a filter.

use std::time::SystemTime;

use super::chain::ChainEvent;
use super::filter::ReceiptFilter;
use super::record::{Receipt, ReceiptId};
use crate::ports::store::{ReceiptReader, StoreError};

/// How many links are read at a time.
const READ_TOGETHER: usize = 500;
/// How many links are looked at for one list: a filter that fits little must not read a large store to its end.
const MOST_READ: usize = 200_000;

/// What was found in a store.
#[derive(Debug, Default)]
pub struct KeptReceipts {
    /// Those that fit, newest first.
    pub receipts: Vec<Receipt>,
    /// What chains say besides, newest first: what was lost, and which server was killed.
    pub events: Vec<ChainEvent>,
}

/// The newest receipts that fit, `most` at most.
pub async fn list_kept(
    store: &dyn ReceiptReader,
    filter: &ReceiptFilter,
    most: usize,
) -> Result<KeptReceipts, StoreError> {
    let from = ReceiptId::first_at(filter.since.unwrap_or(SystemTime::UNIX_EPOCH));
    let (mut found, mut before, mut read) = (KeptReceipts::default(), None, 0);
    while found.receipts.len() < most && read < MOST_READ {
        let links = store.receipt_list(from, before, READ_TOGETHER).await?;
        for (_, body) in &links {
            match serde_json::from_str::<Receipt>(body) {
                Ok(receipt) if filter.fits(&receipt) => found.receipts.push(receipt),
                Ok(_) => {}
                Err(_) => found.events.extend(serde_json::from_str::<ChainEvent>(body)),
            }
        }
        read += links.len();
        before = links.last().map(|(id, _)| *id);
        if links.len() < READ_TOGETHER {
            break;
        }
    }
    found.receipts.truncate(most);
    Ok(found)
}
