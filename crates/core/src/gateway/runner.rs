//! Runs tasks: as many at a time as allowed, callers in turn, every one to an end that is recorded.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};

use super::Gateway;
use super::dispatch::dispatch;
use super::questions::TaskQuestions;
use super::record::{record, recorded_as};
use super::tasks::KeptRequest;
use crate::call::Call;
use crate::limits::Limits;
use crate::outcome::{Content, Outcome, ToolError};
use crate::ports::store::{ClaimedTask, Listener, StoreError};
use crate::progress::Progress;
use crate::refusal::Refusal;
use crate::task::{TaskId, refused};

/// How often waiting tasks are looked for although nothing was notified.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// The pause before a store that was away is asked again; it doubles.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// The longest such pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// How long a task waits before its tool is looked for again.
const TOOL_PAUSE: Duration = Duration::from_secs(2);
/// How long slots gather before waiting tasks are claimed for them, when few are free: claiming one by one
/// would look through the whole backlog for each.
const GATHER: Duration = Duration::from_millis(10);

/// Where the credentials of a task are kept.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CredentialsIn {
    /// In our memory only.
    Here,
    /// It has none of its own.
    Anywhere,
}

/// Room for a task that is just being accepted.
pub(super) struct TaskSlot {
    pub(super) slot: OwnedSemaphorePermit,
    /// Notifies for whatever happens to it.
    pub(super) notifier: Listener,
}

/// Whether a task that was just accepted is ours to run.
pub(super) type Started = Result<bool, StoreError>;

/// What runs here.
pub(super) struct Runner {
    slots: Arc<Semaphore>,
    most: usize,
    freed: Notify,
    /// Calls whose credentials are kept nowhere else, until their turn comes.
    held: Mutex<HashMap<TaskId, Call>>,
    /// What tools of tasks that run here ask.
    pub(super) questions: TaskQuestions,
    started: OnceLock<()>,
    /// Tasks wait in the store for their turn; new ones go behind them.
    waiting: AtomicBool,
}

impl Runner {
    pub(super) fn new(limits: &Limits) -> Self {
        let most = limits.task_concurrency.clamp(1, Semaphore::MAX_PERMITS);
        Runner {
            slots: Arc::new(Semaphore::new(most)),
            most,
            freed: Notify::new(),
            held: Mutex::default(),
            questions: TaskQuestions::default(),
            started: OnceLock::new(),
            waiting: AtomicBool::new(false),
        }
    }

    /// A slot for a task that is just being accepted; none while others wait, which were there first.
    pub(super) fn slot(&self) -> Option<OwnedSemaphorePermit> {
        if self.waiting.load(Ordering::SeqCst) { None } else { self.free_slot() }
    }

    fn free_slot(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.slots).try_acquire_owned().ok()
    }

    fn free_slots(&self) -> Vec<OwnedSemaphorePermit> {
        std::iter::from_fn(|| self.free_slot()).collect()
    }

    /// Tells whether tasks wait in the store.
    pub(super) fn set_waiting(&self, waiting: bool) {
        self.waiting.store(waiting, Ordering::SeqCst);
    }

    /// Gives a slot back; whoever waits in the store is looked for.
    fn free(&self, slot: OwnedSemaphorePermit) {
        drop(slot);
        if self.waiting.load(Ordering::SeqCst) {
            self.freed.notify_one();
        }
    }

    pub(super) fn hold(&self, id: &TaskId, call: Call) {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone(), call);
    }

    pub(super) fn held(&self, id: &TaskId) -> Option<Call> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).remove(id)
    }
}

impl Gateway {
    /// Begins to run the tasks that wait in the store, whoever accepted them. Submitting does this too.
    pub fn run_tasks(self: &Arc<Self>) {
        if self.runner.started.set(()).is_ok() {
            let gateway = Arc::clone(self);
            self.tasks.spawn(async move {
                gateway.stop.run_until_cancelled(gateway.take_turns()).await;
            });
        }
    }

    /// Runs a task that was just accepted here.
    pub(super) fn begin_here(
        self: &Arc<Self>,
        id: TaskId,
        started: Started,
        (call, kept): (Call, CredentialsIn),
        mut place: TaskSlot,
    ) {
        let gateway = Arc::clone(self);
        self.tasks.spawn(async move {
            match started {
                Ok(true) => {
                    gateway.runner.held(&id);
                    gateway.run_task((&id, Duration::ZERO), (&call, kept), &mut place.notifier).await;
                }
                // Claimed here in its turn, which needs what is held, or cancelled.
                Ok(false) => {
                    if let Ok(false) = gateway.store.task_is_ours(&id).await {
                        gateway.runner.held(&id);
                    }
                }
                // A store that went away has it claimed again later.
                Err(_) => gateway.runner.set_waiting(true),
            }
            gateway.runner.free(place.slot);
        });
    }

