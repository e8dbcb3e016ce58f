//! The hash chain of one server's receipts: each link has the hash of the one before it, and the head is signed. Whoever
//! edits, removes, reorders or truncates links has to sign another head, which takes the key of the server. An old head
//! that was signed once is no way around that: other chains and the anchor of the server name later ones.

use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::process::ProcessMark;
use super::record::ReceiptId;
use super::timestamp::millis;
use crate::hex::{from_hex, to_hex};
use crate::ports::store::{ReceiptHead, ReceiptLink};

/// The hash of a link: of the hash before it, its number and its text.
pub fn link(before: &[u8; 32], seq: u64, body: &str) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(before);
    hash.update(seq.to_be_bytes());
    hash.update(body.as_bytes());
    hash.finalize().into()
}

/// A link that is not the receipt of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainEvent {
    /// Its id, by which it stands among receipts.
    pub id: ReceiptId,
    /// What happened, under the name of it.
    pub event: ChainChange,
}

/// What can be in a chain besides receipts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChainChange {
    /// The server started, and saw these chains of others: none of them can be shortened or removed unseen.
    Started {
        /// What was seen.
        seen: Vec<SeenChain>,
    },
    /// What the chains of others had come to since: none of them can go back to an earlier head unseen.
    Seen {
        /// What was seen.
        seen: Vec<SeenChain>,
    },
    /// So many receipts were not written, because the store did not take them in time.
    Lost {
        /// How many receipts are missing here.
        receipts: u64,
    },
    /// Another server ended without a clean stop.
    Killed {
        /// The chain of that server.
        server: String,
        /// How many calls had begun and had no receipt when it last wrote.
        calls: u64,
    },
}

/// A chain as another server saw it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenChain {
    /// Whose it is.
    pub server: String,
    /// Its last link then.
    pub seq: u64,
    /// The hash of that link, in hexadecimal.
    pub hash: String,
    /// When its head was written, in milliseconds since 1970.
    pub at: u64,
    /// The public key that signed it, in hexadecimal; empty where an earlier version wrote this.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub key: String,
}

/// What the head of a chain says. Its JSON text is what is signed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainHead {
    /// The id of the chain: one for each start of a server.
    pub server: String,
    /// The name of the machine that the server ran on.
    pub host: String,
    /// The process there.
    pub pid: u32,
    /// What tells this process from every other that ever had its number.
    #[serde(default, skip_serializing_if = "ProcessMark::is_unknown")]
    pub process: ProcessMark,
    /// The number of the last link.
    pub seq: u64,
    /// Its hash, in hexadecimal.
    pub hash: String,
    /// The last link that retention removed; 0 for none.
    pub pruned: u64,
    /// The hash of that link.
    pub pruned_hash: String,
    /// When this head was written, in milliseconds since 1970.
    pub at: u64,
    /// How many calls had begun by then.
    pub begun: u64,
    /// How many of them are accounted for: their receipts are in the chain, or counted as lost.
    pub accounted: u64,
    /// The server was stopped, and everything is in the chain.
    pub stopped: bool,
}

impl ChainHead {
    /// Reads the text of a head.
    pub fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// How many calls had begun and had no receipt when this head was written.
    pub fn unaccounted(&self) -> u64 {
        self.begun.saturating_sub(self.accounted)
    }

    /// What others note of it; `key` is the one that signed it.
    pub fn seen(&self, key: &[u8]) -> SeenChain {
        let (server, hash) = (self.server.clone(), self.hash.clone());
        SeenChain { server, seq: self.seq, hash, at: self.at, key: to_hex(key) }
    }
}

/// A chain that is being written: what comes next.
#[derive(Clone, Debug)]
pub struct ChainState {
    head: ChainHead,
    hash: [u8; 32],
    pruned_hash: [u8; 32],
}

impl ChainState {
    /// A new chain of this process.
    pub(crate) fn new(host: &str) -> Self {
        let head = ChainHead {
            server: ReceiptId::now().to_string(),
            host: host.to_owned(),
            pid: std::process::id(),
            process: ProcessMark::own(),
            seq: 0,
            hash: String::new(),
            pruned: 0,
            pruned_hash: String::new(),
            at: 0,
            begun: 0,
            accounted: 0,
            stopped: false,
        };
        ChainState { head, hash: [0; 32], pruned_hash: [0; 32] }
    }

    pub(crate) fn head(&self) -> &ChainHead {
        &self.head
    }

    /// The next link.
    pub(crate) fn add(&mut self, id: ReceiptId, body: String) -> ReceiptLink {
        self.head.seq += 1;
        self.hash = link(&self.hash, self.head.seq, &body);
        ReceiptLink { server: self.head.server.clone(), seq: self.head.seq, id, body, hash: self.hash }
    }

    pub(crate) fn add_event(&mut self, event: ChainChange) -> ReceiptLink {
        let event = ChainEvent { id: ReceiptId::now(), event };
        let body = serde_json::to_string(&event).expect("an event has a JSON form");
        self.add(event.id, body)
    }

    pub(crate) fn account(&mut self, begun: u64, accounted: u64) {
        (self.head.begun, self.head.accounted) = (begun, accounted);
    }

    pub(crate) fn stop(&mut self) {
        self.head.stopped = true;
    }

    /// Notes that retention removes everything up to a link.
    pub(crate) fn prune_to(&mut self, seq: u64, hash: [u8; 32]) {
        (self.head.pruned, self.pruned_hash) = (seq, hash);
    }

    /// The head as it is now, signed.
    pub(crate) fn sign(&mut self, sign: impl FnOnce(&[u8]) -> Vec<u8>, public_key: &[u8]) -> ReceiptHead {
        self.head.at = millis(SystemTime::now());
        (self.head.hash, self.head.pruned_hash) = (to_hex(&self.hash), to_hex(&self.pruned_hash));
        let body = serde_json::to_string(&self.head).expect("a head has a JSON form");
        let signature = sign(body.as_bytes());
        ReceiptHead { server: self.head.server.clone(), body, public_key: public_key.to_vec(), signature }
    }
}

pub(super) fn hash_of(hex: &str) -> Option<[u8; 32]> {
    from_hex(hex)?.try_into().ok()
}
