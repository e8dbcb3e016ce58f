//! A write that waits for its turn, and those who wait for it.

use sqlx::AnyConnection;
use tokio::sync::oneshot;
use toolmux_core::ports::store::StoreError;
use toolmux_core::task::TaskId;

use crate::connections::announcements::Announcements;
use crate::connections::database::{ClaimNumber, Database};
use crate::group_commit::write::{SingleWrite, Write};

pub(crate) type Reply = oneshot::Sender<Result<bool, StoreError>>;

pub(crate) struct Job {
    pub(crate) write: Write,
    pub(crate) reply: Reply,
    /// The start that came with the submission of a task and is written with it.
    pub(crate) start: Option<Start>,
}

/// Who started the task that a job submits, and by which claim.
pub(crate) struct Start {
    pub(crate) reply: Reply,
    pub(crate) claim: ClaimNumber,
}

/// Whether a job wrote anything, and whether the start that came with it did.
#[derive(Clone, Copy)]
pub(crate) struct Applied {
    pub(crate) write: bool,
    pub(crate) start: bool,
}

impl Job {
    pub(crate) fn submits(&self) -> Option<&TaskId> {
        match &self.write {
            Write::Single(SingleWrite::TaskSubmit(row)) => Some(&row.id),
            Write::CallBegin(_) | Write::CallFinish(_) | Write::Single(_) => None,
        }
    }

    /// Writes the job of a single write, with the start that came with it.
    pub(crate) async fn apply(
        &self,
        single: &SingleWrite,
        database: &Database,
        connection: &mut AnyConnection,
        announcements: &mut Announcements,
    ) -> Result<Applied, sqlx::Error> {
        let write = single.apply(database, connection, announcements).await?;
        let start = match (&self.start, self.submits()) {
            // The task is there already: it was submitted by a write whose answer was lost, and is still to be started.
            (Some(Start { claim, .. }), Some(id)) if !write => {
                let start = SingleWrite::TaskStart { id: id.clone(), claim: *claim };
                start.apply(database, connection, announcements).await?
            }
            _ => write,
        };
        Ok(Applied { write, start })
    }

    /// What was written is committed: notifies those here who wait for it, and answers.
    pub(crate) fn answer(self, database: &Database, applied: Applied) {
        if let Some(notifier) = self.write.notifier().filter(|_| applied.write) {
            database.notify_here(&notifier);
        }
        if applied.write {
            self.write.count(database);
        }
        // Whoever asked may have left.
        self.reply.send(Ok(applied.write)).ok();
        if let Some(start) = self.start {
            start.reply.send(Ok(applied.start)).ok();
        }
    }

    pub(crate) fn refuse(self, error: &StoreError) {
        self.reply.send(Err(error.clone())).ok();
        if let Some(start) = self.start {
            start.reply.send(Err(error.clone())).ok();
        }
    }
}
