//! The database that a store is in: its connections, its hosts, and what happens when they fail.

pub(crate) mod announcements;
pub(crate) mod connection;
pub(crate) mod database;
pub(crate) mod hosts;
pub(crate) mod outage;
pub(crate) mod pools;
