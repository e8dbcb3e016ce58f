//! One task in memory. Its outcome is kept once: events are put together when somebody asks for them, and the
//! request goes when the task has ended.

use std::time::SystemTime;

use tokio::time::Instant;

use super::queue::{Stage, Turn};
use crate::outcome::Outcome;
use crate::ports::store::{CallKey, NewTask};
use crate::progress::Update;
use crate::task::{Task, TaskChange, TaskEvent, TaskStatus, result_not_kept};

#[derive(Debug)]
pub(super) struct Record {
    pub(super) caller: Box<str>,
    pub(super) request: Box<str>,
    pub(super) key: Option<CallKey>,
    pub(super) turn: Turn,
    /// Until when it is not claimed, once it was put back.
    pub(super) paused: Option<Instant>,
    pub(super) task: Task,
    /// Bytes of its outcome and updates, once it has ended.
    pub(super) bytes: u64,
    events: Vec<(u64, Event)>,
    seq: u64,
}

#[derive(Debug)]
pub(super) enum Event {
    Status(TaskStatus),
    Update(Update),
    Ended,
}

impl Record {
    pub(super) fn new(new: &NewTask, key: Option<CallKey>, turn: Turn) -> Self {
        let now = SystemTime::now();
        Record {
            caller: new.caller.clone(),
            request: new.request.clone(),
            key,
            turn,
            paused: None,
            task: Task {
                id: new.id.clone(),
                tool: new.tool.clone(),
                status: TaskStatus::Pending,
                created: now,
                updated: now,
                keep: new.keep,
                outcome: None,
            },
            bytes: 0,
            events: Vec::new(),
            seq: 0,
        }
    }

    /// What it is doing, unless it has ended.
    pub(super) fn stage(&self) -> Option<Stage> {
        match self.task.status {
            TaskStatus::Pending => Some(self.paused.map_or(Stage::Ready, Stage::Paused)),
            TaskStatus::Running => Some(Stage::Running),
            TaskStatus::Completed | TaskStatus::Failed | TaskStatus::Cancelled => None,
        }
    }

    pub(super) fn happen(&mut self, event: Event) {
        self.task.updated = SystemTime::now();
        self.seq += 1;
        self.events.push((self.seq, event));
    }

    pub(super) fn enter(&mut self, status: TaskStatus) {
        self.task.status = status;
        self.happen(Event::Status(status));
    }

    pub(super) fn end(&mut self, status: TaskStatus, outcome: Option<&Outcome>) {
        self.task.status = status;
        self.task.outcome = outcome.cloned();
        self.happen(Event::Ended);
        self.request = Box::default();
        let updates = self.events.iter().map(|(_, event)| match event {
            Event::Update(update) => update.bytes(),
            Event::Status(_) | Event::Ended => 0,
        });
        self.bytes = (updates.sum::<usize>() + outcome.map_or(0, Outcome::bytes)) as u64;
    }

    /// Lets go of what the tool gave and told; that it ran stays.
    pub(super) fn drop_result(&mut self) {
        if self.task.outcome.is_some() {
            self.task.outcome = Some(result_not_kept());
            self.task.status = TaskStatus::Failed;
        }
        self.events.retain(|(_, event)| !matches!(event, Event::Update(_)));
        self.events.shrink_to_fit();
        self.bytes = 0;
    }

    pub(super) fn events_after(&self, after: u64) -> Vec<TaskEvent> {
        let later = self.events.iter().filter(|(seq, _)| *seq > after);
        let event = |(seq, event): &(u64, Event)| {
            let change = match event {
                Event::Status(status) => TaskChange::Status(*status),
                Event::Update(update) => TaskChange::Update(update.clone()),
                Event::Ended => TaskChange::Ended(self.task.status, self.task.outcome.clone()),
            };
            TaskEvent { seq: *seq, change }
        };
        later.map(event).collect()
    }

    /// Its time is over.
    pub(super) fn is_over(&self) -> bool {
        self.task.status.is_ended()
            && self.task.updated.elapsed().is_ok_and(|elapsed| elapsed >= self.task.keep)
    }
}
