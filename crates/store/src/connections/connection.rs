//! Statements, each on a connection of its own. A connection that was taken for writing and failed in any way is closed,
//! never used again: after an error of the disk SQLite has rolled back by itself while the driver still counts a
//! transaction, and the next `BEGIN` would be a savepoint in a transaction that nobody commits. What is acknowledged in it
//! would be lost.

use std::ops::{Deref, DerefMut};

use sqlx::any::{AnyArguments, AnyRow};
use sqlx::pool::PoolConnection;
use sqlx::query::Query;
use sqlx::{Any, AnyConnection, Connection, Transaction};

use crate::connections::database::Database;
use crate::connections::pools::Purpose;

/// A statement with its values.
pub(crate) type Statement<'q> = Query<'q, Any, AnyArguments>;

/// A connection taken for writing. Only [`WriteConnection::release`] returns it to the pool. Dropped in any
/// other way (an error, a future that is dropped half-way) it is closed, and the pool opens another.
pub(crate) struct WriteConnection(Option<PoolConnection<Any>>);

impl WriteConnection {
    /// Returns it for the next write: what was written with it is committed.
    pub(crate) fn release(mut self) {
        // One in a transaction stays in `self`, whose drop closes it: nobody commits that transaction any more.
        if !self.is_in_transaction() {
            self.0.take();
        }
    }

    /// Begins a transaction. On a connection that is in one already the driver would only set a savepoint.
    pub(crate) async fn begin(&mut self) -> Result<Transaction<'_, Any>, sqlx::Error> {
        self.expect_autocommit()?;
        Connection::begin(&mut **self).await
    }

    /// An error unless a statement by itself is committed when it ends. Inside of a forgotten transaction it would succeed
    /// and be rolled back later.
    pub(crate) fn expect_autocommit(&self) -> Result<(), sqlx::Error> {
        if self.is_in_transaction() { Err(sqlx::Error::BeginFailed) } else { Ok(()) }
    }
}

impl Deref for WriteConnection {
    type Target = AnyConnection;

    fn deref(&self) -> &AnyConnection {
        self.0.as_ref().expect("taken out only when released")
    }
}

impl DerefMut for WriteConnection {
    fn deref_mut(&mut self) -> &mut AnyConnection {
        self.0.as_mut().expect("taken out only when released")
    }
}

impl Drop for WriteConnection {
    fn drop(&mut self) {
        if let Some(connection) = &mut self.0 {
            connection.close_on_drop();
        }
    }
}

impl Database {
    /// A connection to write with.
    pub(crate) async fn writer(&self) -> Result<WriteConnection, sqlx::Error> {
        self.file_is_ours()?;
        self.acquire(Purpose::Write).await.map(|connection| WriteConnection(Some(connection)))
    }

    /// Runs one statement that is a whole write; the number of rows it wrote.
    pub(crate) async fn execute(&self, statement: Statement<'_>) -> Result<u64, sqlx::Error> {
        let mut connection = self.writer().await?;
        connection.expect_autocommit()?;
        // Whoever drops this future here, or gets no answer, leaves a connection whose state is unknown: it is not
        // released, so that its drop closes it.
        let done = self.answered(statement.execute(&mut *connection)).await?;
        // After the write: a file that is removed between a check before it and the write would take the write with it.
        self.file_is_ours()?;
        connection.release();
        Ok(done.rows_affected())
    }

    /// Several statements that are one write: all of them or none.
    pub(crate) async fn transaction<T>(
        &self,
        change: impl AsyncFnOnce(&mut AnyConnection) -> Result<T, sqlx::Error>,
    ) -> Result<T, sqlx::Error> {
        let mut connection = self.writer().await?;
        let changed = async {
            let mut transaction = connection.begin().await?;
            let answer = change(&mut transaction).await?;
            transaction.commit().await.map(|()| answer)
        };
        let answer = self.answered(changed).await?;
        self.file_is_ours()?;
        connection.release();
        Ok(answer)
    }

    /// The same, for a statement that returns rows. All of them are read, whatever the caller wants: a
    /// statement is committed when it has ended, and whether that failed is known only then.
    pub(crate) async fn fetch(&self, statement: Statement<'_>) -> Result<Vec<AnyRow>, sqlx::Error> {
        let mut connection = self.writer().await?;
        connection.expect_autocommit()?;
        let rows = self.answered(statement.fetch_all(&mut *connection)).await?;
        self.file_is_ours()?;
        connection.release();
        Ok(rows)
    }

    /// The row that a statement finds, which writes nothing.
    pub(crate) async fn find(&self, statement: Statement<'_>) -> Result<Option<AnyRow>, sqlx::Error> {
        let mut connection = self.acquire(Purpose::Read).await?;
        // A read needs no such care as a write: no transaction is open, and a lost answer changed nothing.
        let found = self.answered(statement.fetch_optional(&mut *connection)).await;
        found.inspect_err(|_| connection.close_on_drop())
    }

    /// The same, for a statement that always finds one.
    pub(crate) async fn find_one(&self, statement: Statement<'_>) -> Result<AnyRow, sqlx::Error> {
        self.find(statement).await?.ok_or(sqlx::Error::RowNotFound)
    }

    /// All the rows that a statement finds, which writes nothing.
    pub(crate) async fn list(&self, statement: Statement<'_>) -> Result<Vec<AnyRow>, sqlx::Error> {
        let mut connection = self.acquire(Purpose::Read).await?;
        let found = self.answered(statement.fetch_all(&mut *connection)).await;
        found.inspect_err(|_| connection.close_on_drop())
    }
}
