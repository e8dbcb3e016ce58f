//! How large a document may be that is read whole into memory.

/// The longest text of a document, in bytes.
pub(crate) const MOST_BYTES: usize = 64 << 20;
/// How many values a document may have, references between its own parts not followed.
pub(crate) const MOST_VALUES: usize = 2_000_000;
/// How deep a document may be nested: what the reader of JSON takes.
pub(crate) const MOST_DEPTH: usize = 127;
