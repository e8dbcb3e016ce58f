//! What every store must do so that no caller costs another what is kept for it.

use std::sync::Arc;

use toolmux_core::audit::{AuditAction, AuditRecord};
use toolmux_core::outcome::{Outcome, Output};
use toolmux_core::ports::store::{Backlog, Begun, CallCounts, CallKey, Retention, Store};
use toolmux_core::progress::Update;
use toolmux_core::task::{TaskId, TaskStatus, result_not_kept};

use crate::contract::{Fact, next_millisecond};
use crate::contract_calls::{returned, text};
use crate::contract_tasks::new;
use crate::facts;

pub(crate) const FACTS: &[(&str, Fact)] = facts![
    calls_of_one_caller_do_not_evict_those_of_another,
    results_over_the_bytes_of_a_caller_leave_that_the_tool_ran,
    a_running_call_is_never_evicted,
    tasks_of_one_caller_do_not_evict_those_of_another,
    results_of_tasks_over_the_bytes_leave_that_the_tool_ran,
    refusals_do_not_evict_other_audit_records,
    the_backlog_counts_bytes_until_tasks_end,
];

fn key(caller: &str, id: &str) -> CallKey {
    CallKey { caller: caller.into(), id: id.into() }
}

fn large() -> Outcome {
    Outcome::Returned(Output::of(&"x".repeat(1_000)).unwrap())
}

async fn call(store: &Arc<dyn Store>, caller: &str, id: &str, outcome: &Outcome) {
    assert!(matches!(store.call_begin(&key(caller, id), &[1; 32]).await.unwrap(), Begun::Fresh), "{id}");
    assert!(store.call_finish(&key(caller, id), outcome).await.unwrap());
    next_millisecond().await;
}

/// What a call that comes again is told; nothing when it would run.
async fn again(store: &Arc<dyn Store>, caller: &str, id: &str) -> Option<String> {
    match store.call_begin(&key(caller, id), &[1; 32]).await.unwrap() {
        Begun::Ended(outcome, _) => Some(text(&outcome)),
        Begun::Fresh => None,
        other => panic!("{other:?}"),
    }
}

async fn calls_of_one_caller_do_not_evict_those_of_another(store: Arc<dyn Store>) {
    call(&store, "alice", "first", &returned(1)).await;
    for id in 0..10 {
        call(&store, "mallory", &id.to_string(), &returned(2)).await;
    }
    let few = Retention { calls: 4, ..Retention::default() };
    assert_eq!(store.prune(&few).await.unwrap().calls, 8, "mallory has its half");
    assert_eq!(again(&store, "alice", "first").await, Some(text(&returned(1))));
    assert_eq!(again(&store, "mallory", "9").await, Some(text(&returned(2))));
    assert_eq!(again(&store, "mallory", "0").await, None);
}

async fn results_over_the_bytes_of_a_caller_leave_that_the_tool_ran(store: Arc<dyn Store>) {
    call(&store, "alice", "first", &large()).await;
    for id in 0..10 {
        call(&store, "mallory", &id.to_string(), &large()).await;
    }
    let few = Retention { calls_bytes: Some(6_000), ..Retention::default() };
    assert_eq!(store.prune(&few).await.unwrap().calls, 0, "no record goes");
    assert_eq!(again(&store, "alice", "first").await, Some(text(&large())));
    assert_eq!(again(&store, "mallory", "9").await, Some(text(&large())));
    for id in ["0", "6"] {
        assert_eq!(again(&store, "mallory", id).await, Some(text(&result_not_kept())), "{id}");
        let waited = store.call_wait(&key("mallory", id)).await.unwrap();
        assert_eq!(waited.as_ref().map(text), Some(text(&result_not_kept())));
    }
    assert_eq!(store.status().await.unwrap().calls, CallCounts { all: 11, running: 0 });
}

async fn a_running_call_is_never_evicted(store: Arc<dyn Store>) {
    store.call_begin(&key("mallory", "running"), &[1; 32]).await.unwrap();
    next_millisecond().await;
    for id in 0..3 {
        call(&store, "mallory", &id.to_string(), &large()).await;
    }
    let none = Retention { calls: 0, calls_bytes: Some(1), ..Retention::default() };
    assert_eq!(store.prune(&none).await.unwrap().calls, 3);
    assert!(matches!(store.call_begin(&key("mallory", "running"), &[1; 32]).await.unwrap(), Begun::Running));
}

