//! Messages of ours on a connection that carries messages both ways, and why one of them got no answer.

use serde_json::value::RawValue;
use toolmux_core::ports::source::Relayed;

use super::broken::Broken;
use crate::jsonrpc;

/// A message of ours.
#[derive(Debug)]
pub(super) struct Outgoing {
    pub(super) message: Vec<u8>,
    /// The id of a request, whose sender waits.
    pub(super) request: Option<u64>,
}

impl Outgoing {
    pub(super) fn unanswered(message: Vec<u8>) -> Self {
        Outgoing { message, request: None }
    }
}

/// Why a request got no answer.
#[derive(Debug)]
pub(super) enum Cut {
    /// It was not sent.
    NotSent,
    /// It was sent, then the connection ended.
    Ended,
    /// Its answer was too long to read.
    TooLong,
    /// There was no memory for its answer.
    NoMemory,
    /// It was not taken, or maybe not.
    NotTaken(Broken),
}

/// The text of an answer of ours.
pub(super) fn reply(id: &RawValue, answer: &Relayed) -> Vec<u8> {
    jsonrpc::reply(Some(id), answer.as_ref().map(|result| result.get().as_bytes()).map_err(|error| &**error))
}
