//! Being told of changes: `subscriptions/listen` of 2026-07-28, and what legacy clients are told on their stream.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::join_all;
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::watch;
use toolmux_core::gateway::Gateway;
use toolmux_core::json_text::{RawJson, raw_of, to_raw};
use toolmux_core::task::TaskId;

use super::offers::{Offered, fingerprint};
use super::resource_notifier::ResourceNotifier;
use super::subscriptions::followable;
use super::tools::first_page;
use crate::mcp::members::Members;
use crate::mcp::notifications::{
    PROMPTS_CHANGED, RESOURCES_CHANGED, SUBSCRIPTION_ACKNOWLEDGED, TOOLS_CHANGED,
};
use crate::mcp::serve::request::{Capability, Exchange, Outlet, Peer, SessionState};
use crate::mcp::serve::tasks;
use crate::mcp::wire::{Fault, INVALID_PARAMS, Reply, SERVER_INFO, SUBSCRIPTION, US, text_of};

/// What a client wants to hear of.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Filter {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    tools_list_changed: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    prompts_list_changed: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    resources_list_changed: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    resource_subscriptions: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    task_ids: Vec<String>,
}

/// How many tasks one subscription follows; of more, the first.
const MOST_TASKS: usize = 100;

/// Stays open until the server closes, which answers the request.
pub(in crate::mcp) async fn answer(exchange: Exchange) -> Reply {
    #[derive(Deserialize)]
    struct Listening {
        notifications: Filter,
    }
    let params = exchange.request.text.as_deref().map_or("{}", RawValue::get);
    let Listening { notifications: mut filter } = serde_json::from_str(params)
        .map_err(|error| Fault::new(INVALID_PARAMS, format!("`notifications` cannot be read: {error}")))?;
    let offered = Offered::of(&exchange.gateway);
    filter.prompts_list_changed &= offered.has(Capability::Prompts);
    filter.resources_list_changed &= offered.has(Capability::Resources);
    filter.resource_subscriptions = followable(&exchange, filter.resource_subscriptions).await;
    filter.task_ids = known_tasks(&exchange, filter.task_ids).await?;
    let id = &exchange.request.id;
    let params = NotificationParams { meta: tag(id), notifications: Some(&filter) };
    // Before the acknowledgement: what changes after it is told, also when the client reads slowly.
    let follower = Follower::new(&exchange.gateway, &exchange.peer, &exchange.out);
    exchange.out.notify(SUBSCRIPTION_ACKNOWLEDGED, &raw(&params)).await;
    let (tag, tagged) = (tag(id), raw(&NotificationParams { meta: tag(id), notifications: None }));
    let tasks: Vec<TaskId> = filter.task_ids.iter().map(|id| TaskId::new(id)).collect();
    let tasks = async {
        join_all(tasks.iter().map(|task| tasks::tell(&exchange, task, &tag))).await;
        std::future::pending::<()>().await;
    };
    let notifier = ResourceNotifier {
        gateway: &exchange.gateway,
        peer: &exchange.peer,
        out: &exchange.out,
        tag: Some(&tag),
    };
    tokio::select! {
        () = follower.follow(&filter, &tagged) => {}
        () = notifier.notify_of(filter.resource_subscriptions.iter()) => {}
        () = tasks => {}
        () = exchange.gateway.background().closing() => {}
    }
    let mut meta = Members::default();
    meta.put(SERVER_INFO, &US);
    meta.put_raw(SUBSCRIPTION, id.clone());
    let mut result = Members::default();
    result.put("resultType", "complete");
    result.put_raw("_meta", meta.write());
    Ok(text_of(result.write()))
}

/// The tasks among those named that the caller has.
async fn known_tasks(exchange: &Exchange, named: Vec<String>) -> Result<Vec<String>, Fault> {
    if named.is_empty() {
        return Ok(named);
    }
    tasks::declared(exchange)?;
    let mut known = Vec::new();
    for id in named.into_iter().take(MOST_TASKS) {
        if let Ok(Some(_)) = exchange.gateway.tasks().find(&exchange.peer.caller, &TaskId::new(&id)).await {
            known.push(id);
        }
    }
    Ok(known)
}

/// Tells a legacy client of every change; ends when the server closes.
pub(in crate::mcp) async fn follow_all(
    gateway: &Arc<Gateway>,
    session_state: &SessionState,
    peer: &Peer,
    out: &Outlet,
) {
    let all = Filter {
        tools_list_changed: true,
        prompts_list_changed: true,
        resources_list_changed: true,
        ..Filter::default()
    };
    let follower = Follower::new(gateway, peer, out);
    let nothing = raw_of(&json!({}));
    let notifier = ResourceNotifier { gateway, peer, out, tag: None };
    tokio::select! {
        () = follower.follow(&all, &nothing) => {}
        () = notifier.notify_session(session_state) => {}
        () = gateway.background().closing() => {}
    }
}

#[derive(Serialize)]
struct NotificationParams<'a> {
    #[serde(rename = "_meta")]
    meta: RawJson,
    #[serde(skip_serializing_if = "Option::is_none")]
    notifications: Option<&'a Filter>,
}

