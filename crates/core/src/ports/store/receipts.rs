//! Receipts as a store keeps them: links of hash chains, one chain for each start of a server. A store looks into none
//! of their texts.

use super::error::StoreFuture;
use crate::receipt::ReceiptId;

/// One link of a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceiptLink {
    /// The id of the chain.
    pub server: String,
    /// The number of the link, from 1 on.
    pub seq: u64,
    /// The id of the receipt; unique in the store.
    pub id: ReceiptId,
    /// The receipt as JSON.
    pub body: String,
    /// SHA-256 of the hash before it, its number and its text.
    pub hash: [u8; 32],
}

/// The head of a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceiptHead {
    /// The id of the chain.
    pub server: String,
    /// What it says, as JSON.
    pub body: String,
    /// The key that signed it.
    pub public_key: Vec<u8>,
    /// The signature of the text.
    pub signature: Vec<u8>,
}

/// What is read of the receipts in a store.
pub trait ReceiptReader: Send + Sync {
    /// The texts of links with ids from `from` on and before `before`, newest first.
    fn receipt_list(
        &self,
        from: ReceiptId,
        before: Option<ReceiptId>,
        most: usize,
    ) -> StoreFuture<'_, Vec<(ReceiptId, String)>>;

    /// The text of one.
    fn receipt_find(&self, id: ReceiptId) -> StoreFuture<'_, Option<String>>;

    /// The links of a chain after a number, in order.
    fn receipt_chain<'a>(
        &'a self,
        server: &'a str,
        after: u64,
        most: usize,
    ) -> StoreFuture<'a, Vec<ReceiptLink>>;

    /// The heads of all chains.
    fn receipt_heads(&self) -> StoreFuture<'_, Vec<ReceiptHead>>;
}

/// What is written of the receipts in a store, by the server whose calls they are about.
pub trait ReceiptStore: ReceiptReader {
    /// Adds links to a chain and replaces its head, both or nothing. Links that are there already are left as they are:
    /// a write whose answer was lost is made again.
    fn receipt_add<'a>(&'a self, links: &'a [ReceiptLink], head: &'a ReceiptHead) -> StoreFuture<'a, ()>;

    /// Removes the links of a chain up to a number and replaces its head, both or nothing.
    fn receipt_prune<'a>(&'a self, up_to: u64, head: &'a ReceiptHead) -> StoreFuture<'a, ()>;

    /// Removes a chain.
    fn receipt_forget<'a>(&'a self, server: &'a str) -> StoreFuture<'a, ()>;

    /// Adds the link that reports a server as killed, with the head of the chain it is added to, and notes that the server
    /// was reported: all or nothing. False, and nothing is written, when another server reported it. A write whose answer
    /// was lost is made again with the same link, and finds it there. A server that was reported and writes its head again
    /// can be reported again.
    fn receipt_report_killed<'a>(
        &'a self,
        killed: &'a str,
        link: &'a ReceiptLink,
        head: &'a ReceiptHead,
    ) -> StoreFuture<'a, bool>;
}
