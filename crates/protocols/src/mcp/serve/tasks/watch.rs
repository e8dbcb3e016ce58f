//! A task as it changes: what it tells, what it asks, how it ends.

use std::sync::Arc;

use tokio::sync::watch;
use toolmux_core::call::Caller;
use toolmux_core::gateway::Gateway;
use toolmux_core::progress::Update;
use toolmux_core::refusal::Refusal;
use toolmux_core::task::{Task, TaskChange, TaskId};
use toolmux_core::tasks::{Follow, TaskQuestion};

/// One thing seen of a task.
pub(super) enum Seen {
    Update(Update),
    /// It began, ended, asks something or was answered; the first is how it is now.
    State(Task, Vec<TaskQuestion>),
}

pub(super) struct Watch {
    gateway: Arc<Gateway>,
    caller: Caller,
    id: TaskId,
    follow: Follow,
    asked: watch::Receiver<u64>,
    last: Option<(bool, Vec<u64>)>,
    must_look: bool,
    over: bool,
}

impl Watch {
    /// None when the caller has no such task.
    pub(super) async fn open(
        gateway: &Arc<Gateway>,
        caller: &Caller,
        id: &TaskId,
    ) -> Result<Option<Self>, Refusal> {
        let asked = gateway.tasks().question_changes();
        let follow = gateway.tasks().follow(caller, id, 0).await?;
        Ok(follow.map(|follow| Watch {
            gateway: Arc::clone(gateway),
            caller: caller.clone(),
            id: id.clone(),
            follow,
            asked,
            last: None,
            must_look: true,
            over: false,
        }))
    }

    /// What comes next; none after the end, or when the task is no longer kept. Dropping the future misses
    /// nothing but what a tool told at that moment.
    pub(super) async fn next(&mut self) -> Result<Option<Seen>, Refusal> {
        loop {
            if self.must_look {
                let Some(task) = self.gateway.tasks().find(&self.caller, &self.id).await? else {
                    return Ok(None);
                };
                self.must_look = false;
                let questions = self.gateway.tasks().questions(&task);
                let numbers = questions.iter().map(|question| question.number).collect();
                let state = Some((task.status.is_ended(), numbers));
                if self.last != state {
                    self.last = state;
                    return Ok(Some(Seen::State(task, questions)));
                }
            }
            if self.over {
                return Ok(None);
            }
            tokio::select! {
                event = self.follow.next() => match event?.map(|event| event.change) {
                    Some(TaskChange::Update(update)) => return Ok(Some(Seen::Update(update))),
                    Some(TaskChange::Status(_) | TaskChange::Ended(..)) => self.must_look = true,
                    None => (self.over, self.must_look) = (true, true),
                },
                Ok(()) = self.asked.changed() => self.must_look = true,
            }
        }
    }
}
