//! What differs between SQLite and PostgreSQL, and the tables, which are the same.

pub(crate) mod engine;
pub(crate) mod file;
pub(crate) mod migrations;
pub(crate) mod postgres;
pub(crate) mod presence;
pub(crate) mod sqlite;
