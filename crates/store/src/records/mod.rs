//! Each kind of record: its part of the port, its statements, and how its rows are read.

pub(crate) mod audit;
pub(crate) mod calls;
pub(crate) mod definitions;
pub(crate) mod keys;
pub(crate) mod receipts;
pub(crate) mod sealed;
pub(crate) mod standing;
pub(crate) mod stored;
pub(crate) mod task_rows;
pub(crate) mod tasks;
