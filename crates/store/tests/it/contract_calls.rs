//! What every store must do with calls.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::value::RawValue;
use toolmux_core::outcome::{Outcome, Output, Retry, ToolError};
use toolmux_core::ports::store::{Begun, CallKey, Retention, Store};
use toolmux_core::tool::Passthrough;

use crate::contract::{Fact, next_millisecond};
use crate::contract_tasks::new;
use crate::facts;

pub(crate) const FACTS: &[(&str, Fact)] = facts![
    an_id_is_fresh_once,
    the_same_id_for_another_call_is_a_conflict,
    ids_of_different_callers_never_meet,
    of_many_at_once_one_is_fresh_and_all_get_its_outcome,
    an_ended_call_says_until_when_it_is_kept,
    a_forgotten_id_is_fresh_again,
    outcomes_come_back_whole,
    what_only_one_protocol_says_comes_back_to_the_letter,
    old_calls_are_pruned_by_age_and_count,
    any_text_is_an_id,
];

pub(crate) fn key(id: &str) -> CallKey {
    CallKey { caller: "alice".into(), id: id.into() }
}

pub(crate) fn returned(value: i32) -> Outcome {
    Outcome::Returned(Output::of(&value).unwrap())
}

/// All that an outcome says, for comparing.
pub(crate) fn text(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Returned(output) if output.content.is_empty() && output.extra.is_empty() => {
            format!(r#"{{"returned":{{"value":{}}}}}"#, output.value)
        }
        Outcome::Returned(_) | Outcome::Failed(_) => format!("{outcome:?}"),
    }
}

pub(crate) async fn check(store: &Arc<dyn Store>, id: &str, digest: u8, expect: &str) {
    let begun = store.call_begin(&key(id), &[digest; 32]).await.unwrap();
    let word = match begun {
        Begun::Fresh => "fresh".to_owned(),
        Begun::Running => "running".to_owned(),
        Begun::Conflict => "conflict".to_owned(),
        Begun::Abandoned => "abandoned".to_owned(),
        Begun::Task(_) => "task".to_owned(),
        Begun::Ended(outcome, _) => text(&outcome),
    };
    assert_eq!(word, expect, "{id}");
}

