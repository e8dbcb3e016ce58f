//! Receipts: what happened to one call, step by step, and the hash chain that keeps them from being changed unseen.

pub(crate) mod arguments;
mod chain;
mod draft;
mod filter;
mod listing;
mod log;
mod parts;
mod process;
mod record;
mod timestamp;
mod verify;
mod walk;

pub use self::chain::{ChainChange, ChainEvent, ChainHead, ChainState, SeenChain, link};
pub(crate) use self::draft::ReceiptDraft;
pub use self::filter::ReceiptFilter;
pub use self::listing::{KeptReceipts, list_kept};
pub use self::log::{LoggedReceipts, ReceiptLog, ReceiptSettings};
pub(crate) use self::parts::{AttemptError, CallStep, ERROR_NAMES, ReceiptNames, STEP_NAMES};
pub use self::process::ProcessMark;
pub use self::record::{ContentDigest, Receipt, ReceiptId, ReceiptKind, ReceiptOutcome, StepTime};
pub(crate) use self::timestamp::millis;
pub use self::timestamp::rfc3339;
pub use self::verify::{ChainFault, ChainReport, Verification, verify};

/// How many receipts are kept in memory: the newest.
pub const KEPT_IN_MEMORY: usize = 10_000;
