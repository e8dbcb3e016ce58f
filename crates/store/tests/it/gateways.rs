//! Several gateways on one database, as several servers would be.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::value::RawValue;
use toolmux_core::call::Request;
use toolmux_core::gateway::{Credential, Gateway};
use toolmux_core::progress::Progress;
use toolmux_core::requirements::Grants;
use toolmux_core::secret::Secret;
use toolmux_core::task::TaskId;
use toolmux_core::tool::Passthrough;

use crate::contract::settings;
use crate::contract_calls::text;
use crate::postgres_server::PostgresServer;
use crate::recovery::{both, leases_end, watchful};
use crate::worker::{PATIENCE, Work, gateway, request};

/// The status a task ends with.
async fn end(gateway: &Arc<Gateway>, id: &TaskId) -> String {
    let caller = gateway.admit(Credential::None, None).unwrap();
    let wait = async {
        let mut follow =
            gateway.tasks().follow(&caller, id, 0).await.unwrap().expect("an accepted task is known");
        while follow.next().await.unwrap().is_some() {}
        let task = gateway.tasks().find(&caller, id).await.unwrap().expect("an accepted task is known");
        task.status.as_str().to_owned()
    };
    tokio::time::timeout(PATIENCE, wait).await.expect("an accepted task ends")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_requests_with_one_id_over_three_gateways_run_the_tool_once() {
    let url = PostgresServer::shared().database().await;
    let runs = Arc::new(AtomicUsize::new(0));
    let mut gateways = Vec::new();
    for _ in 0..3 {
        let runs = Arc::clone(&runs);
        let work: Work = Arc::new(move |_, _| {
            runs.fetch_add(1, Ordering::SeqCst);
            Box::pin(std::future::ready(()))
        });
        gateways.push(gateway(&url, settings(), work).await);
    }
    let requests: Vec<_> = (0..1_000)
        .map(|index| {
            let gateway = Arc::clone(&gateways[index % 3]);
            tokio::spawn(async move {
                let caller = gateway.admit(Credential::None, None).unwrap();
                let request = Request { id: Some("one".into()), ..request("Kit_once", 7) };
                gateway.call(&caller, request, &Progress::unheard()).await.unwrap()
            })
        })
        .collect();
    let mut answers = HashMap::new();
    for request in requests {
        *answers.entry(text(&request.await.unwrap())).or_insert(0) += 1;
    }
    assert_eq!(answers, HashMap::from([(r#"{"returned":{"value":7}}"#.to_owned(), 1_000)]));
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    for gateway in gateways {
        gateway.close(PATIENCE).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_of_one_gateway_is_followed_and_cancelled_at_another() {
    let url = PostgresServer::shared().database().await;
    let idle: Work = Arc::new(|_, n| match n {
        0 => Box::pin(std::future::pending()),
        _ => Box::pin(std::future::ready(())),
    });
    let here = gateway(&url, settings(), Arc::clone(&idle)).await;
    let there = gateway(&url, settings(), idle).await;
    let caller = here.admit(Credential::None, None).unwrap();
    let quick = here.tasks().submit(&caller, request("Kit_once", 1), None).await.unwrap();
    assert_eq!(end(&there, &quick).await, "completed");
    let endless = here.tasks().submit(&caller, request("Kit_once", 0), None).await.unwrap();
    there.tasks().cancel(&caller, &endless).await.unwrap();
    assert_eq!(end(&here, &endless).await, "cancelled");
    here.close(PATIENCE).await;
    there.close(PATIENCE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_lost_a_call_gives_the_answer_of_who_took_it_over() {
    both(async |url| {
        let go = Arc::new(tokio::sync::Semaphore::new(0));
        let (started, mut starts) = tokio::sync::mpsc::unbounded_channel();
        let work: Work = {
            let go = Arc::clone(&go);
            Arc::new(move |_, _| {
                started.send(()).ok();
                let go = Arc::clone(&go);
                Box::pin(async move { drop(go.acquire().await) })
            })
        };
        let slow = gateway(url, settings(), Arc::clone(&work)).await;
        let other = gateway(url, watchful(), work).await;
        let ask = |gateway: &Arc<Gateway>| {
            let gateway = Arc::clone(gateway);
            tokio::spawn(async move {
                let caller = gateway.admit(Credential::None, None).unwrap();
                let request = Request { id: Some("one".into()), ..request("Kit_once", 7) };
                text(&gateway.call(&caller, request, &Progress::unheard()).await.unwrap())
            })
        };
        let first = ask(&slow);
        starts.recv().await.unwrap();
        leases_end(url).await;
        let told = tokio::time::timeout(PATIENCE, ask(&other)).await.expect("an answer").unwrap();
        assert!(told.contains("may have run"), "{told}");
        go.add_permits(1);
        assert_eq!(first.await.unwrap(), told);
        slow.close(PATIENCE).await;
        other.close(PATIENCE).await;
    })
    .await;
}

#[tokio::test]
async fn credentials_are_kept_nowhere() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("records.db").display());
    let work: Work = Arc::new(|_, _| Box::pin(std::future::ready(())));
    let gateway = gateway(&url, settings(), work).await;
    let caller = gateway.admit(Credential::None, None).unwrap();
    let credential = || vec![("github".to_owned(), Secret::new("hunter2"))];
    let with_credentials = |id: &str| {
        let grants = Grants { authorization: credential(), secrets: credential(), ..Grants::default() };
        Request { id: Some(id.into()), grants, ..request("Kit_once", 7) }
    };
    // A task needs what its caller's protocol said when it runs later; a call does not, and it is not kept.
    let extra = Passthrough::of("mcp", RawValue::from_string(r#"{"said":"hunter2"}"#.into()).unwrap());
    let call = Request { extra, ..with_credentials("call") };
    gateway.call(&caller, call, &Progress::unheard()).await.unwrap();
    let task = gateway.tasks().submit(&caller, with_credentials("task"), None).await.unwrap();
    assert_eq!(end(&gateway, &task).await, "completed");
    let kept = |what: &str| {
        std::fs::read_dir(folder.path()).unwrap().any(|file| {
            let bytes = std::fs::read(file.unwrap().path()).unwrap();
            bytes.windows(what.len()).any(|part| part == what.as_bytes())
        })
    };
    assert!(kept("Kit_once"));
    assert!(!kept("hunter2"));
    gateway.close(PATIENCE).await;
}

#[tokio::test]
async fn a_caller_that_leaves_while_its_call_begins_leaves_a_call_that_ends() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("records.db").display());
    let work: Work = Arc::new(|_, _| Box::pin(std::future::ready(())));
    let gateway = gateway(&url, settings(), work).await;
    let caller = gateway.admit(Credential::None, None).unwrap();
    let keyed = || Request { id: Some("x".into()), ..request("Kit_once", 7) };
    let progress = Progress::unheard();
    let left = tokio::time::timeout(Duration::ZERO, gateway.call(&caller, keyed(), &progress)).await;
    assert!(left.is_err(), "the caller left while its call began");
    let answer = tokio::time::timeout(PATIENCE, gateway.call(&caller, keyed(), &progress)).await;
    assert_eq!(text(&answer.expect("it ends").unwrap()), r#"{"returned":{"value":7}}"#);
}
