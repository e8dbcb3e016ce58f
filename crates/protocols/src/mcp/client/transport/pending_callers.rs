//! Which call a question belongs to that does not say so: requests of callers that wait for their answers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc;
use toolmux_core::json_text::RawJson;

/// How many questions wait for one caller.
const QUEUE: usize = 16;

#[derive(Debug)]
pub(super) struct Question {
    pub(super) id: RawJson,
    pub(super) method: String,
    pub(super) params: Option<RawJson>,
}

/// What is known of a request in flight when a question comes.
pub(super) struct Candidate<'a, K> {
    pub(super) key: K,
    pub(super) caller: &'a Arc<str>,
    /// Its caller can be asked.
    pub(super) can_be_asked: bool,
    /// Questions it was asked and has not answered yet.
    pub(super) unanswered: usize,
}

/// The request that a question without a name belongs to: of those whose caller can be asked, the one that waits for
/// the fewest answers. With several of them, or while several callers wait, nobody is asked: the question may belong to
/// another caller, whose secrets it may tell, and the answer would be taken for that caller's.
pub(super) fn meant<'a, K>(in_flight: impl Iterator<Item = Candidate<'a, K>>) -> Option<K> {
    let (mut caller, mut found, mut fewest, mut is_only) = (None, None, usize::MAX, false);
    for candidate in in_flight {
        if *caller.get_or_insert(candidate.caller) != candidate.caller {
            return None;
        }
        if candidate.can_be_asked && candidate.unanswered <= fewest {
            is_only = candidate.unanswered < fewest;
            fewest = candidate.unanswered;
            found = Some(candidate.key);
        }
    }
    found.filter(|_| is_only)
}

/// Requests in flight over connections that each have one of their own, with the questions of a stream that all share.
#[derive(Debug, Default)]
pub(super) struct PendingCallers(Mutex<HashMap<u64, InFlight>>);

#[derive(Debug)]
struct InFlight {
    caller: Arc<str>,
    /// Where its questions go, if its caller can be asked.
    questions: Option<mpsc::Sender<Question>>,
    unanswered: usize,
}

/// A request in flight, until this is dropped.
pub(super) struct Joined<'a> {
    pending_callers: &'a PendingCallers,
    id: u64,
}

impl PendingCallers {
    /// Counts a request whose caller cannot be asked.
    pub(super) fn enter(&self, id: u64, caller: &Arc<str>) -> Joined<'_> {
        self.add(id, caller, None)
    }

    /// Counts a request whose caller can be asked.
    pub(super) fn join(&self, id: u64, caller: &Arc<str>) -> (Joined<'_>, mpsc::Receiver<Question>) {
        let (sender, questions) = mpsc::channel(QUEUE);
        (self.add(id, caller, Some(sender)), questions)
    }

    fn add(&self, id: u64, caller: &Arc<str>, questions: Option<mpsc::Sender<Question>>) -> Joined<'_> {
        self.calls(|calls| {
            calls.insert(id, InFlight { caller: Arc::clone(caller), questions, unanswered: 0 })
        });
        Joined { pending_callers: self, id }
    }

    /// Hands a question to the request that it belongs to, if that is known and its caller can be asked.
    pub(super) fn hand(&self, question: Question) -> Result<(), Question> {
        self.calls(|calls| {
            let candidates = calls.iter().map(|(id, one)| Candidate {
                key: *id,
                caller: &one.caller,
                can_be_asked: one.questions.is_some(),
                unanswered: one.unanswered,
            });
            let asked = meant(candidates).and_then(|id| calls.get_mut(&id));
            let Some(InFlight { questions: Some(sender), unanswered, .. }) = asked else {
                return Err(question);
            };
            sender.try_send(question).map_err(mpsc::error::TrySendError::into_inner)?;
            *unanswered += 1;
            Ok(())
        })
    }

    fn calls<T>(&self, read: impl FnOnce(&mut HashMap<u64, InFlight>) -> T) -> T {
        read(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Joined<'_> {
    /// Says that a question was answered.
    pub(super) fn answered(&self) {
        self.pending_callers.calls(|calls| calls.get_mut(&self.id).map(|one| one.unanswered -= 1));
    }
}

impl Drop for Joined<'_> {
    fn drop(&mut self) {
        self.pending_callers.calls(|calls| calls.remove(&self.id));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Which of these requests is asked: the name of the caller, whether it can be asked, and how many answers it owes.
    fn check(in_flight: &[(&str, bool, usize)], expect: Option<usize>) {
        let callers: Vec<Arc<str>> = in_flight.iter().map(|(caller, ..)| (*caller).into()).collect();
        let candidates = in_flight.iter().zip(&callers).enumerate().map(
            |(key, ((_, can_be_asked, unanswered), caller))| Candidate {
                key,
                caller,
                can_be_asked: *can_be_asked,
                unanswered: *unanswered,
            },
        );
        assert_eq!(meant(candidates), expect, "{in_flight:?}");
    }

    #[test]
    fn a_question_never_reaches_one_of_several_callers() {
        check(&[("alice", true, 0)], Some(0));
        check(&[("alice", false, 0)], None);
        check(&[("alice", true, 0), ("bob", false, 0)], None);
        check(&[("alice", true, 1), ("bob", true, 0)], None);
    }

    #[test]
    fn of_the_requests_of_one_caller_the_one_is_asked_that_waits_for_the_fewest_answers() {
        check(&[("alice", true, 0), ("alice", true, 1), ("alice", false, 0)], Some(0));
        check(&[("alice", true, 1), ("alice", true, 0)], Some(1));
        check(&[("alice", true, 0), ("alice", true, 0)], None);
        check(&[("alice", true, 2), ("alice", true, 2), ("alice", true, 1)], Some(2));
    }
}
