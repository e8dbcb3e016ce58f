//! A server of two tools on a database: `once`, which must not run twice, and `again`, which may. Part of
//! these tests and of the program they kill.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use toolmux_core::BoxFuture;
use toolmux_core::arguments::Arguments;
use toolmux_core::call::{Call, Request};
use toolmux_core::gateway::{Gateway, Settings};
use toolmux_core::names::ToolRef;
use toolmux_core::outcome::{Outcome, Output};
use toolmux_core::ports::source::{Listing, Source, SourceError};
use toolmux_core::progress::Progress;
use toolmux_core::schema::Schema;
use toolmux_core::sources::{Mount, Naming};
use toolmux_core::tool::{Hints, Tool};
use toolmux_store::{StoreSettings, open};

/// Far more than any of these takes.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// What a tool does with its argument `n`.
pub(crate) type Work = Arc<dyn Fn(&str, u64) -> BoxFuture<'static, ()> + Send + Sync>;

struct Worker(Work);

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

/// A server that runs tasks.
pub(crate) async fn gateway(url: &str, settings: StoreSettings, work: Work) -> Arc<Gateway> {
    let store = open(url, settings).await.unwrap();
    let gateway = Gateway::new(Settings::default(), store);
    gateway.sources().mount(Mount::new("kit", "Kit", Naming::Prefixed, Arc::new(Worker(work))));
    gateway.sources().settled(PATIENCE).await;
    gateway.tasks().run();
    gateway
}

pub(crate) fn request(tool: &str, n: u64) -> Request {
    let arguments = json!({ "n": n }).as_object().cloned().unwrap_or_default();
    Request::new(ToolRef::flat(tool), Arguments::from_map(arguments))
}
