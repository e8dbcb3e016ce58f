//! Receipts that are kept in the store: that they are, who reads them, and how far the writing of them is. The writing
//! itself is in `receipt_writer.rs`.

use std::sync::Arc;

use super::Gateway;
use super::receipt_writer::{ReceiptKeeping, ReceiptWriter};
use crate::ports::store::{ReceiptReader, ReceiptStore};

/// How far the writing of receipts is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiptBacklog {
    /// Receipts that wait for the store.
    pub waiting: u64,
    /// Receipts that were lost since the start, because the store did not take them in time.
    pub lost: u64,
}

/// The receipts that the store keeps, of all servers that share it.
#[derive(Clone, Copy)]
pub struct StoredReceipts<'a>(&'a Arc<Gateway>);

impl Gateway {
    /// The receipts in the store, if they are kept there; the newest of this process are in [`Gateway::receipts`].
    pub fn stored_receipts(self: &Arc<Self>) -> StoredReceipts<'_> {
        StoredReceipts(self)
    }
}

impl StoredReceipts<'_> {
    /// Keeps the receipts of all calls from now on in the store of the gateway.
    pub fn keep(self, keeping: ReceiptKeeping) {
        self.keep_in(keeping, Arc::clone(&self.0.store) as Arc<dyn ReceiptStore>);
    }

    /// The same in a store of their own.
    pub fn keep_in(self, keeping: ReceiptKeeping, store: Arc<dyn ReceiptStore>) {
        if !self.0.receipt_writer.open(&store) {
            return;
        }
        self.0.receipts.note_written(0);
        let mut writer = ReceiptWriter::new(keeping, store);
        let gateway = Arc::clone(self.0);
        self.0.background.spawn(async move {
            writer.run(&gateway).await;
            // For the last write, after everything else has ended.
            gateway.receipt_writer.writer(|slot| *slot = Some(writer));
        });
    }

    /// Reads them; none when receipts are kept in memory only.
    pub fn reader(self) -> Option<Arc<dyn ReceiptReader>> {
        self.0.receipt_writer.reader()
    }

    /// How many receipts wait for the store, and how many were lost.
    pub fn backlog(self) -> ReceiptBacklog {
        self.0.receipt_writer.backlog(&self.0.receipts)
    }
}