    async fn take_turns(self: &Arc<Self>) {
        // After a start, tools appear only once their sources have been heard of.
        self.settled(self.settings.load().limits.list_timeout).await;
        let mut notifier = self.store.work_notifier();
        loop {
            self.claim().await;
            tokio::select! {
                () = notifier.changed() => {}
                () = self.runner.freed.notified() => {}
                () = sleep(LOOK_AGAIN) => {}
                // What waits is for others, or for the next start.
                () = self.closing() => return,
            }
        }
    }

    /// Claims a task for each slot that is free.
    async fn claim(self: &Arc<Self>) {
        let runner = &self.runner;
        if (1..runner.most.div_ceil(4)).contains(&runner.slots.available_permits()) {
            sleep(GATHER).await;
        }
        let mut slots = runner.free_slots();
        if slots.is_empty() {
            // Whoever gives one back from here on has us look.
            runner.set_waiting(true);
            slots = runner.free_slots();
        }
        if slots.is_empty() {
            return;
        }
        match self.store.task_claim(slots.len()).await {
            Ok(claimed) => {
                runner.set_waiting(claimed.len() >= slots.len());
                let slots = slots.into_iter().map(Some).chain(std::iter::repeat_with(|| None));
                claimed.into_iter().zip(slots).for_each(|(task, slot)| self.begin_claimed(task, slot));
            }
            Err(error) => {
                tracing::debug!(developer = error.message.developer, "waiting tasks cannot be claimed");
            }
        }
    }

    /// Runs a claimed task, in the slot kept for it; one whose claim had been in doubt waits for a slot.
    fn begin_claimed(self: &Arc<Self>, task: ClaimedTask, slot: Option<OwnedSemaphorePermit>) {
        let gateway = Arc::clone(self);
        self.tasks.spawn(async move {
            let slot = match slot {
                Some(slot) => Ok(slot),
                None => Arc::clone(&gateway.runner.slots).acquire_owned().await,
            };
            let Ok(slot) = slot else { return };
            // The key of its caller may have been removed while the task waited, here or before a restart.
            let call = match gateway.runner.held(&task.id) {
                Some(call) => gateway.readmit_call(call).map(|call| (call, CredentialsIn::Here)),
                None => gateway.rebuilt(&task).await.map(|call| (call, CredentialsIn::Anywhere)),
            };
            match call {
                Ok((call, kept)) => gateway.run_claimed(&task, (&call, kept)).await,
                Err(refusal) => gateway.put_off(&task, &refusal).await,
            }
            gateway.runner.free(slot);
        });
    }

    async fn rebuilt(self: &Arc<Self>, task: &ClaimedTask) -> Result<Call, Refusal> {
        let (caller, request, record) = KeptRequest::read(task)?;
        let call = self.check(0, &self.readmit(&caller)?, request).await?;
        Ok(Call { task: record, ..call })
    }

    /// A tool that is not here now, or not yet, may be soon, or be elsewhere; not for ever.
    async fn put_off(self: &Arc<Self>, task: &ClaimedTask, refusal: &Refusal) {
        match refusal {
            Refusal::UnknownTool { .. } if self.is_patient(task.waited) => {
                self.put_back(&task.id, TOOL_PAUSE).await;
            }
            Refusal::Unavailable { retry_after, .. } if self.is_patient(task.waited) => {
                self.put_back(&task.id, retry_after.unwrap_or(TOOL_PAUSE)).await;
            }
            _ => self.finish(&task.id, &refused(refusal)).await,
        }
    }

    /// When to run a task again whose tool was refused, if that may help: there was no turn, or the source says
    /// when it is there again, as does an open circuit breaker.
    fn pause_after(&self, refusal: &Refusal, waited: Duration) -> Option<Duration> {
        match refusal {
            Refusal::Busy { retry_after, .. } => Some(*retry_after),
            Refusal::Unavailable { retry_after, .. } => retry_after.filter(|_| self.is_patient(waited)),
            _ => None,
        }
    }

    /// Whether a task may wait longer for its tool.
    fn is_patient(&self, waited: Duration) -> bool {
        waited < self.settings.load().limits.task_patience
    }

    async fn run_claimed(self: &Arc<Self>, task: &ClaimedTask, call: (&Call, CredentialsIn)) {
        let mut notifier = self.store.task_notifier(&task.id);
        // Whatever happens from here on notifies; what happened before is seen here.
        if self.is_ours(&task.id).await {
            self.run_task((&task.id, task.waited), call, &mut notifier).await;
        }
    }

