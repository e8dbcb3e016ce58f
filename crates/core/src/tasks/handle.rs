//! Tasks for protocols: look, list, follow, answer, cancel. Submitting is in `submit.rs`, running in `claim.rs` and
//! `run.rs`.

use std::sync::Arc;

use tokio::sync::watch;

use crate::audit::{AuditAction, AuditRecord};
use crate::call::Caller;
use crate::gateway::Gateway;
use crate::json_text::RawJson;
use crate::local_tasks::LocalTasks;
use crate::ports::store::{FoundTask, Store, TaskOfCaller};
use crate::receipt::ReceiptKind;
use crate::refusal::Refusal;
use crate::task::{LAST_EVENT, Task, TaskId, TaskStatus};
use crate::task_follow::Follow;
use crate::task_questions::TaskQuestion;

/// The longest list of tasks given at once.
const MOST_LISTED: usize = 100;

/// The tasks of one gateway and its store. Everything but submitting takes an id from anywhere and answers `None` unless
/// the task is the caller's own, or the caller is an operator who asked for the tasks of all.
#[derive(Clone)]
pub struct Tasks {
    pub(super) gateway: Arc<Gateway>,
    reach: Reach,
}

/// Whose tasks are found.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    Own,
    OfEverybody,
}

impl Gateway {
    /// Calls that run in the background.
    pub fn tasks(self: &Arc<Self>) -> Tasks {
        Tasks { gateway: Arc::clone(self), reach: Reach::Own }
    }
}

impl Tasks {
    /// The tasks of every caller; nothing unless an operator asks.
    pub fn of_everybody(self, operator: &Caller) -> Option<Self> {
        let may_see = self.gateway.admission().is_operator(operator);
        may_see.then_some(Tasks { reach: Reach::OfEverybody, ..self })
    }

    /// The newest of those tasks, of one state or all; none but for [`Tasks::of_everybody`].
    pub async fn list_all(
        &self,
        status: Option<TaskStatus>,
        most: usize,
    ) -> Result<Vec<TaskOfCaller>, Refusal> {
        if self.reach == Reach::Own {
            return Ok(Vec::new());
        }
        self.store().task_list_all(status, most).await.map_err(Refusal::from)
    }

    /// The name of the caller whose task it is.
    pub async fn owner(&self, caller: &Caller, id: &TaskId) -> Result<Option<Box<str>>, Refusal> {
        Ok(self.found(caller, id, LAST_EVENT).await?.map(|found| found.caller))
    }

    /// A task of the caller's as it is now; `None` when there is none of that id, or not any more.
    pub async fn find(&self, caller: &Caller, id: &TaskId) -> Result<Option<Task>, Refusal> {
        Ok(self.found(caller, id, LAST_EVENT).await?.map(|found| found.task))
    }

    /// The caller's tasks, newest first, older than `before`.
    pub async fn list(&self, caller: &Caller, before: Option<&TaskId>) -> Result<Vec<Task>, Refusal> {
        self.store().task_list(caller.name(), before, MOST_LISTED).await.map_err(Refusal::from)
    }

    /// What happens to a task of the caller's, from behind event `after` to its end.
    pub async fn follow(&self, caller: &Caller, id: &TaskId, after: u64) -> Result<Option<Follow>, Refusal> {
        let follow = Follow::new(Arc::clone(self.store()), id, after);
        Ok(self.found(caller, id, after).await?.map(|found| follow.found(found)))
    }

    /// Cancels a task of the caller's and gives it as it is then; one that has ended stays as it is.
    pub async fn cancel(&self, caller: &Caller, id: &TaskId) -> Result<Option<Task>, Refusal> {
        let Some(FoundTask { task, .. }) = self.found(caller, id, LAST_EVENT).await? else { return Ok(None) };
        if self.store().task_cancel(id).await.map_err(Refusal::from)? {
            // Whoever runs it hears of it by the store, also on another server; nobody else takes the credentials.
            self.local().take_held(id);
            // Whoever runs a task writes its receipt; one that waits has nobody.
            if task.status == TaskStatus::Pending {
                let mut receipt = self.gateway.receipts().begin(ReceiptKind::Task, caller);
                receipt.not_found(&task.tool);
                receipt.runs_as(id.as_str());
            }
            self.gateway.audit(AuditRecord::now(caller.name(), AuditAction::TaskCancelled, id.as_str()));
        }
        self.find(caller, id).await
    }

    /// What a task asks now, in the order in which it asked.
    pub fn questions(&self, task: &Task) -> Vec<TaskQuestion> {
        self.local().questions.of(&task.id)
    }

    /// Answers a question of a task, or refuses to with `None`. One that is not open is left alone.
    pub fn answer(&self, task: &Task, number: u64, answer: Option<RawJson>) {
        self.local().questions.answer(&task.id, number, answer);
    }

    /// Changes whenever a task that runs here asks something or is answered.
    pub fn question_changes(&self) -> watch::Receiver<u64> {
        self.local().questions.changes()
    }

    async fn found(&self, caller: &Caller, id: &TaskId, after: u64) -> Result<Option<FoundTask>, Refusal> {
        let found = self.store().task_find(id, after).await.map_err(Refusal::from)?;
        Ok(found.filter(|found| self.reach == Reach::OfEverybody || *found.caller == *caller.name()))
    }

    pub(super) fn store(&self) -> &Arc<dyn Store> {
        self.gateway.store()
    }

    pub(super) fn local(&self) -> &LocalTasks {
        self.gateway.local_tasks()
    }
}
