//! What other servers are told, and which of them: whoever waits for a record says so in it, and each server listens to a
//! channel of its own.

use std::collections::BTreeMap;

use sqlx::any::AnyRow;
use sqlx::{AnyConnection, AssertSqlSafe, Row};

use crate::connections::database::Database;
use crate::group_commit::write::WORK;
use crate::sql::sql;

/// The channel that all servers listen to.
pub(crate) const EVERYONE: &str = "toolmux";

/// The mark of a record for which several servers wait.
const SEVERAL: &str = "*";

/// The longest notification; PostgreSQL allows 8,000 bytes.
const MOST_ANNOUNCED: usize = 7_000;

/// Makes a statement that changes records say of each who waits for it.
pub(crate) const WAITERS: &str = "\nRETURNING id, waiter";

/// Notifiers by the channel on which they are to be announced.
#[derive(Debug, Default)]
pub(crate) struct Announcements {
    channels: BTreeMap<String, Vec<String>>,
    /// How many tasks now wait for a server that has room.
    tasks: i64,
}

impl Announcements {
    pub(crate) fn tell_everyone(&mut self, notifier: String) {
        self.channels.entry(EVERYONE.to_owned()).or_default().push(notifier);
    }

    pub(crate) fn tell_server(&mut self, server: &str, notifier: String) {
        self.channels.entry(channel(server)).or_default().push(notifier);
    }

    /// A task waits, which a server with room is to be told.
    pub(crate) fn task_waits(&mut self) {
        self.tasks += 1;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.channels.is_empty() && self.tasks == 0
    }
}

/// The channel of one server.
pub(crate) fn channel(server: &str) -> String {
    format!("{EVERYONE}_{server}")
}

impl Database {
    /// Adds what is to be told of a record that was changed, by its column `waiter`.
    pub(crate) fn tell_waiter(
        &self,
        row: &AnyRow,
        notifier: String,
        announcements: &mut Announcements,
    ) -> Result<(), sqlx::Error> {
        match row.try_get::<Option<String>, _>("waiter")? {
            // Those who wait here are notified without the database.
            Some(server) if server == self.holder => {}
            Some(server) if server == SEVERAL => announcements.tell_everyone(notifier),
            Some(server) => announcements.tell_server(&server, notifier),
            None => {}
        }
        Ok(())
    }

    /// Whether a record says that it is to be told here how it goes on.
    pub(crate) fn is_told(&self, row: &AnyRow) -> Result<bool, sqlx::Error> {
        let waiter: Option<String> = row.try_get("waiter")?;
        Ok(waiter.is_some_and(|waiter| waiter == self.holder || waiter == SEVERAL))
    }

    /// Tells other servers whom to notify. In a transaction they hear it when that is committed, and never before: whoever
    /// is notified finds what it is notified of.
    pub(crate) async fn announce(
        &self,
        connection: &mut AnyConnection,
        mut announcements: Announcements,
    ) -> Result<(), sqlx::Error> {
        let Some(announce) = self.engine.announce else { return Ok(()) };
        if announcements.tasks > 0 {
            self.choose_idle(connection, &mut announcements).await?;
        }
        for (channel, mut notifiers) in announcements.channels {
            notifiers.dedup();
            let mut rest = notifiers.as_slice();
            while !rest.is_empty() {
                let mut length = 0;
                let fits = rest.iter().take_while(|notifier| {
                    length += notifier.len() + 1;
                    length <= MOST_ANNOUNCED
                });
                let (now, later) = rest.split_at(fits.count().max(1));
                let announce = sqlx::query(announce).bind(channel.as_str()).bind(now.join(","));
                announce.execute(&mut *connection).await?;
                rest = later;
            }
        }
        Ok(())
    }

    /// As many servers with room as tasks wait, at most; each is told once, and says again when it found nothing.
    async fn choose_idle(
        &self,
        connection: &mut AnyConnection,
        announcements: &mut Announcements,
    ) -> Result<(), sqlx::Error> {
        let wake = sql!("holder_wake").replace("/* skip locked */", self.engine.skip_locked);
        let wake = sqlx::query(AssertSqlSafe(wake)).bind(announcements.tasks).bind(self.now());
        for row in wake.bind(self.holder.as_str()).fetch_all(connection).await? {
            announcements.tell_server(&row.try_get::<String, _>("id")?, WORK.to_owned());
        }
        Ok(())
    }

    /// Tells everybody, ourselves included, of what is already committed. When it fails others learn of it late, by looking
    /// again from time to time.
    pub(crate) async fn notify(&self, notifiers: &[String]) -> Result<(), sqlx::Error> {
        let mut announcements = Announcements::default();
        for notifier in notifiers {
            match notifier.as_str() {
                WORK => announcements.task_waits(),
                _ => announcements.tell_everyone(notifier.clone()),
            }
        }
        self.notify_of(announcements, notifiers).await
    }

    /// The same with what others are told given by itself.
    pub(crate) async fn notify_of(
        &self,
        announcements: Announcements,
        notifiers: &[String],
    ) -> Result<(), sqlx::Error> {
        if self.engine.announce.is_some() && !announcements.is_empty() {
            let mut connection = self.writer().await?;
            self.answered(self.announce(&mut connection, announcements)).await?;
            connection.release();
        }
        for notifier in notifiers {
            self.notify_here(notifier);
        }
        Ok(())
    }

    /// Notifies those who wait in this process. Of a task that waits one is enough.
    pub(crate) fn notify_here(&self, notifier: &str) {
        match notifier {
            WORK => self.notifiers.notify_one(WORK),
            _ => self.notifiers.notify(notifier),
        }
    }
}
