//! Writes by key, many in one transaction.

pub(crate) mod batch;
pub(crate) mod batch_sql;
pub(crate) mod figures;
pub(crate) mod job;
pub(crate) mod write;
pub(crate) mod writer;
