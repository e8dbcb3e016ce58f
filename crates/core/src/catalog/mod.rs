//! The catalogue: an immutable snapshot of every tool served, swapped whole.

mod entry;
mod snapshot;

pub(crate) use self::entry::SourceTools;
pub use self::entry::{Entry, Unserved, UnservedCause};
pub use self::snapshot::Catalog;
