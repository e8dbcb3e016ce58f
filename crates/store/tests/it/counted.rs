//! Counted numbers: a server of its own process is asked for calls and tasks by number, and everything it
//! acknowledged is held against what ran and what is found after it was killed.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use crate::fault_injector::FaultInjector;

/// Far longer than any answer takes.
const LONGEST: Duration = Duration::from_mins(1);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Call,
    Task,
}

/// What a refusal says about later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// Asked again, it runs as if for the first time.
    NotKept,
    /// The answer to its commit was lost: a task may be kept, and of a call it may be said that it may have run.
    MayBeKept,
}

/// A server of its own process, killed when dropped.
pub(crate) struct CountedServer {
    process: Child,
    asks: ChildStdin,
    says: Receiver<String>,
}

impl CountedServer {
    /// Starts one; with an injector, the files whose paths contain the text can be made to fail.
    pub(crate) fn start(url: &str, log: &Path, faults: Option<(&FaultInjector, &str)>) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_toolmux-store-counted-server"));
        if let Some((injector, files)) = faults {
            command.envs(injector.environment(files));
        }
        command.arg(url).arg(log).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut process = command.spawn().unwrap();
        let (sender, says) = channel();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        std::thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| sender.send(line)));
        let asks = process.stdin.take().unwrap();
        let server = CountedServer { process, asks, says };
        assert_eq!(server.line(), "done", "the server is up");
        server
    }

    fn line(&self) -> String {
        self.says.recv_timeout(LONGEST).expect("the server answers")
    }

    /// What it says to each number, asked `concurrency` at a time, as it comes.
    fn ask(
        &mut self,
        kind: &str,
        numbers: &Range<u64>,
        concurrency: u64,
    ) -> impl Iterator<Item = (u64, String)> {
        let count = numbers.end - numbers.start;
        writeln!(self.asks, "{kind} {} {count} {concurrency}", numbers.start).unwrap();
        let lines = std::iter::from_fn(|| Some(self.line()).filter(|line| line != "done"));
        lines.map(|line| {
            let (number, answer) = line.split_once(' ').unwrap();
            (number.parse().unwrap(), answer.to_owned())
        })
    }
}

impl Drop for CountedServer {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

/// All that was asked, and the server it was asked of.
pub(crate) struct Counted {
    pub(crate) kind: Kind,
    pub(crate) concurrency: u64,
    pub(crate) server: CountedServer,
    log: PathBuf,
    next: u64,
    answers: BTreeMap<u64, String>,
}

impl Counted {
    pub(crate) fn new(kind: Kind, concurrency: u64, server: CountedServer, log: &Path) -> Self {
        Counted { kind, concurrency, server, log: log.to_owned(), next: 0, answers: BTreeMap::new() }
    }

    /// Asks for so many new numbers; how many of them were acknowledged.
    pub(crate) fn ask(&mut self, count: u64) -> u64 {
        self.ask_and(count, count, || {})
    }

    /// The same, and does something when `after` of them were answered.
    pub(crate) fn ask_and(&mut self, count: u64, after: u64, act: impl FnOnce()) -> u64 {
        let numbers = self.next..self.next + count;
        self.next = numbers.end;
        let kind = match self.kind {
            Kind::Call => "call",
            Kind::Task => "task",
        };
        let (mut answers, mut act) = (BTreeMap::new(), Some(act));
        for (number, answer) in self.server.ask(kind, &numbers, self.concurrency) {
            answers.insert(number, answer);
            if let Some(act) = act.take_if(|_| answers.len() as u64 == after) {
                act();
            }
        }
        assert_eq!(answers.len() as u64, count, "every number is answered");
        let good = answers.values().filter(|answer| answer.starts_with("good")).count() as u64;
        self.answers.extend(answers);
        good
    }

    fn runs(&self) -> BTreeMap<u64, u64> {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        log.lines().fold(BTreeMap::new(), |mut runs, line| {
            *runs.entry(line.parse().unwrap()).or_default() += 1;
            runs
        })
    }

    /// Refused means that it did not run, now and later.
    pub(crate) fn nothing_refused_ran(&self) {
        let runs = self.runs();
        let refused = self.answers.iter().filter(|(_, answer)| *answer == "refused");
        let ran: Vec<_> = refused.filter(|(number, _)| runs.contains_key(number)).collect();
        assert!(ran.is_empty(), "refused, but ran: {ran:?}");
    }

    /// Asks a server that was started after the first was killed for the same numbers again.
    pub(crate) fn nothing_is_lost_or_doubled(&mut self, server: CountedServer, refused: Refused) {
        self.server = server;
        if (self.kind, refused) != (Kind::Task, Refused::MayBeKept) {
            self.nothing_refused_ran();
        }
        let kind = match self.kind {
            Kind::Call => "call",
            Kind::Task => "end",
        };
        let again: BTreeMap<u64, String> = self.server.ask(kind, &(0..self.next), self.concurrency).collect();
        let runs = self.runs();
        for (number, first) in &self.answers {
            let (now, runs) = (&again[number], runs.get(number).copied().unwrap_or_default());
            let note = format!("number {number}: first `{first}`, then `{now}`, {runs} runs");
            assert!(runs <= 1, "ran twice, {note}");
            match first.split_once(' ') {
                Some((_, task)) => assert!(now.ends_with(task), "the task is lost, {note}"),
                None if first == "refused" && refused == Refused::MayBeKept => {}
                None if first == "refused" => {
                    assert!(now.starts_with("good") || now.starts_with("completed"), "kept, {note}");
                    assert_eq!(runs, 1, "{note}");
                }
                None => assert_eq!(runs, 1, "{note}"),
            }
        }
    }

    /// The server as it is now, to be killed.
    pub(crate) fn kill(&mut self) {
        self.server.process.kill().unwrap();
        self.server.process.wait().unwrap();
    }
}
