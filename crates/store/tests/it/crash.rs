//! Servers killed at random steps, again and again: no accepted task is lost, none that must not run twice
//! does, and everybody who follows one hears its end.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Lines};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::JoinSet;
use tokio::time::timeout;
use toolmux_core::gateway::{Credential, Gateway, Settings};
use toolmux_core::task::{TaskChange, TaskId};
use toolmux_store::open;

use crate::contract::settings;
use crate::postgres_server::PostgresServer;

/// How often a server is killed, on each kind of database.
const ROUNDS: u64 = 100;
/// How many servers live at a time.
const LANES: u64 = 4;
/// The step at which a server is killed at the latest.
const STEPS: u64 = 60;
/// How many tasks a server submits: more than it lives to see.
const TASKS: u64 = 1_000;
/// How long all of it takes at most.
const LONGEST: Duration = Duration::from_mins(3);

/// A server of its own process, killed when dropped.
struct Server {
    process: Child,
    says: Lines<BufReader<ChildStdout>>,
}

impl Server {
    fn start(url: &str, log: &Path, first: u64, most: u64) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_toolmux-store-crash-server"))
            .arg(url)
            .arg(log)
            .args([first.to_string(), most.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let says = BufReader::new(process.stdout.take().unwrap()).lines();
        Server { process, says }
    }

    /// The next step it took; `None` when it is dead.
    fn step(&mut self) -> Option<String> {
        self.says.next().and_then(Result::ok)
    }

    fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// What the threads of one test share.
struct Killing {
    url: String,
    log: PathBuf,
    rounds: AtomicU64,
    killed: AtomicU64,
    accepted: UnboundedSender<TaskId>,
}

impl Killing {
    /// How many were killed in the end.
    fn all(self) -> u64 {
        std::thread::scope(|scope| {
            for _ in 0..LANES {
                scope.spawn(|| self.thread());
            }
        });
        self.killed.into_inner()
    }

    /// Starts a server and kills it at a random step, until there were enough of these.
    fn thread(&self) {
        loop {
            let round = self.rounds.fetch_add(1, Ordering::SeqCst);
            if round >= ROUNDS {
                return;
            }
            let mut server = Server::start(&self.url, &self.log, round * TASKS, TASKS);
            let fatal = uuid::Uuid::new_v4().as_u64_pair().0 % STEPS;
            let lived = (0..fatal).map_while(|_| server.step()).filter(|step| self.note(step)).count();
            assert!(server.process.try_wait().unwrap().is_none(), "the server died by itself");
            server.kill();
            self.killed.fetch_add(1, Ordering::SeqCst);
            // What it had said before it died was said.
            while let Some(step) = server.step() {
                self.note(&step);
            }
            eprintln!("round {round}: killed at step {fatal}, {lived} accepted before");
        }
    }

    /// Whether a step was that a task was accepted.
    fn note(&self, step: &str) -> bool {
        let accepted = step.strip_prefix("accepted ").map(TaskId::new);
        accepted.is_some_and(|id| self.accepted.send(id).is_ok())
    }
}

/// The last word a follower hears. The follower is a server of its own that outlives all others and runs
/// nothing.
async fn last_word(gateway: Arc<Gateway>, id: TaskId) -> String {
    let caller = gateway.admit(Credential::None, None).unwrap();
    let follow = gateway.tasks().follow(&caller, &id, 0).await.unwrap();
    let mut follow = follow.expect("an accepted task is known");
    let mut last = "nothing".to_owned();
    while let Some(event) = follow.next().await.unwrap() {
        last = match event.change {
            TaskChange::Status(status) => status.as_str().to_owned(),
            TaskChange::Update(_) => "an update".to_owned(),
            TaskChange::Ended(status, _) => format!("ended {}", status.as_str()),
        };
    }
    last
}

fn count(words: impl IntoIterator<Item = String>) -> HashMap<String, usize> {
    words.into_iter().fold(HashMap::new(), |mut counts, word| {
        *counts.entry(word).or_default() += 1;
        counts
    })
}

async fn check(url: String) {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("runs");
    let follower = Gateway::new(Settings::default(), open(&url, settings()).await.unwrap());
    let (accepted, mut accepted_ids) = unbounded_channel();
    let killing = Killing {
        url: url.clone(),
        log: log.clone(),
        rounds: AtomicU64::new(0),
        killed: AtomicU64::new(0),
        accepted,
    };
    let killed = tokio::task::spawn_blocking(move || killing.all());
    let mut followers = JoinSet::new();
    while let Some(id) = accepted_ids.recv().await {
        followers.spawn(last_word(Arc::clone(&follower), id));
    }
    assert_eq!(killed.await.unwrap(), ROUNDS);
    // Somebody has to run what the dead left.
    let survivor = Server::start(&url, &log, ROUNDS * TASKS, 0);
    let ends = count(followers.join_all().await);
    drop(survivor);
    follower.close(Duration::from_secs(5)).await;
    let runs = count(std::fs::read_to_string(&log).unwrap_or_default().lines().map(str::to_owned));
    eprintln!("{ends:?}, {} runs", runs.values().sum::<usize>());
    let twice: Vec<_> = runs.iter().filter(|(line, count)| line.starts_with("once") && **count > 1).collect();
    assert!(twice.is_empty(), "ran twice: {twice:?}");
    assert!(ends.contains_key("ended completed"), "{ends:?}");
    assert!(ends.keys().all(|end| end == "ended completed" || end == "ended failed"), "{ends:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn sqlite_survives_servers_being_killed_a_hundred_times() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("records.db").display());
    timeout(LONGEST, check(url)).await.expect("a hundred rounds in time");
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_survives_servers_being_killed_a_hundred_times() {
    let url = PostgresServer::shared().database().await;
    timeout(LONGEST, check(url)).await.expect("a hundred rounds in time");
}
