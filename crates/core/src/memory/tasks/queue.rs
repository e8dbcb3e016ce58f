//! Which task comes next. Each gets a place when it is submitted, so that callers take turns and a claim looks at no more
//! tasks than it takes (start-time fair queueing, as in the databases' `task_submit.sql`).

use std::collections::{BTreeSet, HashMap};

use tokio::time::Instant;

use crate::task::TaskId;

/// Where a task stands among those that have not ended. Of two with one place the earlier comes first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Turn {
    place: u64,
    number: u64,
    id: TaskId,
}

impl Turn {
    pub(super) fn id(&self) -> &TaskId {
        &self.id
    }
}

/// What a task is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Ready,
    /// Put back, to be claimed from this time on.
    Paused(Instant),
    Running,
}

#[derive(Debug, Default)]
pub(super) struct Queue {
    ready: BTreeSet<Turn>,
    paused: BTreeSet<(Instant, Turn)>,
    running: BTreeSet<Turn>,
    /// Of each caller, all of the three.
    callers: HashMap<Box<str>, BTreeSet<Turn>>,
    number: u64,
}

impl Queue {
    /// Adds a task that is ready to run. Its place is behind its caller's last, and not before those that run: who
    /// had nothing to do comes first now, but has saved up no turns.
    pub(super) fn add(&mut self, caller: &str, id: &TaskId) -> Turn {
        let now = self.running.last().or(self.ready.first()).map_or(0, |turn| turn.place);
        let own = self.callers.entry(caller.into()).or_default();
        let place = own.last().map_or(now, |last| now.max(last.place + 1));
        self.number += 1;
        let turn = Turn { place, number: self.number, id: id.clone() };
        own.insert(turn.clone());
        self.ready.insert(turn.clone());
        turn
    }

    /// Moves a task from one stage to another.
    pub(super) fn change(&mut self, turn: &Turn, from: Stage, to: Stage) {
        self.take(turn, from);
        match to {
            Stage::Ready => drop(self.ready.insert(turn.clone())),
            Stage::Paused(until) => drop(self.paused.insert((until, turn.clone()))),
            Stage::Running => drop(self.running.insert(turn.clone())),
        }
    }

    /// Removes a task that ends.
    pub(super) fn remove(&mut self, caller: &str, turn: &Turn, from: Stage) {
        self.take(turn, from);
        if let Some(own) = self.callers.get_mut(caller) {
            own.remove(turn);
            if own.is_empty() {
                self.callers.remove(caller);
            }
        }
    }

    fn take(&mut self, turn: &Turn, from: Stage) {
        match from {
            Stage::Ready => self.ready.remove(turn),
            Stage::Paused(until) => self.paused.remove(&(until, turn.clone())),
            Stage::Running => self.running.remove(turn),
        };
    }

    /// The tasks to be claimed next. Looks at twice as many at most.
    pub(super) fn next(&self, most: usize) -> Vec<TaskId> {
        let now = Instant::now();
        let due = self.paused.iter().take_while(|(until, _)| *until <= now).map(|(_, turn)| turn);
        let mut first: Vec<&Turn> = self.ready.iter().take(most).chain(due.take(most)).collect();
        first.sort_unstable();
        first.into_iter().take(most).map(|turn| turn.id.clone()).collect()
    }

    pub(super) fn pending(&self) -> impl Iterator<Item = &TaskId> {
        self.ready.iter().chain(self.paused.iter().map(|(_, turn)| turn)).map(Turn::id)
    }

    /// Those of a caller that have not ended.
    pub(super) fn of(&self, caller: &str) -> impl Iterator<Item = &TaskId> {
        self.callers.get(caller).into_iter().flatten().map(Turn::id)
    }

    pub(super) fn count_pending(&self) -> usize {
        self.ready.len() + self.paused.len()
    }

    pub(super) fn count_running(&self) -> usize {
        self.running.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each letter submits a task; the order in which they are claimed, one at a time, while each runs on.
    fn check(submitted: &str, expect: &str) {
        let mut queue = Queue::default();
        let mut turns = HashMap::new();
        for (number, caller) in submitted.chars().enumerate() {
            let id = TaskId::new(&format!("{caller}{number}"));
            turns.insert(id.clone(), queue.add(&caller.to_string(), &id));
        }
        let mut claimed = String::new();
        while let Some(id) = queue.next(1).pop() {
            queue.change(&turns[&id], Stage::Ready, Stage::Running);
            claimed.push_str(&id.as_str()[..1]);
        }
        assert_eq!(claimed, expect, "{submitted}");
    }

    #[test]
    fn callers_take_turns() {
        check("", "");
        check("aaaa", "aaaa");
        check("aaaabb", "ababaa");
        check("aaabc", "abcaa");
    }

    #[test]
    fn who_had_nothing_to_do_comes_first_and_has_saved_up_no_turns() {
        let mut queue = Queue::default();
        let add = |queue: &mut Queue, id: &str| queue.add(&id[..1], &TaskId::new(id));
        for number in 0..9 {
            let turn = add(&mut queue, &format!("a{number}"));
            if number < 4 {
                queue.change(&turn, Stage::Ready, Stage::Running);
            }
        }
        for number in 0..4 {
            add(&mut queue, &format!("b{number}"));
        }
        let next: Vec<String> = queue.next(9).iter().map(|id| id.as_str()[..1].to_owned()).collect();
        assert_eq!(next.concat(), "babababaa");
    }

    #[tokio::test(start_paused = true)]
    async fn a_paused_task_keeps_its_place() {
        let mut queue = Queue::default();
        let first = queue.add("a", &TaskId::new("first"));
        let second = queue.add("a", &TaskId::new("second"));
        queue.change(&first, Stage::Ready, Stage::Running);
        let until = Instant::now() + std::time::Duration::from_secs(1);
        queue.change(&first, Stage::Running, Stage::Paused(until));
        assert_eq!(queue.next(2), [second.id().clone()]);
        tokio::time::advance(std::time::Duration::from_secs(1)).await;
        assert_eq!(queue.next(1), [first.id().clone()]);
        assert_eq!((queue.count_pending(), queue.count_running()), (2, 0));
        queue.remove("a", &first, Stage::Paused(until));
        queue.remove("a", &second, Stage::Ready);
        assert_eq!((queue.count_pending(), queue.of("a").count()), (0, 0));
    }
}