async fn an_id_is_fresh_once(store: Arc<dyn Store>) {
    check(&store, "1", 1, "fresh").await;
    check(&store, "1", 1, "running").await;
    assert!(store.call_finish(&key("1"), &returned(5)).await.unwrap());
    check(&store, "1", 1, r#"{"returned":{"value":5}}"#).await;
    assert!(store.call_finish(&key("1"), &returned(5)).await.unwrap(), "said twice, the same is true");
    assert!(!store.call_finish(&key("1"), &returned(6)).await.unwrap());
    assert!(!store.call_finish(&key("2"), &returned(6)).await.unwrap());
    check(&store, "1", 1, r#"{"returned":{"value":5}}"#).await;
    assert_eq!(store.call_wait(&key("1")).await.unwrap().as_ref().map(text), Some(text(&returned(5))));
}

async fn the_same_id_for_another_call_is_a_conflict(store: Arc<dyn Store>) {
    check(&store, "1", 1, "fresh").await;
    check(&store, "1", 2, "conflict").await;
    store.call_finish(&key("1"), &returned(5)).await.unwrap();
    check(&store, "1", 2, "conflict").await;
}

async fn ids_of_different_callers_never_meet(store: Arc<dyn Store>) {
    let pairs = [("ab", "c"), ("a", "bc"), ("abc", "")];
    for (caller, id) in pairs {
        let key = CallKey { caller: caller.into(), id: id.into() };
        assert!(matches!(store.call_begin(&key, &[0; 32]).await.unwrap(), Begun::Fresh), "{caller} {id}");
    }
}

async fn of_many_at_once_one_is_fresh_and_all_get_its_outcome(store: Arc<dyn Store>) {
    let callers = (0..200).map(|_| {
        let store = Arc::clone(&store);
        tokio::spawn(async move {
            match store.call_begin(&key("same"), &[1; 32]).await.unwrap() {
                Begun::Fresh => {
                    store.call_finish(&key("same"), &returned(7)).await.unwrap();
                    (1, text(&returned(7)))
                }
                Begun::Running => (0, text(&store.call_wait(&key("same")).await.unwrap().unwrap())),
                Begun::Ended(outcome, _) => (0, text(&outcome)),
                other => panic!("{other:?}"),
            }
        })
    });
    let mut fresh = 0;
    for caller in callers.collect::<Vec<_>>() {
        let (ran, outcome) = caller.await.unwrap();
        fresh += ran;
        assert_eq!(outcome, text(&returned(7)));
    }
    assert_eq!(fresh, 1);
}

async fn an_ended_call_says_until_when_it_is_kept(store: Arc<dyn Store>) {
    // The clock of a database is another's.
    let near = Duration::from_mins(1);
    let window = SystemTime::now() + store.call_kept_for();
    check(&store, "1", 1, "fresh").await;
    store.call_finish(&key("1"), &returned(5)).await.unwrap();
    let mut told = Vec::new();
    for _ in 0..2 {
        let begun = store.call_begin(&key("1"), &[1; 32]).await.unwrap();
        let Begun::Ended(_, until) = begun else { panic!("{begun:?}") };
        assert!((window - near..=window + near).contains(&until), "{until:?}");
        told.push(until);
        next_millisecond().await;
    }
    assert_eq!(told[0], told[1], "from when it began, whenever it is asked");
}

async fn a_forgotten_id_is_fresh_again(store: Arc<dyn Store>) {
    check(&store, "1", 1, "fresh").await;
    let waiting = {
        let store = Arc::clone(&store);
        tokio::spawn(async move { store.call_wait(&key("1")).await.unwrap().is_none() })
    };
    store.call_forget(&key("1")).await.unwrap();
    assert!(waiting.await.unwrap());
    check(&store, "1", 2, "fresh").await;
}

async fn outcomes_come_back_whole(store: Arc<dyn Store>) {
    check(&store, "1", 1, "fresh").await;
    let error = ToolError::new("no \u{0} such \u{1f4a5}").retry(Retry::After(Duration::from_millis(1500)));
    let failed = Outcome::Failed(error.prompt("try another"));
    store.call_finish(&key("1"), &failed).await.unwrap();
    check(&store, "1", 1, &text(&failed)).await;
}

/// What came of a call that gave this beside its value.
pub(crate) fn with_extra(said: &str) -> Outcome {
    let extra = Passthrough::of("mcp", RawValue::from_string(said.to_owned()).unwrap());
    Outcome::Returned(Output { extra, ..Output::of(&5).unwrap() })
}

async fn what_only_one_protocol_says_comes_back_to_the_letter(store: Arc<dyn Store>) {
    let said = r#"{"z":1e400, "a":1.10,"_meta":{"k":"\u00e9"}}"#;
    let extra_of = |outcome: Outcome| match outcome {
        Outcome::Returned(Output { extra, .. }) | Outcome::Failed(ToolError { extra, .. }) => extra,
    };
    let failed = Outcome::Failed(ToolError { extra: extra_of(with_extra(said)), ..ToolError::new("no") });
    for (id, outcome) in [("1", with_extra(said)), ("2", failed)] {
        check(&store, id, 1, "fresh").await;
        assert!(store.call_finish(&key(id), &outcome).await.unwrap());
        check(&store, id, 1, &text(&outcome)).await;
        let Begun::Ended(again, _) = store.call_begin(&key(id), &[1; 32]).await.unwrap() else {
            panic!("the call has ended")
        };
        let extra = extra_of(again);
        assert_eq!(extra.of_protocol("mcp").map(RawValue::get), Some(said));
        assert!(extra.of_protocol("opentool").is_none());
    }
    let task = new("alice");
    store.task_submit(&task).await.unwrap();
    assert!(store.task_start(&task.id).await.unwrap());
    assert!(store.task_finish(&task.id, &with_extra(said)).await.unwrap());
    let found = store.task_find(&task.id, 0).await.unwrap().unwrap();
    assert_eq!(found.task.outcome.map(extra_of), Some(extra_of(with_extra(said))));
}

async fn old_calls_are_pruned_by_age_and_count(store: Arc<dyn Store>) {
    for id in ["1", "2", "3", "running"] {
        check(&store, id, 1, "fresh").await;
    }
    for id in ["1", "2", "3"] {
        store.call_finish(&key(id), &returned(1)).await.unwrap();
    }
    let nothing = store.prune(&Retention::default()).await.unwrap();
    assert_eq!(nothing.calls, 0);
    let all = Retention { calls_for: Duration::ZERO, ..Retention::default() };
    next_millisecond().await;
    assert_eq!(store.prune(&all).await.unwrap().calls, 3);
    check(&store, "running", 1, "running").await;
    check(&store, "1", 2, "fresh").await;
    store.call_finish(&key("1"), &returned(1)).await.unwrap();
    let none = Retention { calls: 0, ..Retention::default() };
    assert_eq!(store.prune(&none).await.unwrap().calls, 1);
}

async fn any_text_is_an_id(store: Arc<dyn Store>) {
    for id in ["", "\0", "a'b\"c", "ä\u{1f600}", &"x".repeat(10_000)] {
        check(&store, id, 1, "fresh").await;
        check(&store, id, 1, "running").await;
    }
}
