//! What every source keeps to, whatever it speaks: one function that calls four tools through a gateway and looks at
//! what is left behind on the other side. It knows the core alone, so that every crate with a source can run it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolmux_core::arguments::Arguments;
use toolmux_core::call::Request;
use toolmux_core::gateway::{Credential, Gateway, Settings};
use toolmux_core::limits::Limits;
use toolmux_core::memory::MemoryStore;
use toolmux_core::names::ToolRef;
use toolmux_core::outcome::Outcome;
use toolmux_core::ports::source::Source;
use toolmux_core::progress::Progress;
use toolmux_core::refusal::Refusal;
use toolmux_core::sources::{Mount, Naming};

/// How long anything may take that has to happen.
const PATIENCE: Duration = Duration::from_mins(1);

/// The tools of a source by what they do, under the names that the source gives them, and where protocols differ.
#[derive(Clone, Copy)]
pub(crate) struct Tools {
    /// Takes the numbers `a` and `b`.
    pub(crate) add: &'static str,
    /// What adding 1 and 2 gives.
    pub(crate) sum: &'static str,
    /// A tool that fails.
    pub(crate) fail: &'static str,
    /// What it says then.
    pub(crate) why: &'static str,
    /// Does not end by itself.
    pub(crate) slow: &'static str,
    /// Goes from the list in the end.
    pub(crate) leaves: &'static str,
    /// How a call of a tool that has left is refused; `failed` where the answer of the other side does not say that
    /// nothing ran.
    pub(crate) left: &'static str,
    /// How a call is refused that comes after the source was closed; `None` where it works, because the source keeps
    /// nothing from call to call that it could end.
    pub(crate) late: Option<&'static str>,
}

/// The other side of a source.
pub(crate) trait OtherSide {
    /// How many calls of `slow` run there.
    fn running(&self) -> usize;

    /// How many child processes of the source live.
    fn children(&self) -> usize {
        0
    }

    /// How many connections the source has open.
    fn connections(&self) -> usize {
        0
    }

    /// Takes the tool `leaves` from the list.
    async fn shrink(&self, gateway: &Arc<Gateway>);
}

/// A gateway in front of one source.
pub(crate) async fn gateway(source: Arc<dyn Source>) -> Arc<Gateway> {
    let limits = Limits { breaker_failures: u32::MAX, ..Limits::default() };
    let gateway = Gateway::new(Settings { limits, ..Settings::default() }, Arc::new(MemoryStore::default()));
    mount(&gateway, source).await;
    gateway
}

/// Puts a source into the place of the one before.
pub(crate) async fn mount(gateway: &Arc<Gateway>, source: Arc<dyn Source>) {
    gateway.sources().unmount("Near");
    gateway.sources().mount(Mount::new("Near", "Near", Naming::Bare, source));
    gateway.sources().settled(PATIENCE).await;
}

/// Waits for a fact.
pub(crate) async fn until(what: &str, fact: impl Fn() -> bool) {
    let begun = Instant::now();
    while !fact() {
        assert!(begun.elapsed() < PATIENCE, "{what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn call(gateway: &Arc<Gateway>, tool: &str, arguments: Value) -> Result<Outcome, Refusal> {
    let caller = gateway.admit(Credential::None, None).expect("nobody needs a key");
    let Value::Object(map) = arguments else { panic!("arguments are an object") };
    let request = Request::new(ToolRef::flat(tool), Arguments::from_map(map));
    gateway.call(&caller, request, &Progress::unheard()).await
}

/// Everything a source keeps to, in the order of its life.
pub(crate) async fn check(gateway: Arc<Gateway>, tools: Tools, other_side: impl OtherSide) {
    for tool in [tools.add, tools.fail, tools.slow, tools.leaves] {
        assert!(is_listed(&gateway, tool), "`{tool}` is listed: {:?}", gateway.catalog().unserved());
    }
    works(&gateway, tools).await;
    says_what_is_wrong(&gateway, tools).await;
    ends_a_call_that_is_dropped(&gateway, tools, &other_side).await;
    works(&gateway, tools).await;
    refuses_a_tool_that_has_left(&gateway, tools, &other_side).await;
    ends_what_it_runs(gateway, tools, &other_side).await;
}

pub(crate) fn is_listed(gateway: &Arc<Gateway>, tool: &str) -> bool {
    gateway.catalog().every().any(|entry| &*entry.flat == tool)
}

async fn works(gateway: &Arc<Gateway>, tools: Tools) {
    match call(gateway, tools.add, json!({ "a": 1, "b": 2 })).await {
        Ok(Outcome::Returned(output)) => assert_eq!(output.value.get(), tools.sum),
        other => panic!("it returns: {other:?}"),
    }
}

async fn says_what_is_wrong(gateway: &Arc<Gateway>, tools: Tools) {
    match call(gateway, tools.fail, json!({})).await {
        Ok(Outcome::Failed(error)) => {
            let words = error.message.public;
            assert!(words.contains(tools.why) && !words.contains("may have run"), "{words}");
        }
        other => panic!("it fails: {other:?}"),
    }
    match call(gateway, tools.add, json!({ "a": "one", "b": 2 })).await {
        Err(Refusal::Invalid { parameters }) => assert_eq!(parameters[0].parameter, "a"),
        other => panic!("its arguments are wrong: {other:?}"),
    }
}

async fn ends_a_call_that_is_dropped(gateway: &Arc<Gateway>, tools: Tools, other_side: &impl OtherSide) {
    tokio::select! {
        ended = call(gateway, tools.slow, json!({})) => panic!("it does not end by itself: {ended:?}"),
        () = until("the call begins", || other_side.running() == 1) => {}
    }
    until("the call ends there", || other_side.running() == 0).await;
    until("the call ends here", || gateway.sources().calls_in_flight() == 0).await;
}

async fn refuses_a_tool_that_has_left(gateway: &Arc<Gateway>, tools: Tools, other_side: &impl OtherSide) {
    call(gateway, tools.leaves, json!({})).await.expect("it is still there");
    other_side.shrink(gateway).await;
    let told = match call(gateway, tools.leaves, json!({})).await {
        Err(refusal) => refusal.name(),
        Ok(Outcome::Failed(_)) => "failed",
        Ok(Outcome::Returned(output)) => panic!("it is gone: {output:?}"),
    };
    assert_eq!(told, tools.left);
}

async fn ends_what_it_runs(gateway: Arc<Gateway>, tools: Tools, other_side: &impl OtherSide) {
    works(&gateway, tools).await;
    gateway.close(PATIENCE).await;
    until("its children are gone", || other_side.children() == 0).await;
    match tools.late {
        None => works(&gateway, tools).await,
        Some(name) => {
            let late = call(&gateway, tools.add, json!({ "a": 1, "b": 2 })).await;
            assert_eq!(late.expect_err("it is closed").name(), name);
        }
    }
    assert_eq!(other_side.children(), 0, "nothing was started again");
    // Connections are kept for the next call until nobody can make one.
    drop(gateway);
    until("its connections are closed", || other_side.connections() == 0).await;
}
