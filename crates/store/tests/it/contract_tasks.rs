//! What every store must do with tasks.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use toolmux_core::json_text::raw_of;
use toolmux_core::outcome::{Outcome, Output, Retry, ToolError};
use toolmux_core::ports::store::{CallCounts, NewTask, Retention, Store, Submitted, TaskCounts, frees_key};
use toolmux_core::progress::Update;
use toolmux_core::task::{TaskChange, TaskId, TaskStatus};
use toolmux_core::tool::Passthrough;

use crate::contract::{Fact, next_millisecond};
use crate::contract_calls::{check as check_call, key, returned};
use crate::facts;

pub(crate) const FACTS: &[(&str, Fact)] = facts![
    a_task_goes_from_pending_to_its_end,
    a_task_is_submitted_and_started_at_once,
    a_task_is_claimed_once,
    callers_are_claimed_in_turn,
    a_cancelled_task_stays_cancelled,
    the_same_key_is_the_same_task,
    calls_and_tasks_share_their_keys,
    a_key_is_free_again_after_its_task,
    a_question_is_read_back_as_one,
    a_returned_task_waits_before_it_is_claimed_again,
    what_a_tool_tells_is_numbered_and_resumed,
    ended_tasks_are_kept_as_long_as_asked,
    ended_tasks_are_pruned_by_age_and_count,
    tasks_are_listed_newest_first,
    every_change_is_notified,
];

pub(crate) fn new(caller: &str) -> NewTask {
    NewTask {
        id: TaskId::random(),
        caller: caller.into(),
        tool: "Math_add".into(),
        request: r#"{"a":1}"#.into(),
        repeatable: false,
        portable: true,
        key: None,
        keep: Duration::from_mins(5),
    }
}

async fn submit(store: &Arc<dyn Store>, caller: &str) -> TaskId {
    let task = new(caller);
    assert_eq!(store.task_submit(&task).await.unwrap(), Submitted::Fresh);
    task.id
}

fn update_text(update: &Update) -> String {
    let value = match update {
        Update::Progress { done, total, message } => {
            json!({ "progress": { "done": done, "total": total, "message": message } })
        }
        Update::Data(data) => json!({ "data": data }),
        Update::Log { level, data } => json!({ "log": { "level": level, "data": data } }),
    };
    value.to_string()
}

/// The events of a task after one, in short words.
pub(crate) async fn events(store: &Arc<dyn Store>, id: &TaskId, after: u64) -> Vec<String> {
    let found = store.task_find(id, after).await.unwrap().expect("the task is known");
    let mut last = after;
    let word = |change: &TaskChange| match change {
        TaskChange::Status(status) => status.as_str().to_owned(),
        TaskChange::Update(update) => update_text(update),
        TaskChange::Ended(status, outcome) => {
            format!(
                "{} {}",
                status.as_str(),
                outcome.as_ref().map_or_else(String::new, crate::contract_calls::text)
            )
        }
    };
    found
        .events
        .iter()
        .map(|event| {
            assert!(event.seq > last, "{:?}", found.events);
            last = event.seq;
            word(&event.change)
        })
        .collect()
}

async fn check(store: &Arc<dyn Store>, id: &TaskId, expect: &[&str]) {
    assert_eq!(events(store, id, 0).await, expect);
}

