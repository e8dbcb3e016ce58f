//! Objects of a library that callers hold. The worker knows an object by a number; here stand beside it whose it is
//! and the text by which that caller, and nobody else, can use it.

mod closers;
mod release;
mod table;
mod text;
mod ticket;
mod used;

pub(super) use self::closers::{Closers, closing};
pub(super) use self::release::close_released;
pub(super) use self::table::{HandleTable, Owner, QuotaExceeded, TableSettings};
pub(super) use self::text::NOT_OPEN;
pub(super) use self::ticket::{Opened, Slot, Ticket};
pub(super) use self::used::UsedHandles;
