//! What a store answers when it cannot answer.

use crate::BoxFuture;
use crate::message::Message;
use crate::refusal::Refusal;

/// What every method of a store returns.
pub type StoreFuture<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// The store cannot answer.
#[derive(Clone, Debug)]
pub struct StoreError {
    /// The cause, in words for users and for developers.
    pub message: Message,
    /// Whether what was to be written is durable all the same.
    pub durable: Durable,
}

/// Whether a write that failed is durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durable {
    /// Nothing of it will ever be read.
    No,
    /// The answer to its commit was lost, so that it may be durable.
    Unknown,
}

impl StoreError {
    /// An error after which nothing is durable.
    pub fn new(message: Message) -> Self {
        StoreError { message, durable: Durable::No }
    }
}

/// The store itself logs once what failed. An outage refuses many calls, and these refusals do not log it again.
impl From<StoreError> for Refusal {
    fn from(StoreError { message, .. }: StoreError) -> Self {
        tracing::debug!(developer = message.developer, "the record store refused: {}", message.public);
        Refusal::Unavailable { message: Message::public(message.public), retry_after: None }
    }
}
