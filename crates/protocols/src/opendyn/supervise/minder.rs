//! One task per worker: it starts the worker when somebody wants it, reads its answers, ends it when a call
//! takes too long, and finds out how it died. Dropping the task ends the worker and all its descendants.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};
use toolmux_dylib_host::frame::{Answer, Crash, Request};

use super::death::Death;
use super::lane::{Answered, Clock, Lane};
use super::worker::{Launch, StartError, Worker};

/// How exactly time limits are kept.
const TICK: Duration = Duration::from_millis(25);
/// How long a worker that hung up may take to end by itself, so that its status can be told.
const LAST_BREATH: Duration = Duration::from_millis(250);
/// How long the kernel may take to bury a killed process.
const BURIAL: Duration = Duration::from_secs(10);
/// Deaths within [`COUNTED`] after which the library is given a rest.
const MOST_DEATHS: usize = 5;
const COUNTED: Duration = Duration::from_mins(1);
const REST: Duration = Duration::from_secs(30);
/// The pause after the first failed start; it doubles.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// How much is read at once.
const READ_AT_ONCE: usize = 1 << 16;

pub(super) struct Minder {
    pub(super) lane: Arc<Lane>,
    pub(super) launch: Arc<Launch>,
    pub(super) idle: Duration,
    /// Functions that make objects: a worker with open objects is not idle.
    pub(super) opens: Arc<[bool]>,
    /// The next worker, loaded before it is needed; ended when this is dropped.
    spare: JoinSet<Result<Worker, StartError>>,
    deaths: VecDeque<Instant>,
    failed_starts: u32,
}

/// Why serving ended.
enum End {
    /// Nobody needs the worker now.
    Idle,
    /// It died while the oldest job ran.
    Died(Death),
    /// It ended itself after a fault that was told.
    Unfit,
}

impl Minder {
    pub(super) fn new(lane: Arc<Lane>, launch: Arc<Launch>, idle: Duration, opens: Arc<[bool]>) -> Self {
        Minder { lane, launch, idle, opens, spare: JoinSet::new(), deaths: VecDeque::new(), failed_starts: 0 }
    }

    pub(super) async fn mind(mut self) {
        while !self.lane.is_closed() {
            if !self.lane.is_wanted() {
                self.lane.wake.notified().await;
                continue;
            }
            match self.worker().await {
                Ok(worker) => self.serve(worker).await,
                Err(error) => self.could_not_start(&error),
            }
        }
    }

    async fn worker(&mut self) -> Result<Worker, StartError> {
        if let Some(Ok(Ok(mut worker))) = self.spare.join_next().await
            && matches!(worker.group.child.try_wait(), Ok(None))
        {
            return Ok(worker);
        }
        self.launch.start().await
    }

    fn could_not_start(&mut self, error: &StartError) {
        let mut reason = format!("The library cannot be loaded: {error}");
        if let Some(cause) = std::error::Error::source(error) {
            reason = format!("{reason}: {cause}");
        }
        let pause = (FIRST_PAUSE * 2_u32.saturating_pow(self.failed_starts)).min(LONGEST_PAUSE);
        self.failed_starts += 1;
        self.lane.rest(&reason.into(), pause);
    }

    async fn serve(&mut self, mut worker: Worker) {
        self.failed_starts = 0;
        // Writability is known only once it was waited for.
        worker.requests.writable().await.ok();
        self.lane.connect(&worker);
        let end = self.exchange(&mut worker).await;
        self.lane.disconnect();
        match end {
            End::Idle => {
                self.spare = JoinSet::new();
                stop(worker).await;
            }
            End::Unfit => {
                bury(worker).await;
                self.count_death();
            }
            End::Died(death) => {
                self.lane.blame(death);
                bury(worker).await;
                self.count_death();
            }
        }
    }

    fn count_death(&mut self) {
        let now = Instant::now();
        self.deaths.push_back(now);
        while self.deaths.front().is_some_and(|death| now - *death > COUNTED) {
            self.deaths.pop_front();
        }
        if self.deaths.len() >= MOST_DEATHS {
            self.deaths.clear();
            let reason =
                format!("The library died {MOST_DEATHS} times within {COUNTED:?} and is given a rest");
            self.lane.rest(&reason.into(), REST);
        }
    }

