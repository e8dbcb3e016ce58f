//! A gateway with a source whose tools do what a test needs.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::Notify;
use toolmux_core::BoxFuture;
use toolmux_core::arguments::Arguments;
use toolmux_core::call::{Call, Caller, Request};
use toolmux_core::gateway::{Credential, Gateway, Settings};
use toolmux_core::json_text::{RawJson, raw_of};
use toolmux_core::memory::MemoryStore;
use toolmux_core::message::Message;
use toolmux_core::names::ToolRef;
use toolmux_core::outcome::{Outcome, Output, ToolError};
use toolmux_core::ports::source::{FailureScope, Listing, Source, SourceError};
use toolmux_core::progress::{Progress, Update};
use toolmux_core::refusal::Refusal;
use toolmux_core::requirements::Authorization;
use toolmux_core::schema::Schema;
use toolmux_core::sources::{Mount, Naming};
use toolmux_core::tool::{Passthrough, Tool};
use toolmux_core::trace_context;
use toolmux_core::version::Version;

/// Long enough never to be reached.
pub(crate) const LONG: Duration = Duration::from_mins(1);

/// A source whose tools are named for what they do.
#[derive(Default)]
pub(crate) struct Fixture {
    /// How often a tool ran.
    pub(crate) runs: AtomicUsize,
    /// Lets `wait` go on.
    pub(crate) go: Notify,
    /// What it lists; absent means that listing fails.
    pub(crate) listing: Mutex<Option<Listing>>,
    /// Tells the gateway to look again.
    pub(crate) changed: Notify,
    /// Whose circuit breaker counts a failure, where that is not the source's.
    pub(crate) scope: Option<FailureScope>,
    /// `flaky` is not reached while this holds.
    pub(crate) broken: AtomicBool,
    /// The `traceparent` under which each run came.
    pub(crate) traces: Mutex<Vec<Option<String>>>,
}

pub(crate) fn tool(name: &str) -> Tool {
    let schema = json!({ "type": "object", "properties": { "a": { "type": "integer" } }, "additionalProperties": false });
    Tool::new(name, name, Schema::new(schema))
}

pub(crate) fn versioned(name: &str, version: &str) -> Tool {
    Tool { version: version.parse::<Version>().expect("a version"), ..tool(name) }
}

impl Fixture {
    pub(crate) fn with(tools: Vec<Tool>) -> Arc<Self> {
        Arc::new(Fixture { listing: Mutex::new(Some(tools.into())), ..Fixture::default() })
    }

    pub(crate) fn list(&self, listing: Option<Listing>) {
        *self.listing.lock().expect("not poisoned") = listing;
        self.changed.notify_one();
    }

    pub(crate) fn ran(&self) -> usize {
        self.runs.load(Ordering::SeqCst)
    }

    async fn run(&self, call: &Call, progress: &Progress) -> Result<Outcome, SourceError> {
        self.runs.fetch_add(1, Ordering::SeqCst);
        let trace = trace_context::current().map(|trace| trace.context.traceparent());
        self.traces.lock().expect("not poisoned").push(trace);
        match call.tool_name() {
            "wait" => self.go.notified().await,
            "forever" => std::future::pending().await,
            "chatter" => {
                for line in 0..5 {
                    let data = raw_of(&json!(format!("line {line}")));
                    progress.send(Update::Log { level: "info".to_owned(), data }).await;
                }
            }
            "relay" => return Ok(self.relayed(Passthrough::of)),
            "ask" => return Ok(self.relayed(Passthrough::asking)),
            "picky" | "picky_arguments"
                if call.grants().token("github").is_none_or(|token| token.expose() != "good") =>
            {
                return Err(SourceError::WantsToken(Authorization::new("github", vec!["more".into()])));
            }
            "said" => {
                let said = call.extra().of_protocol("fixture").map(ToOwned::to_owned);
                return Ok(Outcome::Returned(Output::value(said.unwrap_or_default())));
            }
            "arguments" | "picky_arguments" => {
                return Ok(Outcome::Returned(Output::value(call.arguments().text().to_owned())));
            }
            "panic" => panic!("a tool panics"),
            "fail" => return Ok(Outcome::Failed(ToolError::new("it failed"))),
            "lost" => return Err(SourceError::Lost(Message::public("Gone"))),
            "cut" => {
                self.go.notified().await;
                return Err(SourceError::Lost(Message::public("Gone")));
            }
            "lost_once" if self.ran() == 1 => return Err(SourceError::Lost(Message::public("Gone"))),
            "unreached" | "lost_once" => {
                return Err(SourceError::NotReached(Message::public("Nobody there")));
            }
            "flaky" if self.broken.load(Ordering::SeqCst) => {
                return Err(SourceError::NotReached(Message::public("Nobody there")));
            }
            "busy_once" if self.ran() == 1 => return Err(busy(Duration::from_secs(1))),
            "busy" => return Err(busy(Duration::from_secs(7))),
            "down_once" if self.ran() == 1 => return Err(down(Duration::from_secs(1))),
            "down" => return Err(down(Duration::from_secs(7))),
            _ => {}
        }
        Ok(Outcome::Returned(Output::value(raw_of(&json!(self.ran())))))
    }

