//! Following a task through the store, wherever it runs: for whoever follows it, and for the ledger, which waits for a
//! task that owns the id of a call.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use crate::outcome::Outcome;
use crate::ports::store::{FoundTask, Listener, Store, frees_key};
use crate::refusal::Refusal;
use crate::task::{LAST_EVENT, TaskEvent, TaskId, TaskStatus, cancelled};

/// How often a follower looks again although nothing was notified; well below the heartbeats of those who serve one.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// What happens to one task, as it happens.
pub struct Follow {
    store: Arc<dyn Store>,
    id: TaskId,
    notifier: Listener,
    after: u64,
    waiting: VecDeque<TaskEvent>,
    ended: bool,
    /// There was a notification and nobody has looked since.
    must_look: bool,
}

impl Follow {
    /// From behind event `after` on, nothing looked at yet. The notifier is made before anybody looks: what happens
    /// between a look and the wait that follows it is notified, and ends that wait.
    pub(crate) fn new(store: Arc<dyn Store>, id: &TaskId, after: u64) -> Self {
        let notifier = store.task_notifier(id);
        let waiting = VecDeque::new();
        Follow { store, id: id.clone(), notifier, after, waiting, ended: false, must_look: true }
    }

    /// The same, with what was found at a first look.
    pub(crate) fn found(mut self, found: FoundTask) -> Self {
        self.must_look = false;
        self.take(found);
        self
    }

    /// The next event; `None` after the last. Dropping the future, or an error of the store, misses nothing:
    /// ask again.
    pub async fn next(&mut self) -> Result<Option<TaskEvent>, Refusal> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                self.after = event.seq;
                return Ok(Some(event));
            }
            if self.ended {
                return Ok(None);
            }
            if !self.must_look {
                // A notification can get lost with the connection to a database, so that the wait is bounded.
                timeout(LOOK_AGAIN, self.notifier.changed()).await.ok();
                // Kept until a look succeeded: a future that is dropped here, or a store that fails, must not use
                // the notification up.
                self.must_look = true;
            }
            let found = self.store.task_find(&self.id, self.after).await.map_err(Refusal::from)?;
            self.must_look = false;
            match found {
                Some(found) => self.take(found),
                None => self.ended = true,
            }
        }
    }

    fn take(&mut self, found: FoundTask) {
        self.waiting.extend(found.events);
        self.ended = found.task.status.is_ended();
    }
}

/// What came of a task, once it has ended; `None` when it is gone or gave its key back, so that whoever
/// waits for that key begins anew. For calls under the task's own key, which are its caller's.
pub(crate) async fn task_ended(store: &Arc<dyn Store>, id: &TaskId) -> Result<Option<Outcome>, Refusal> {
    let mut follow = Follow::new(Arc::clone(store), id, 0);
    while follow.next().await?.is_some() {}
    let found = store.task_find(id, LAST_EVENT).await.map_err(Refusal::from)?;
    Ok(found.and_then(|found| match found.task.status {
        TaskStatus::Cancelled => Some(cancelled()),
        _ => found.task.outcome.filter(|outcome| !frees_key(outcome)),
    }))
}
