//! Which tasks run here: as many at a time as allowed, callers in turn. New ones begin at once where there is room; those
//! that wait in the store are claimed when a slot is free, whoever accepted them.

use std::time::Duration;

use tokio::sync::OwnedSemaphorePermit;
use tokio::time::sleep;

use super::handle::Tasks;
use super::run::{CredentialsIn, TaskCall};
use super::stored_request::StoredRequest;
use super::submit::{Started, TaskSlot};
use crate::call::Call;
use crate::ports::store::ClaimedTask;
use crate::receipt::ReceiptKind;
use crate::refusal::Refusal;

/// How often waiting tasks are looked for although nothing was notified.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// How long slots gather before waiting tasks are claimed for them, when few are free: claiming one by one
/// would look through the whole backlog for each.
const GATHER: Duration = Duration::from_millis(10);

/// Whether there was room for more tasks than waited.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Room {
    Left,
    Used,
}

impl Tasks {
    /// Begins to run the tasks that wait in the store, whoever accepted them. Submitting does this too.
    pub fn run(&self) {
        if self.local().start() {
            let tasks = self.clone();
            self.gateway.background().spawn(async move {
                tasks.gateway.background().stop().run_until_cancelled(tasks.take_turns()).await;
            });
        }
    }

    /// Runs a task that was just accepted here.
    pub(super) fn begin_here(&self, task_call: TaskCall, started: Started, mut place: TaskSlot) {
        let tasks = self.clone();
        self.gateway.background().spawn(async move {
            match started {
                Ok(true) => {
                    tasks.gateway.metrics().task_began(Duration::ZERO);
                    tasks.local().take_held(&task_call.id);
                    tasks.run_task(&task_call, &mut place.notifier).await;
                }
                // The loop that claims was faster, and needs what is held; or somebody cancelled the task before it
                // was started, and nobody does.
                Ok(false) => {
                    if let Ok(false) = tasks.store().task_is_ours(&task_call.id).await {
                        tasks.local().take_held(&task_call.id);
                    }
                }
                // Whether it was started is not known. If it was, the store gives it back to us as an uncertain claim;
                // if not, it waits in the store: both come by the loop that claims.
                Err(_) => tasks.local().tasks_wait(),
            }
            tasks.local().free(place.slot);
        });
    }

    async fn take_turns(&self) {
        // After a start, tools appear only once their sources have been heard of. Claiming earlier would put each task
        // back for want of its tool.
        self.gateway.sources().settled(self.gateway.limits().list_timeout).await;
        let mut notifier = self.store().work_notifier();
        loop {
            let room = self.claim().await;
            // A slot that was given back while the store was asked is in nobody's notification.
            if room == Room::Used && self.local().has_free_slot() {
                continue;
            }
            tokio::select! {
                // Where there is no room a new task is for another server, which must get the notification.
                () = notifier.changed(), if room == Room::Left => {}
                () = self.local().freed() => {}
                // A notification can get lost with the connection to a database.
                () = sleep(LOOK_AGAIN) => {}
                // What waits is for others, or for the next start.
                () = self.gateway.background().closing() => return,
            }
        }
    }

    /// Claims a task for each slot that is free.
    async fn claim(&self) -> Room {
        if self.local().has_few_free_slots() {
            sleep(GATHER).await;
        }
        let slots = self.local().free_slots();
        if slots.is_empty() {
            return Room::Used;
        }
        match self.store().task_claim(slots.len()).await {
            Ok(claimed) => {
                let room = if claimed.len() >= slots.len() { Room::Used } else { Room::Left };
                // As many as there were slots: more may wait. Should a task have gone into the store since the claim,
                // `no_task_waits` is wrong for a moment: the store notifies of that task, and it is claimed next.
                if claimed.len() >= slots.len() {
                    self.local().tasks_wait();
                } else {
                    self.local().no_task_waits();
                }
                let slots = slots.into_iter().map(Some).chain(std::iter::repeat_with(|| None));
                claimed.into_iter().zip(slots).for_each(|(task, slot)| self.begin_claimed(task, slot));
                room
            }
            Err(error) => {
                tracing::debug!(developer = error.message.developer, "waiting tasks cannot be claimed");
                Room::Left
            }
        }
    }

    /// Runs a claimed task, in the slot kept for it. A store may give more tasks than were asked for: those whose claim had
    /// been uncertain. They are ours already, and wait for a slot.
    fn begin_claimed(&self, task: ClaimedTask, slot: Option<OwnedSemaphorePermit>) {
        let tasks = self.clone();
        self.gateway.background().spawn(async move {
            let slot = match slot {
                Some(slot) => Some(slot),
                None => tasks.local().next_slot().await,
            };
            let Some(slot) = slot else { return };
            match tasks.task_call(&task).await {
                Ok(task_call) => {
                    tasks.gateway.metrics().task_began(task.waited);
                    tasks.run_claimed(&task_call).await;
                }
                Err(refusal) => tasks.put_off(&task, &refusal).await,
            }
            tasks.local().free(slot);
        });
    }

    /// The call of a claimed task. The key of its caller may have been removed while the task waited, here or before a
    /// restart, so that the caller is let in again in both cases.
    async fn task_call(&self, task: &ClaimedTask) -> Result<TaskCall, Refusal> {
        let (call, credentials) = match self.local().take_held(&task.id) {
            Some(call) => (self.gateway.readmit_call(call)?, CredentialsIn::Here),
            None => (self.rebuilt(task).await?, CredentialsIn::Anywhere),
        };
        Ok(TaskCall { id: task.id.clone(), call, credentials, waited: task.waited })
    }

    async fn rebuilt(&self, task: &ClaimedTask) -> Result<Call, Refusal> {
        let stored = StoredRequest::read(task)?;
        let caller = self.gateway.readmit(&stored.caller)?;
        // The receipt is written when the task ends: a tool that is not there yet is looked for again.
        let mut receipt = self.gateway.receipts().begin(ReceiptKind::Task, &caller);
        let call = self.gateway.check(0, &caller, stored.request, &mut receipt).await;
        receipt.discard();
        let call = call?;
        Ok(Call { task: stored.record, ..call })
    }
}