async fn a_task_goes_from_pending_to_its_end(store: Arc<dyn Store>) {
    let id = submit(&store, "alice").await;
    check(&store, &id, &["pending"]).await;
    assert!(!store.task_is_ours(&id).await.unwrap());
    assert!(store.task_start(&id).await.unwrap());
    assert!(!store.task_start(&id).await.unwrap());
    assert!(store.task_is_ours(&id).await.unwrap());
    check(&store, &id, &["pending", "running"]).await;
    assert!(store.task_finish(&id, &returned(3)).await.unwrap());
    assert!(!store.task_finish(&id, &returned(4)).await.unwrap());
    check(&store, &id, &["pending", "running", r#"completed {"returned":{"value":3}}"#]).await;
    let failed = submit(&store, "alice").await;
    store.task_start(&failed).await.unwrap();
    store.task_finish(&failed, &Outcome::Failed(ToolError::new("no"))).await.unwrap();
    let found = store.task_find(&failed, 0).await.unwrap().unwrap();
    assert_eq!(
        (found.task.status.as_str(), &*found.caller, &*found.task.tool),
        ("failed", "alice", "Math_add")
    );
    assert_eq!(store.status().await.unwrap().tasks, TaskCounts { pending: 0, running: 0, ended: 2 });
    assert!(store.task_find(&TaskId::new("nobody"), 0).await.unwrap().is_none());
}

async fn begin(store: &Arc<dyn Store>, task: &NewTask) -> (Submitted, bool) {
    let (submitted, started) = tokio::join!(store.task_submit(task), store.task_start(&task.id));
    (submitted.unwrap(), started.unwrap())
}

async fn a_task_is_submitted_and_started_at_once(store: Arc<dyn Store>) {
    let keyed = || NewTask { key: Some((key("k"), [1; 32])), ..new("alice") };
    let first = keyed();
    assert_eq!(begin(&store, &first).await, (Submitted::Fresh, true));
    check(&store, &first.id, &["pending", "running"]).await;
    assert_eq!(events(&store, &first.id, 1).await, ["running"]);
    assert!(store.task_is_ours(&first.id).await.unwrap());
    assert_eq!(begin(&store, &keyed()).await, (Submitted::Known(first.id.clone()), false));
    let other = NewTask { key: Some((key("k"), [2; 32])), ..new("alice") };
    assert_eq!(begin(&store, &other).await, (Submitted::Conflict, false));
    assert!(store.task_claim(9).await.unwrap().is_empty());
    let told = Update::Log { level: "info".to_owned(), data: raw_of(&1.into()) };
    store.task_tell(&first.id, &told).await.unwrap();
    assert!(store.task_finish(&first.id, &returned(3)).await.unwrap());
    assert_eq!(events(&store, &first.id, 0).await.len(), 4);
    let many = (0..100).map(|_| {
        let store = Arc::clone(&store);
        tokio::spawn(async move { begin(&store, &new("alice")).await })
    });
    for begun in many.collect::<Vec<_>>() {
        assert_eq!(begun.await.unwrap(), (Submitted::Fresh, true));
    }
    assert_eq!(store.status().await.unwrap().tasks, TaskCounts { pending: 0, running: 100, ended: 1 });
}

async fn a_task_is_claimed_once(store: Arc<dyn Store>) {
    for _ in 0..20 {
        submit(&store, "alice").await;
    }
    let claimers = (0..8).map(|_| {
        let store = Arc::clone(&store);
        tokio::spawn(async move { store.task_claim(5).await.unwrap() })
    });
    let mut claimed: Vec<TaskId> = Vec::new();
    for claimer in claimers.collect::<Vec<_>>() {
        claimed.extend(claimer.await.unwrap().into_iter().map(|task| task.id));
    }
    claimed.extend(store.task_claim(100).await.unwrap().into_iter().map(|task| task.id));
    assert_eq!(claimed.len(), 20);
    claimed.sort();
    claimed.dedup();
    assert_eq!(claimed.len(), 20);
}

async fn callers_are_claimed_in_turn(store: Arc<dyn Store>) {
    for _ in 0..6 {
        submit(&store, "greedy").await;
    }
    let modest = submit(&store, "modest").await;
    let claimed = store.task_claim(2).await.unwrap();
    assert!(claimed.iter().any(|task| task.id == modest), "one of each");
    let late = submit(&store, "late").await;
    let claimed = store.task_claim(1).await.unwrap();
    assert_eq!(claimed[0].id, late, "who has none running comes first");
    assert_eq!(claimed[0].request, r#"{"a":1}"#);
    assert_eq!(store.task_backlog("greedy").await.unwrap().pending, 5);
}

async fn a_cancelled_task_stays_cancelled(store: Arc<dyn Store>) {
    let (pending, running) = (submit(&store, "alice").await, submit(&store, "alice").await);
    store.task_start(&running).await.unwrap();
    for id in [&pending, &running] {
        assert!(store.task_cancel(id).await.unwrap());
        assert!(!store.task_cancel(id).await.unwrap());
    }
    assert!(!store.task_start(&pending).await.unwrap());
    assert!(!store.task_finish(&running, &returned(1)).await.unwrap());
    assert!(!store.task_is_ours(&running).await.unwrap());
    check(&store, &pending, &["pending", "cancelled "]).await;
    check(&store, &running, &["pending", "running", "cancelled "]).await;
    assert!(store.task_claim(9).await.unwrap().is_empty());
}

async fn the_same_key_is_the_same_task(store: Arc<dyn Store>) {
    let keyed = |digest: u8| NewTask { key: Some((key("k"), [digest; 32])), ..new("alice") };
    let first = keyed(1);
    assert_eq!(store.task_submit(&first).await.unwrap(), Submitted::Fresh);
    assert_eq!(store.task_submit(&keyed(1)).await.unwrap(), Submitted::Known(first.id));
    assert_eq!(store.task_submit(&keyed(2)).await.unwrap(), Submitted::Conflict);
}

async fn calls_and_tasks_share_their_keys(store: Arc<dyn Store>) {
    let keyed = |id: &str, digest: u8| NewTask { key: Some((key(id), [digest; 32])), ..new("alice") };
    let task = keyed("k", 1);
    assert_eq!(store.task_submit(&task).await.unwrap(), Submitted::Fresh);
    check_call(&store, "k", 1, "task").await;
    check_call(&store, "k", 2, "conflict").await;
    assert!(store.task_start(&task.id).await.unwrap());
    assert!(store.task_finish(&task.id, &returned(1)).await.unwrap());
    check_call(&store, "k", 1, "task").await;
    check_call(&store, "called", 1, "fresh").await;
    for _ in 0..2 {
        assert_eq!(store.task_submit(&keyed("called", 1)).await.unwrap(), Submitted::Called);
        assert_eq!(store.task_submit(&keyed("called", 2)).await.unwrap(), Submitted::Conflict);
        store.call_finish(&key("called"), &returned(1)).await.unwrap();
    }
    let failing = keyed("again", 1);
    assert_eq!(store.task_submit(&failing).await.unwrap(), Submitted::Fresh);
    store.task_start(&failing.id).await.unwrap();
    let retry = Outcome::Failed(ToolError::new("later").retry(Retry::Now));
    store.task_finish(&failing.id, &retry).await.unwrap();
    check_call(&store, "again", 2, "fresh").await;
    assert_eq!(store.status().await.unwrap().calls, CallCounts { all: 2, running: 1 });
}

async fn a_key_is_free_again_after_its_task(store: Arc<dyn Store>) {
    let retry = Outcome::Failed(ToolError::new("later").retry(Retry::Now));
    let never = Outcome::Failed(ToolError::new("no"));
    let (short, long) = (Duration::ZERO, Duration::from_mins(5));
    let cases = [(short, returned(1), true), (long, retry, true), (long, never, false)];
    for (index, (keep, outcome, expect)) in cases.into_iter().enumerate() {
        let keyed = || NewTask { key: Some((key(&format!("k{index}")), [1; 32])), keep, ..new("alice") };
        for round in 0..2 {
            let task = keyed();
            let submitted = store.task_submit(&task).await.unwrap();
            assert_eq!(submitted == Submitted::Fresh, round == 0 || expect, "{index} {round}");
            if submitted == Submitted::Fresh {
                assert!(store.task_start(&task.id).await.unwrap());
                assert!(store.task_finish(&task.id, &outcome).await.unwrap());
            }
            next_millisecond().await;
        }
    }
}

/// Whether an outcome gave its key back is asked again after it was read, by calls that wait for the task of that key.
async fn a_question_is_read_back_as_one(store: Arc<dyn Store>) {
    let id = submit(&store, "alice").await;
    assert!(store.task_start(&id).await.unwrap());
    let extra = Passthrough::asking("mcp", raw_of(&"Which city?".into()));
    let question = Outcome::Returned(Output { extra, ..Output::of(&1).unwrap() });
    assert!(store.task_finish(&id, &question).await.unwrap());
    let found = store.task_find(&id, 0).await.unwrap().expect("the task is known");
    assert!(found.task.outcome.is_some_and(|outcome| frees_key(&outcome)), "the task itself");
    let last = found.events.last().map(|event| &event.change);
    let Some(TaskChange::Ended(_, Some(outcome))) = last else { panic!("{:?}", found.events) };
    assert!(frees_key(outcome), "the event of its end");
}

async fn a_returned_task_waits_before_it_is_claimed_again(store: Arc<dyn Store>) {
    let id = submit(&store, "alice").await;
    store.task_start(&id).await.unwrap();
    store.task_return(&id, Duration::MAX).await.unwrap();
    assert!(store.task_claim(9).await.unwrap().is_empty());
    check(&store, &id, &["pending", "running", "pending"]).await;
    assert!(store.task_start(&id).await.unwrap());
    assert_eq!(events(&store, &id, 3).await, ["running"]);
    store.task_return(&id, Duration::ZERO).await.unwrap();
    assert_eq!(store.task_claim(9).await.unwrap().len(), 1);
}

async fn what_a_tool_tells_is_numbered_and_resumed(store: Arc<dyn Store>) {
    let id = submit(&store, "alice").await;
    store.task_start(&id).await.unwrap();
    for done in [1.0, 2.0] {
        store.task_tell(&id, &Update::Progress { done, total: None, message: None }).await.unwrap();
    }
    store.task_finish(&id, &returned(3)).await.unwrap();
    let all = events(&store, &id, 0).await;
    assert_eq!(all.len(), 5, "{all:?}");
    assert_eq!(all[2], r#"{"progress":{"done":1.0,"total":null,"message":null}}"#);
    assert_eq!(events(&store, &id, 3).await, all[3..]);
    assert!(events(&store, &id, 5).await.is_empty());
    store.task_tell(&id, &Update::Progress { done: 9.0, total: None, message: None }).await.unwrap();
    assert_eq!(events(&store, &id, 0).await.len(), 5, "nothing comes after the end");
}

async fn ended_tasks_are_kept_as_long_as_asked(store: Arc<dyn Store>) {
    let short = NewTask { keep: Duration::ZERO, ..new("alice") };
    store.task_submit(&short).await.unwrap();
    let long = submit(&store, "alice").await;
    for id in [&short.id, &long] {
        store.task_start(id).await.unwrap();
        store.task_finish(id, &returned(1)).await.unwrap();
    }
    assert!(store.task_find(&short.id, 0).await.unwrap().is_none());
    assert!(store.task_find(&long, 0).await.unwrap().is_some());
    assert_eq!(store.prune(&Retention::default()).await.unwrap().tasks, 1);
}

async fn ended_tasks_are_pruned_by_age_and_count(store: Arc<dyn Store>) {
    let mut ids = Vec::new();
    for _ in 0..3 {
        let id = submit(&store, "alice").await;
        store.task_start(&id).await.unwrap();
        store.task_finish(&id, &returned(1)).await.unwrap();
        next_millisecond().await;
        ids.push(id);
    }
    let waiting = submit(&store, "alice").await;
    let by_count = Retention { tasks: 2, caller_share: 100, ..Retention::default() };
    assert_eq!(store.prune(&by_count).await.unwrap().tasks, 1);
    assert!(store.task_find(&ids[0], 0).await.unwrap().is_none());
    assert!(store.task_find(&ids[1], 0).await.unwrap().is_some());
    let by_age = Retention { tasks_for: Duration::ZERO, ..Retention::default() };
    assert_eq!(store.prune(&by_age).await.unwrap().tasks, 2);
    assert!(store.task_find(&waiting, 0).await.unwrap().is_some());
}

async fn tasks_are_listed_newest_first(store: Arc<dyn Store>) {
    let mut ids = Vec::new();
    for _ in 0..3 {
        ids.insert(0, submit(&store, "alice").await);
        next_millisecond().await;
    }
    let bobs = submit(&store, "bob").await;
    let list = async |before: Option<&TaskId>, most| -> Vec<TaskId> {
        let tasks = store.task_list("alice", before, most).await.unwrap();
        tasks.into_iter().map(|task| task.id).collect()
    };
    assert_eq!(list(None, 9).await, ids);
    assert_eq!(list(None, 2).await, ids[..2]);
    assert_eq!(list(Some(&ids[0]), 9).await, ids[1..]);
    assert!(list(Some(&TaskId::new("nobody's")), 9).await.is_empty());
    assert!(list(Some(&bobs), 9).await.is_empty());
    // Operators see those of every caller.
    let all = async |status, most| -> Vec<(String, TaskId)> {
        let tasks = store.task_list_all(status, most).await.unwrap();
        tasks.into_iter().map(|found| (found.caller, found.task.id)).collect()
    };
    let listed = all(None, 9).await;
    assert_eq!(listed.len(), 4);
    assert!(listed.contains(&("bob".to_owned(), bobs.clone())));
    assert_eq!(all(None, 1).await.len(), 1);
    store.task_start(&bobs).await.unwrap();
    assert_eq!(all(Some(TaskStatus::Running), 9).await, [("bob".to_owned(), bobs)]);
}

async fn every_change_is_notified(store: Arc<dyn Store>) {
    let mut work = store.work_notifier();
    let id = submit(&store, "alice").await;
    work.changed().await;
    let mut notifier = store.task_notifier(&id);
    store.task_start(&id).await.unwrap();
    notifier.changed().await;
    store.task_tell(&id, &Update::Progress { done: 1.0, total: None, message: None }).await.unwrap();
    notifier.changed().await;
    store.task_cancel(&id).await.unwrap();
    notifier.changed().await;
}