    async fn exchange(&mut self, worker: &mut Worker) -> End {
        let (lane, opens) = (Arc::clone(&self.lane), Arc::clone(&self.opens));
        let requests = Arc::clone(&worker.requests);
        let mut exchange = Exchange { lane, opens, unread: Vec::new(), crash: None, opened: false };
        let mut next_look = Instant::now() + TICK;
        loop {
            tokio::select! {
                readable = worker.answers.readable() => {
                    if readable.is_err() || exchange.read(worker) == Read::EndOfPipe {
                        return exchange.ended(worker).await;
                    }
                    if let Some(end) = exchange.take_frames() {
                        return end;
                    }
                }
                () = self.lane.wake.notified() => {
                    if self.lane.is_closed() {
                        return End::Idle;
                    }
                    self.lane.flush();
                    next_look = next_look.min(Instant::now() + TICK);
                }
                _ = requests.writable(), if self.lane.has_unsent() => self.lane.flush(),
                () = sleep_until(next_look) => match self.look(&exchange) {
                    Ok(next) => next_look = next,
                    Err(end) => return end,
                },
                status = worker.group.child.wait() => {
                    // What it said before it ended is still in the pipe.
                    while exchange.read(worker) == Read::Some {}
                    let told = exchange.take_frames();
                    return told.unwrap_or_else(|| End::Died(Death::of(status.ok(), exchange.crash)));
                }
            }
        }
    }

    /// Looks at the clock; says when to look again.
    fn look(&mut self, exchange: &Exchange) -> Result<Instant, End> {
        let clock = self.lane.clock();
        self.keep_spare();
        match clock {
            Clock::Expired(limit) => Err(End::Died(Death::TimedOut(limit))),
            Clock::Running => Ok(Instant::now() + TICK),
            Clock::Idle { since } if since.elapsed() >= self.idle && !exchange.opened => Err(End::Idle),
            Clock::Idle { since } => Ok((since + self.idle).max(Instant::now() + TICK)),
        }
    }

    fn keep_spare(&mut self) {
        if self.spare.is_empty() {
            let launch = Arc::clone(&self.launch);
            self.spare.spawn(async move { launch.start().await });
        }
    }
}

/// The answers of one worker.
struct Exchange {
    lane: Arc<Lane>,
    opens: Arc<[bool]>,
    unread: Vec<u8>,
    crash: Option<Crash>,
    /// Whether the library may hold objects of callers.
    opened: bool,
}

/// What reading found.
#[derive(PartialEq)]
enum Read {
    Some,
    NothingNow,
    EndOfPipe,
}

impl Exchange {
    fn read(&mut self, worker: &Worker) -> Read {
        self.unread.reserve(READ_AT_ONCE);
        match worker.answers.try_read_buf(&mut self.unread) {
            Ok(0) => Read::EndOfPipe,
            Ok(_) => Read::Some,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Read::NothingNow,
            Err(_) => Read::EndOfPipe,
        }
    }

    /// Answers whoever waits. Ends the exchange when the worker cannot go on.
    fn take_frames(&mut self) -> Option<End> {
        let unread = std::mem::take(&mut self.unread);
        let mut taken = 0;
        let mut end = None;
        while end.is_none() {
            match Answer::decode(&unread[taken..]) {
                Ok(Some((answer, length))) => {
                    end = self.take(answer);
                    taken += length;
                }
                Ok(None) => break,
                Err(_) => end = Some(broken()),
            }
        }
        self.unread = unread;
        self.unread.drain(..taken);
        end
    }

    fn take(&mut self, answer: Answer<'_>) -> Option<End> {
        match answer {
            Answer::Result { id, values } => {
                let Some(function) = self.lane.answer(id, Answered::Values(values.to_vec())) else {
                    return Some(broken());
                };
                self.opened |= self.opens.get(usize::from(function)) == Some(&true);
                None
            }
            Answer::Fail { id, fault, text } => {
                match self.lane.answer(id, Answered::Fault(fault, text.to_owned())) {
                    Some(_) => fault.ends_worker().then_some(End::Unfit),
                    None => Some(broken()),
                }
            }
            Answer::Crash { crash, .. } => {
                self.crash = Some(crash);
                None
            }
            Answer::Ready { .. } => Some(broken()),
        }
    }

    /// The pipe is closed: how did the process end?
    async fn ended(&self, worker: &mut Worker) -> End {
        let status = timeout(LAST_BREATH, worker.group.child.wait()).await;
        End::Died(Death::of(status.ok().and_then(Result::ok), self.crash))
    }
}

fn broken() -> End {
    End::Died(Death::Broken("broke the connection to the server"))
}

/// Ends a worker in peace.
async fn stop(mut worker: Worker) {
    let mut bytes = Vec::new();
    if Request::Stop.encode(&mut bytes).is_ok() && worker.requests.try_write(&bytes).is_ok() {
        timeout(LAST_BREATH, worker.group.child.wait()).await.ok();
    }
    bury(worker).await;
}

/// Ends a worker and what it left behind, and waits until it is gone.
async fn bury(mut worker: Worker) {
    worker.group.signal(Signal::KILL);
    if timeout(BURIAL, worker.group.child.wait()).await.is_err() {
        tracing::warn!("a killed worker does not end");
    }
}