fn tag(id: &RawValue) -> RawJson {
    let mut meta = Members::default();
    meta.put_raw(SUBSCRIPTION, id.to_owned());
    meta.write()
}

fn raw(params: &NotificationParams<'_>) -> RawJson {
    to_raw(params).expect("a notification is writable")
}

/// Tells a client which of its lists changed since this was made.
struct Follower<'a> {
    gateway: &'a Arc<Gateway>,
    peer: &'a Peer,
    out: &'a Outlet,
    revision: watch::Receiver<u64>,
    shown: ShownLists,
}

/// What a client would be shown: the first page of its tools, and fingerprints of prompts and resources.
type ShownLists = (Bytes, u64, u64);

impl<'a> Follower<'a> {
    fn new(gateway: &'a Arc<Gateway>, peer: &'a Peer, out: &'a Outlet) -> Self {
        // Before the lists are read: one that changes in between is looked at once more.
        let mut revision = gateway.sources().revision();
        revision.mark_unchanged();
        Follower { gateway, peer, out, revision, shown: shown(gateway, peer) }
    }

    /// Compares what this client would be shown, so that changes elsewhere are not told.
    async fn follow(mut self, filter: &Filter, params: &RawValue) {
        while self.revision.changed().await.is_ok() {
            let (before, now) = (self.shown, shown(self.gateway, self.peer));
            for (wanted, changed, method) in [
                (filter.tools_list_changed, before.0 != now.0, TOOLS_CHANGED),
                (filter.prompts_list_changed, before.1 != now.1, PROMPTS_CHANGED),
                (filter.resources_list_changed, before.2 != now.2, RESOURCES_CHANGED),
            ] {
                if wanted && changed {
                    self.out.notify(method, params).await;
                }
            }
            self.shown = now;
        }
    }
}

fn shown(gateway: &Arc<Gateway>, peer: &Peer) -> ShownLists {
    let tools = first_page(gateway, peer);
    let prompts = fingerprint(gateway, |lists| lists.prompts.unwrap_or_default());
    let resources = fingerprint(gateway, |lists| {
        let mut all = lists.resources.unwrap_or_default();
        all.extend(lists.templates.unwrap_or_default());
        all
    });
    (tools, prompts, resources)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use toolmux_core::BoxFuture;
    use toolmux_core::call::Call;
    use toolmux_core::gateway::{Credential, Settings};
    use toolmux_core::memory::MemoryStore;
    use toolmux_core::outcome::Outcome;
    use toolmux_core::ports::source::{Listing, Source, SourceError};
    use toolmux_core::progress::Progress;
    use toolmux_core::schema::Schema;
    use toolmux_core::sources::{Mount, Naming};
    use toolmux_core::tool::Tool;

    use super::*;
    use crate::mcp::methods::request;
    use crate::mcp::revision::Revision;
    use crate::mcp::wire::Capabilities;

    struct OneTool;

    impl Source for OneTool {
        fn tools(&self) -> BoxFuture<'_, Result<Listing, SourceError>> {
            Box::pin(async { Ok(vec![Tool::new("run", "Runs", Schema::no_parameters())].into()) })
        }

        fn call<'a>(&'a self, _: &'a Call, _: &'a Progress) -> BoxFuture<'a, Result<Outcome, SourceError>> {
            Box::pin(std::future::pending())
        }
    }

    #[tokio::test]
    async fn a_list_that_changes_while_the_acknowledgement_waits_is_told() {
        let gateway = Gateway::new(Settings::default(), Arc::new(MemoryStore::default()));
        let caller = gateway.admit(Credential::None, None).expect("anybody is admitted");
        let peer = Peer {
            caller,
            revision: Revision::V2026_07_28,
            capabilities: Capabilities::default(),
            session: None,
        };
        let params = raw_of(&json!({ "notifications": { "toolsListChanged": true } }));
        let request = request(&raw_of(&json!(7)), "subscriptions/listen", Some(&params));
        let (out, mut sent) = Outlet::channel(gateway.memory());
        let mut fillers = 0;
        while out.try_send("filler") {
            fillers += 1;
        }
        let session_state = Arc::new(SessionState::default());
        let answering = answer(Exchange::new(Arc::clone(&gateway), session_state, peer, request, out));
        tokio::pin!(answering);
        assert!(futures_util::poll!(&mut answering).is_pending(), "the acknowledgement waits for the reader");
        gateway.sources().mount(Mount::new("Kit", "Kit", Naming::Prefixed, Arc::new(OneTool)));
        gateway.sources().settled(Duration::from_secs(10)).await;
        let reading = async {
            for _ in 0..fillers {
                sent.recv().await;
            }
            let acknowledged = sent.recv().await.expect("the acknowledgement").text;
            assert!(acknowledged.contains(SUBSCRIPTION_ACKNOWLEDGED), "{acknowledged}");
            sent.recv().await.expect("a notification").text
        };
        let told = tokio::select! {
            told = tokio::time::timeout(Duration::from_secs(10), reading) => told.expect("the change is told"),
            _ = &mut answering => unreachable!("the subscription stays open"),
        };
        assert!(told.contains(TOOLS_CHANGED), "{told}");
    }
}
