//! What became of every id: the answers its client got, against how often its tool ran.

use std::collections::{BTreeMap, HashMap};
use std::sync::Mutex;

use super::answer::Answer;

/// How often each id ran, as counted by the tool itself.
pub(crate) type Runs = HashMap<String, u32>;

#[derive(Default)]
pub(crate) struct Ledger {
    ids: Mutex<HashMap<String, Entry>>,
}

#[derive(Default)]
struct Entry {
    /// Every answer in order; more than one when the id was sent again.
    answers: Vec<Answer>,
}

/// Numbers of ids, unless said otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) sent: u64,
    /// Whose last answer is good.
    pub(crate) good: u64,
    /// Whose last answer is a refusal.
    pub(crate) refused: u64,
    /// Whose last answer says "may have run".
    pub(crate) may_have_run: u64,
    /// Whose last answer says that the tool ran and failed.
    pub(crate) failed: u64,
    /// Whose last request was never answered.
    pub(crate) unanswered: u64,
    /// Answered as good although the tool did not run, or accepted as a task that is gone.
    pub(crate) lost: u64,
    /// Ran more than once.
    pub(crate) doubled: u64,
    /// Refused by every answer although the tool ran.
    pub(crate) untrue: u64,
    /// Messages of answers that were not good, with how often each was seen.
    pub(crate) reasons: BTreeMap<String, u64>,
}

impl Ledger {
    pub(crate) fn answered(&self, id: &str, answer: Answer) {
        let mut ids = self.ids.lock().expect("no holder of this lock panics");
        ids.entry(id.to_owned()).or_default().answers.push(answer);
    }

    /// The ids whose last answer is good.
    pub(crate) fn good(&self) -> Vec<String> {
        let ids = self.ids.lock().expect("no holder of this lock panics");
        let good = ids.iter().filter(|(_, entry)| matches!(entry.answers.last(), Some(Answer::Good)));
        good.map(|(id, _)| id.clone()).collect()
    }

    pub(crate) fn count(&self, runs: &Runs) -> Counts {
        let ids = self.ids.lock().expect("no holder of this lock panics");
        let mut counts = Counts::default();
        for (id, entry) in ids.iter() {
            counts.add(entry, runs.get(id).copied().unwrap_or(0));
        }
        counts
    }
}

impl Counts {
    fn add(&mut self, entry: &Entry, runs: u32) {
        self.sent += 1;
        match entry.answers.last() {
            Some(Answer::Good) => self.good += 1,
            Some(Answer::Refused(_)) => self.refused += 1,
            Some(Answer::MayHaveRun) => self.may_have_run += 1,
            Some(Answer::Failed(_)) => self.failed += 1,
            Some(Answer::Gone(_)) => {}
            Some(Answer::Unanswered(_)) | None => self.unanswered += 1,
        }
        let any = |wanted: fn(&Answer) -> bool| entry.answers.iter().any(wanted);
        let gone = any(|answer| matches!(answer, Answer::Gone(_)));
        self.lost += u64::from(gone || (runs == 0 && any(|answer| matches!(answer, Answer::Good))));
        self.doubled += u64::from(runs > 1);
        let refused = |answer: &Answer| matches!(answer, Answer::Refused(_));
        self.untrue += u64::from(runs > 0 && !entry.answers.is_empty() && entry.answers.iter().all(refused));
        for reason in entry.answers.iter().filter_map(Answer::reason) {
            *self.reasons.entry(without_numbers(reason)).or_default() += 1;
        }
    }

    /// Of tools that may be tried again: more than one run is no fault.
    pub(crate) fn repeatable(self) -> Self {
        Self { doubled: 0, ..self }
    }

    pub(crate) fn plus(mut self, other: Self) -> Self {
        self.sent += other.sent;
        self.good += other.good;
        self.refused += other.refused;
        self.may_have_run += other.may_have_run;
        self.failed += other.failed;
        self.unanswered += other.unanswered;
        self.lost += other.lost;
        self.doubled += other.doubled;
        self.untrue += other.untrue;
        for (reason, count) in other.reasons {
            *self.reasons.entry(reason).or_default() += count;
        }
        self
    }

    /// The promises that hold in every scenario.
    pub(crate) fn broken_promises(&self) -> Vec<String> {
        let named = [
            (self.lost, "lost"),
            (self.doubled, "ran more than once"),
            (self.untrue, "refused although they ran"),
        ];
        let broken = named.iter().filter(|(count, _)| *count > 0);
        broken.map(|(count, what)| format!("{count} ids {what}")).collect()
    }
}

/// `after 4679 ms` is `after N ms`, so that one reason is counted as one; a status at the start stays.
fn without_numbers(reason: &str) -> String {
    let mut words = reason.split(' ');
    let first = words.next().unwrap_or_default().to_owned();
    let number = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    words.fold(first, |text, word| format!("{text} {}", if number(word) { "N" } else { word }))
}

#[cfg(test)]
mod tests {
    use super::{Answer, Counts, Ledger, Runs};

    fn check(answers: &[Answer], runs: u32, expect: Counts) {
        let ledger = Ledger::default();
        for answer in answers {
            ledger.answered("a", answer.clone());
        }
        let mut counts = ledger.count(&Runs::from([("a".to_owned(), runs)]));
        counts.reasons.clear();
        assert_eq!(counts, Counts { sent: 1, ..expect }, "{answers:?} and {runs} runs");
    }

    #[test]
    fn reasons_are_counted_without_their_numbers() {
        assert_eq!(super::without_numbers("400 Busy; try after 467 ms"), "400 Busy; try after N ms");
    }

    fn refused() -> Answer {
        Answer::Refused("Busy".to_owned())
    }

    #[test]
    fn good_means_that_it_ran_once() {
        check(&[Answer::Good], 1, Counts { good: 1, ..Counts::default() });
        check(&[Answer::Good], 0, Counts { good: 1, lost: 1, ..Counts::default() });
        check(&[Answer::Good, Answer::Good], 2, Counts { good: 1, doubled: 1, ..Counts::default() });
    }

    #[test]
    fn a_refusal_is_untrue_when_no_other_answer_explains_the_run() {
        check(&[refused()], 0, Counts { refused: 1, ..Counts::default() });
        check(&[refused()], 1, Counts { refused: 1, untrue: 1, ..Counts::default() });
        check(&[refused(), Answer::Good], 1, Counts { good: 1, ..Counts::default() });
        check(&[Answer::Unanswered(String::new()), refused()], 1, Counts { refused: 1, ..Counts::default() });
    }

    #[test]
    fn a_task_that_is_gone_is_lost() {
        check(&[Answer::Gone("no task".to_owned())], 1, Counts { lost: 1, ..Counts::default() });
        check(&[Answer::MayHaveRun], 0, Counts { may_have_run: 1, ..Counts::default() });
    }
}
