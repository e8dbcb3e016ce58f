//! What differs between SQLite and PostgreSQL, as one value of each.

use std::io;
use std::sync::Arc;

use toolmux_core::BoxFuture;

use crate::connections::database::Database;
use crate::engines::file::OpenFile;
use crate::engines::presence::Presence;

pub(crate) struct Engine {
    pub(crate) name: &'static str,
    /// Run once when the store is opened, before its tables are made.
    pub(crate) prepare: &'static [&'static str],
    /// Begins the transaction in which all tables are made, where the engine's migrator takes no lock of its own.
    pub(crate) migrates_in: Option<&'static str>,
    /// Run on every new connection; takes no lock and writes nothing.
    pub(crate) setup: &'static [&'static str],
    /// Its word for a column of bytes.
    pub(crate) bytes_type: &'static str,
    /// How it is to lay out the tables, which concerns its speed only.
    pub(crate) layout: &'static str,
    pub(crate) writers: u32,
    pub(crate) readers: u32,
    /// Whether a connection may die or go silent while nobody notices.
    pub(crate) remote: bool,
    /// The setting that bounds how long the server keeps a transaction in which nothing is asked, in milliseconds.
    pub(crate) idle_transaction: Option<&'static str>,
    /// Behind a `SELECT` whose rows others may be taking.
    pub(crate) skip_locked: &'static str,
    /// Tells the servers that listen to a channel whom to notify.
    pub(crate) announce: Option<&'static str>,
    /// The milliseconds of the database's own clock as `now`, when machines share it.
    pub(crate) clock: Option<&'static str>,
    /// Run on every new connection that only reads.
    pub(crate) read_only_setup: &'static [&'static str],
    /// Gives the room of removed rows back, where the database does not do so by itself.
    pub(crate) vacuum: Option<&'static str>,
    /// The size of everything as `bytes`.
    pub(crate) bytes: &'static str,
    /// Whether the code of an error means that every other write would fail too.
    pub(crate) fails_all: fn(&str) -> bool,
    /// Makes its file before the database does, for a database that is one.
    pub(crate) create: fn(&str),
    /// The file it is, for a database that is one.
    pub(crate) file: fn(&str) -> Option<io::Result<OpenFile>>,
    /// The address for connections that are opened later, when it exists.
    pub(crate) existing: fn(&str) -> String,
    /// Shows to other servers of the same machine that we are there, where only those can have it open.
    pub(crate) presence: fn(&str) -> Option<io::Result<Presence>>,
    /// Notifies of what other servers do, as long as it is polled.
    pub(crate) watch: fn(Arc<Database>) -> BoxFuture<'static, ()>,
}

impl Engine {
    /// True for an error that is not of one write alone: others would meet it too.
    pub(crate) fn concerns_all(&self, error: &sqlx::Error) -> bool {
        match error {
            sqlx::Error::Database(error) => error.code().is_some_and(|code| (self.fails_all)(&code)),
            _ => true,
        }
    }
}
