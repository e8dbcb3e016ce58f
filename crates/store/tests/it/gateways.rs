//! Several gateways on one database, as several servers would be.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use toolmux_core::BoxFuture;
use toolmux_core::arguments::Arguments;
use toolmux_core::call::{Call, Request};
use toolmux_core::gateway::{Credential, Gateway, Settings};
use toolmux_core::mount::{Mount, Naming};
use toolmux_core::names::ToolRef;
use toolmux_core::outcome::{Outcome, Output};
use toolmux_core::progress::Progress;
use toolmux_core::schema::Schema;
use toolmux_core::source::{Listing, Source, SourceError};
use toolmux_core::task::{KEPT, TaskId};
use toolmux_core::tool::{Hints, Tool};
use toolmux_store::{StoreSettings, open};

use crate::contract_calls::text;
use crate::postgres_server::PostgresServer;

/// Far more than any of these takes.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// What a tool does with its argument `n`.
pub(crate) type Work = Arc<dyn Fn(&str, u64) -> BoxFuture<'static, ()> + Send + Sync>;

/// Two tools: `once`, which must not run twice, and `again`, which may.
pub(crate) struct Worker(pub(crate) Work);

impl Source for Worker {
    fn tools(&self) -> BoxFuture<'_, Result<Listing, SourceError>> {
        let tool = |name: &str, idempotent| {
            let mut tool = Tool::new(name, name, Schema::new(json!({ "type": "object" })));
            tool.hints = Hints { idempotent, ..Hints::default() };
            tool
        };
        let tools = vec![tool("once", None), tool("again", Some(true))];
        Box::pin(std::future::ready(Ok(tools.into())))
    }

    fn call<'a>(&'a self, call: &'a Call, _: &'a Progress) -> BoxFuture<'a, Result<Outcome, SourceError>> {
        let n = call.arguments().value()["n"].as_u64().unwrap_or_default();
        Box::pin(async move {
            (self.0)(call.tool_name(), n).await;
            Ok(Outcome::Returned(Output::of(&n).unwrap()))
        })
    }
}

pub(crate) async fn gateway(url: &str, settings: StoreSettings, work: Work) -> Arc<Gateway> {
    let store = open(url, settings).await.unwrap();
    let gateway = Gateway::new(Settings::default(), store);
    gateway.mount(Mount::new("kit", "Kit", Naming::Prefixed, Arc::new(Worker(work))));
    gateway.settled(PATIENCE).await;
    gateway.run_tasks();
    gateway
}

pub(crate) fn request(tool: &str, n: u64) -> Request {
    let arguments = json!({ "n": n }).as_object().cloned().unwrap_or_default();
    Request::new(ToolRef::flat(tool), Arguments::from_map(arguments))
}

/// The status a task ends with.
pub(crate) async fn end(gateway: &Arc<Gateway>, id: &TaskId) -> String {
    let caller = gateway.admit(Credential::None, None).unwrap();
    let wait = async {
        let mut follow =
            gateway.task_follow(&caller, id, 0).await.unwrap().expect("an accepted task is known");
        while follow.next().await.unwrap().is_some() {}
        let task = gateway.task(&caller, id).await.unwrap().expect("an accepted task is known");
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
        gateways.push(gateway(&url, StoreSettings::default(), work).await);
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
    let here = gateway(&url, StoreSettings::default(), Arc::clone(&idle)).await;
    let there = gateway(&url, StoreSettings::default(), idle).await;
    let caller = here.admit(Credential::None, None).unwrap();
    let quick = here.submit(&caller, request("Kit_once", 1), KEPT).await.unwrap();
    assert_eq!(end(&there, &quick).await, "completed");
    let endless = here.submit(&caller, request("Kit_once", 0), KEPT).await.unwrap();
    there.task_cancel(&caller, &endless).await.unwrap();
    assert_eq!(end(&here, &endless).await, "cancelled");
    here.close(PATIENCE).await;
    there.close(PATIENCE).await;
}
