//! What one scenario gives: its row, the promises it broke, and the table of all rows.

use std::time::Duration;

use super::Scenario;
use super::ledger::Counts;
use super::place::Size;

/// Filled by the scenario.
#[derive(Default)]
pub(crate) struct Report {
    pub(crate) load: String,
    pub(crate) faults: String,
    pub(crate) counts: Counts,
    pub(crate) notes: Vec<String>,
    pub(crate) leaks: String,
    broken: Vec<String>,
}

pub(crate) enum Ended {
    Reported(Report),
    /// The scenario could not be carried out to its end.
    Stopped(String),
    Skipped(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Passed,
    Failed,
    Skipped,
}

impl Report {
    pub(crate) fn new(load: impl Into<String>, faults: impl Into<String>) -> Self {
        Self { load: load.into(), faults: faults.into(), leaks: "-".to_owned(), ..Self::default() }
    }

    pub(crate) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// A promise of this scenario alone.
    pub(crate) fn demand(&mut self, kept: bool, broken: impl Into<String>) {
        if !kept {
            self.broken.push(broken.into());
        }
    }

    /// Every id must have been answered as good.
    pub(crate) fn demand_all_good(&mut self) {
        let bad = self.counts.sent - self.counts.good;
        self.demand(bad == 0, format!("{bad} calls were not answered as good"));
    }

    fn broken(&self) -> Vec<String> {
        let idle = (self.counts.sent == 0).then(|| "nothing was sent".to_owned());
        [idle.into_iter().collect(), self.counts.broken_promises(), self.broken.clone()].concat()
    }
}

impl Ended {
    pub(crate) fn verdict(&self) -> Verdict {
        match self {
            Self::Skipped(_) => Verdict::Skipped,
            Self::Reported(report) if report.broken().is_empty() => Verdict::Passed,
            Self::Reported(_) | Self::Stopped(_) => Verdict::Failed,
        }
    }
}

/// What a person reads while the campaign runs.
pub(crate) fn paragraph(scenario: &Scenario, ended: &Ended, took: Duration) -> String {
    let head = format!("{} after {:.0} s", scenario.name, took.as_secs_f64());
    let report = match ended {
        Ended::Skipped(why) => return format!("{head}: SKIPPED: {why}"),
        Ended::Stopped(why) => return format!("{head}: FAILED: could not be carried out: {why}"),
        Ended::Reported(report) => report,
    };
    let counts = &report.counts;
    let mut lines = vec![
        format!("{head}: {}", if report.broken().is_empty() { "passed" } else { "FAILED" }),
        format!("    load: {}; faults: {}", report.load, report.faults),
        format!("    {}; {}", numbers(counts), rest(counts)),
    ];
    if report.leaks != "-" {
        lines.push(format!("    {}", report.leaks));
    }
    lines.extend(report.notes.iter().map(|note| format!("    {note}")));
    let mut reasons: Vec<_> = counts.reasons.iter().collect();
    reasons.sort_by(|one, other| other.1.cmp(one.1));
    lines.extend(reasons.iter().take(6).map(|(reason, count)| format!("    {count} x {reason}")));
    lines.extend(report.broken().iter().map(|broken| format!("    BROKEN: {broken}")));
    lines.join("\n")
}

/// The table of docs/operations.md.
pub(crate) fn markdown(rows: &[(&Scenario, Ended)], size: Size) -> String {
    let head = "| scenario | load | faults | sent / good | lost, doubled, untrue | notes | verdict |\n|---|---|---|---|---|---|---|";
    let rows = rows.iter().map(|(scenario, ended)| row(scenario, ended, size));
    [head.to_owned()].into_iter().chain(rows).collect::<Vec<_>>().join("\n")
}

fn row(scenario: &Scenario, ended: &Ended, size: Size) -> String {
    let name = match size {
        Size::Short => format!("`{}` (short)", scenario.name),
        Size::Full => format!("`{}`", scenario.name),
    };
    let report = match ended {
        Ended::Skipped(why) => return format!("| {name} | | | | | {why} | skipped |"),
        Ended::Stopped(why) => return format!("| {name} | | | | | {why} | **stopped** |"),
        Ended::Reported(report) => report,
    };
    let counts = &report.counts;
    let mut notes = vec![rest(counts)];
    notes.extend(report.notes.iter().cloned());
    if report.leaks != "-" {
        notes.push(report.leaks.clone());
    }
    notes.retain(|note| !note.is_empty());
    let broken = report.broken();
    let verdict =
        if broken.is_empty() { "kept".to_owned() } else { format!("**broken**: {}", broken.join("; ")) };
    let losses = format!("{}, {}, {}", counts.lost, counts.doubled, counts.untrue);
    let (load, faults) = (&report.load, &report.faults);
    let sent = format!("{} / {}", grouped(counts.sent), grouped(counts.good));
    let notes = notes.join("; ").replace('|', "\\|");
    format!("| {name} | {load} | {faults} | {sent} | {losses} | {notes} | {verdict} |")
}

fn numbers(counts: &Counts) -> String {
    let (sent, good) = (grouped(counts.sent), grouped(counts.good));
    let Counts { lost, doubled, untrue, .. } = counts;
    format!("sent {sent}, good {good}; lost {lost}, doubled {doubled}, untrue {untrue}")
}

/// The ids that were answered otherwise.
fn rest(counts: &Counts) -> String {
    let named = [
        (counts.refused, "refused"),
        (counts.may_have_run, "\"may have run\""),
        (counts.failed, "failed"),
        (counts.unanswered, "unanswered"),
    ];
    let there = named.iter().filter(|(count, _)| *count > 0);
    there.map(|(count, what)| format!("{} {what}", grouped(*count))).collect::<Vec<_>>().join(", ")
}

/// `12345` is `12,345`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let first = digits.len() % 3;
    let groups = digits.as_bytes()[first..].chunks(3).map(String::from_utf8_lossy);
    let start = (first > 0).then(|| digits[..first].into());
    start.into_iter().chain(groups).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::{Ended, Report, Verdict, grouped};
    use crate::chaos::ledger::Counts;

    #[test]
    fn thousands_are_grouped() {
        let all = [0, 12, 123, 1_234, 1_234_567].map(grouped);
        assert_eq!(all, ["0", "12", "123", "1,234", "1,234,567"]);
    }

    #[test]
    fn a_broken_promise_fails_the_scenario() {
        let check = |counts: Counts, expect| {
            let report = Report { counts, ..Report::new("1 client", "none") };
            assert_eq!(Ended::Reported(report).verdict(), expect);
        };
        check(Counts { sent: 2, good: 2, ..Counts::default() }, Verdict::Passed);
        check(Counts { sent: 2, refused: 2, ..Counts::default() }, Verdict::Passed);
        check(Counts { sent: 2, lost: 1, ..Counts::default() }, Verdict::Failed);
        check(Counts { sent: 2, doubled: 1, ..Counts::default() }, Verdict::Failed);
        check(Counts { sent: 2, untrue: 1, ..Counts::default() }, Verdict::Failed);
        check(Counts::default(), Verdict::Failed);
        assert_eq!(Ended::Skipped("no root".to_owned()).verdict(), Verdict::Skipped);
    }
}