async fn task(store: &Arc<dyn Store>, caller: &str, outcome: &Outcome) -> TaskId {
    let task = new(caller);
    store.task_submit(&task).await.unwrap();
    store.task_start(&task.id).await.unwrap();
    let told = Update::Log { level: "info".to_owned(), data: serde_json::value::to_raw_value("x").unwrap() };
    store.task_tell(&task.id, &told).await.unwrap();
    assert!(store.task_finish(&task.id, outcome).await.unwrap());
    next_millisecond().await;
    task.id
}

async fn tasks_of_one_caller_do_not_evict_those_of_another(store: Arc<dyn Store>) {
    let first = task(&store, "alice", &returned(1)).await;
    let mut flood = Vec::new();
    for _ in 0..6 {
        flood.push(task(&store, "mallory", &returned(2)).await);
    }
    let few = Retention { tasks: 4, ..Retention::default() };
    assert_eq!(store.prune(&few).await.unwrap().tasks, 4, "mallory has its half");
    for (id, kept) in [(&first, true), (&flood[0], false), (&flood[3], false), (&flood[5], true)] {
        assert_eq!(store.task_find(id, 0).await.unwrap().is_some(), kept);
    }
}

async fn results_of_tasks_over_the_bytes_leave_that_the_tool_ran(store: Arc<dyn Store>) {
    let first = task(&store, "alice", &large()).await;
    let mut flood = Vec::new();
    for _ in 0..6 {
        flood.push(task(&store, "mallory", &large()).await);
    }
    let few = Retention { tasks_bytes: Some(6_000), ..Retention::default() };
    assert_eq!(store.prune(&few).await.unwrap().tasks, 0, "no task goes");
    for (id, kept) in [(&first, true), (&flood[0], false), (&flood[2], false), (&flood[5], true)] {
        let found = store.task_find(id, 0).await.unwrap().unwrap();
        let (status, outcome, events) = if kept {
            (TaskStatus::Completed, large(), 4)
        } else {
            (TaskStatus::Failed, result_not_kept(), 3)
        };
        assert_eq!(found.task.status, status);
        assert_eq!(found.task.outcome.as_ref().map(text), Some(text(&outcome)));
        assert_eq!(found.events.len(), events, "{:?}", found.events);
        assert_eq!(found.events.last().map(|event| event.seq), Some(4));
    }
}

async fn refusals_do_not_evict_other_audit_records(store: Arc<dyn Store>) {
    let record = |caller: &str, action| AuditRecord::now(caller, action, "x");
    store.audit_add(&[record("", AuditAction::ConfigReloaded)]).await.unwrap();
    store.audit_add(&[record("alice", AuditAction::TaskCancelled)]).await.unwrap();
    store.audit_add(&[record("alice", AuditAction::CallRefused)]).await.unwrap();
    for _ in 0..10 {
        store.audit_add(&[record("mallory", AuditAction::CallRefused)]).await.unwrap();
        store.audit_add(&[record("mallory", AuditAction::TaskCancelled)]).await.unwrap();
    }
    let few = Retention { audit: 6, refusals: 4, ..Retention::default() };
    assert_eq!(store.prune(&few).await.unwrap().audit, 15);
    let kept = store.audit_list(99).await.unwrap();
    let count = |caller: &str, action| {
        kept.iter().filter(|record| &*record.caller == caller && record.action == action).count()
    };
    assert_eq!(count("", AuditAction::ConfigReloaded), 1);
    assert_eq!(count("alice", AuditAction::TaskCancelled), 1);
    assert_eq!(count("alice", AuditAction::CallRefused), 1);
    assert_eq!(count("mallory", AuditAction::CallRefused), 2);
    assert_eq!(count("mallory", AuditAction::TaskCancelled), 3);
}

async fn the_backlog_counts_bytes_until_tasks_end(store: Arc<dyn Store>) {
    let (one, other) = (new("alice"), new("alice"));
    let bytes = one.request.len() as u64;
    for task in [&one, &other, &new("bob")] {
        store.task_submit(task).await.unwrap();
    }
    let backlog = async || store.task_backlog("alice").await.unwrap();
    assert_eq!(backlog().await, Backlog { pending: 2, bytes: 2 * bytes });
    store.task_start(&one.id).await.unwrap();
    assert_eq!(backlog().await, Backlog { pending: 1, bytes: 2 * bytes });
    store.task_finish(&one.id, &returned(1)).await.unwrap();
    store.task_cancel(&other.id).await.unwrap();
    assert_eq!(backlog().await, Backlog::default());
}
