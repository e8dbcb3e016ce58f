//! What the tool of a task tells while it runs is kept for whoever follows, up to a bound.

use tokio::sync::mpsc::Receiver;

use super::handle::Tasks;
use crate::json_text::raw_of;
use crate::limits::Limits;
use crate::progress::Update;
use crate::task::TaskId;

/// What may still be kept of one task.
struct Room {
    updates: usize,
    bytes: usize,
}

impl Room {
    /// Takes the room of an update; false when there is not enough.
    fn take(&mut self, update: &Update) -> bool {
        let left = self.updates.checked_sub(1).zip(self.bytes.checked_sub(update.bytes()));
        if let Some((updates, bytes)) = left {
            *self = Room { updates, bytes };
        }
        left.is_some()
    }
}

impl Tasks {
    /// Ends when the tool has nothing more to tell.
    pub(super) async fn keep_updates(&self, id: &TaskId, mut updates: Receiver<Update>) {
        let Limits { task_updates, task_updates_bytes, .. } = self.gateway.limits();
        let mut room = Some(Room { updates: task_updates, bytes: task_updates_bytes });
        while let Some(mut update) = updates.recv().await {
            // Of progress that came while the last was written, the newest says all.
            while let Update::Progress { .. } = update
                && let Ok(next) = updates.try_recv()
            {
                if !matches!(next, Update::Progress { .. }) {
                    self.keep_update(id, &update, &mut room).await;
                }
                update = next;
            }
            self.keep_update(id, &update, &mut room).await;
        }
    }

    /// An update that cannot be written is not worth failing a task for.
    async fn keep_update(&self, id: &TaskId, update: &Update, room: &mut Option<Room>) {
        let Some(left) = room else { return };
        if left.take(update) {
            self.store().task_tell(id, update).await.ok();
            return;
        }
        *room = None;
        let text = "The tool sends more updates than are stored for one task; later ones are not stored";
        let update = Update::Log { level: "warning".to_owned(), data: raw_of(&text.into()) };
        self.store().task_tell(id, &update).await.ok();
    }
}