    /// Runs a task that is ours; notifications are received since it is.
    async fn run_task(
        self: &Arc<Self>,
        (id, waited): (&TaskId, Duration),
        (call, kept): (&Call, CredentialsIn),
        notifier: &mut Listener,
    ) {
        let answer = tokio::select! {
            // What we ourselves wrote is notified too: a tool that ends at once needs no look.
            biased;
            answer = self.dispatch_told(id, call) => answer,
            // Somebody cancelled it, or took it over because we seemed dead: dropping the call ends it.
            () = self.taken_away(id, notifier) => return,
        };
        match answer {
            Ok(outcome) => self.finish(id, &self.bounded(&outcome)).await,
            Err(refusal) => match self.pause_after(&refusal, waited) {
                Some(pause) => {
                    if kept == CredentialsIn::Here {
                        self.runner.hold(id, call.clone());
                    }
                    self.put_back(id, pause).await;
                }
                None => self.finish(id, &refused(&refusal)).await,
            },
        }
    }

    /// Whether a task is still ours to run. While the store cannot say, the tool must not run.
    async fn is_ours(&self, id: &TaskId) -> bool {
        let mut pause = FIRST_PAUSE;
        loop {
            match self.store.task_is_ours(id).await {
                Ok(ours) => return ours,
                Err(error) => {
                    tracing::debug!(developer = error.message.developer, "a task waits for the record store");
                }
            }
            if timeout(pause, self.stop.cancelled()).await.is_ok() {
                return false;
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    async fn dispatch_told(self: &Arc<Self>, id: &TaskId, call: &Call) -> Result<Outcome, Refusal> {
        let (progress, updates, questions) = if call.request.answers {
            let (progress, updates, questions) = Progress::dialogue();
            (progress, updates, Some(questions))
        } else {
            let (progress, updates) = Progress::channel();
            (progress, updates, None)
        };
        let run = async {
            let answer = match recorded_as(call) {
                None => dispatch(self, call, &progress).await,
                Some(id) => record(self, id, call.clone(), &progress).await,
            };
            drop(progress);
            answer
        };
        tokio::join!(run, self.tell(id, updates), self.runner.questions.keep(id, questions)).0
    }

    async fn taken_away(&self, id: &TaskId, notifier: &mut Listener) {
        loop {
            notifier.changed().await;
            if let Ok(false) = self.store.task_is_ours(id).await {
                return;
            }
        }
    }

    /// What is kept of an outcome: all, or how much too large it was. What only one protocol can say repeats
    /// most of the rest, and is bounded by itself.
    pub(super) fn bounded<'a>(&self, outcome: &'a Outcome) -> Cow<'a, Outcome> {
        let most = self.settings.load().limits.task_result_bytes;
        let blocks = |content: &[Content]| content.iter().map(|c| c.json().get().len()).sum::<usize>();
        let (size, extra) = match outcome {
            Outcome::Returned(output) => (output.value.get().len() + blocks(&output.content), &output.extra),
            Outcome::Failed(error) => (error.message.public.len() + blocks(&error.content), &error.extra),
        };
        let size = size.max(extra.size());
        if size <= most {
            return Cow::Borrowed(outcome);
        }
        let text = format!("The tool ran, but its result of {size} bytes is over the limit of {most} bytes");
        Cow::Owned(Outcome::Failed(ToolError::new(text)))
    }

    async fn finish(&self, id: &TaskId, outcome: &Outcome) {
        self.settle(id, Settled::Ended(outcome)).await;
    }

    async fn put_back(&self, id: &TaskId, pause: Duration) {
        self.settle(id, Settled::PutBack(pause)).await;
    }

    /// Until the store took it. When the server stops first, the rules for dead servers end the task.
    async fn settle(&self, id: &TaskId, settled: Settled<'_>) {
        let mut pause = FIRST_PAUSE;
        loop {
            let written = match settled {
                Settled::Ended(outcome) => self.store.task_finish(id, outcome).await.map(drop),
                Settled::PutBack(pause) => self.store.task_return(id, pause).await,
            };
            let Err(error) = written else { return };
            tracing::debug!(developer = error.message.developer, "the end of a task is not recorded yet");
            if timeout(pause, self.stop.cancelled()).await.is_ok() {
                return;
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}

/// What became of a task that ran here.
#[derive(Clone, Copy)]
enum Settled<'a> {
    Ended(&'a Outcome),
    PutBack(Duration),
}