    fn relayed(&self, extra: fn(&'static str, RawJson) -> Passthrough) -> Outcome {
        let extra = extra("mcp", raw_of(&json!("x".repeat(98))));
        Outcome::Returned(Output { extra, ..Output::value(raw_of(&json!(self.ran()))) })
    }
}

fn busy(retry_after: Duration) -> SourceError {
    SourceError::Refused(Refusal::Busy { message: Message::public("Too many"), retry_after })
}

fn down(retry_after: Duration) -> SourceError {
    SourceError::LostWithRetryAfter { message: Message::public("It is down"), retry_after }
}

impl Source for Fixture {
    fn tools(&self) -> BoxFuture<'_, Result<Listing, SourceError>> {
        let listing = self.listing.lock().expect("not poisoned").clone();
        let failed = || SourceError::NotReached(Message::public("It does not answer"));
        Box::pin(std::future::ready(listing.ok_or_else(failed)))
    }

    fn call<'a>(&'a self, call: &'a Call, told: &'a Progress) -> BoxFuture<'a, Result<Outcome, SourceError>> {
        Box::pin(self.run(call, told))
    }

    fn changed(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.changed.notified())
    }

    fn failure_scope(&self) -> FailureScope {
        self.scope.unwrap_or(FailureScope::Source)
    }
}

/// A gateway that serves a source as toolkit `Kit`.
pub(crate) async fn gateway(settings: Settings, source: &Arc<Fixture>) -> Arc<Gateway> {
    let gateway = Gateway::new(settings, Arc::new(MemoryStore::default()));
    gateway.sources().mount(Mount::new("Kit", "Kit", Naming::Prefixed, source.clone()));
    gateway.sources().settled(LONG).await;
    gateway
}

pub(crate) fn anyone(gateway: &Gateway) -> Caller {
    gateway.admit(Credential::None, None).expect("an open gateway")
}

pub(crate) fn request(tool: &str, arguments: Value) -> Request {
    let Value::Object(map) = arguments else { panic!("arguments are an object") };
    Request::new(ToolRef::either(tool), Arguments::from_map(map))
}

/// Calls a tool; the answer in one line: the value, `failed: …` or `reason: …`.
pub(crate) async fn call(gateway: &Arc<Gateway>, tool: &str, arguments: Value) -> String {
    let caller = anyone(gateway);
    line(&gateway.call(&caller, request(tool, arguments), &Progress::unheard()).await)
}

pub(crate) fn line(answer: &Result<Outcome, Refusal>) -> String {
    match answer {
        Ok(Outcome::Returned(output)) => output.value.get().to_owned(),
        Ok(Outcome::Failed(error)) => format!("failed: {}", error.message.public),
        Err(refusal) => format!("{}: {}", refusal.name(), refusal.message().public),
    }
}
