//! Invariants of the path of a call, for any tool name and any arguments.

use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::digest::digest;
use super::{Admission, ApiKey, Credential, Gateway, Settings};
use crate::BoxFuture;
use crate::arguments::Arguments;
use crate::call::{Call, Caller, Request};
use crate::fuzz_targets::Target;
use crate::json_text::raw_of;
use crate::memory::MemoryStore;
use crate::names::ToolRef;
use crate::outcome::{Outcome, Output};
use crate::ports::source::{Listing, Source, SourceError};
use crate::progress::Progress;
use crate::receipt::ReceiptKind;
use crate::schema::Schema;
use crate::secret::Secret;
use crate::sources::{Mount, Naming};
use crate::tool::Tool;
use crate::toolset::{Pattern, Toolset};

pub(crate) const TARGETS: &[Target] = &[("core_call", call_examples, call)];

/// Two tools, of which the toolset of the caller holds one.
struct TwoTools;

impl Source for TwoTools {
    fn tools(&self) -> BoxFuture<'_, Result<Listing, SourceError>> {
        let any = Schema::new(json!({ "type": "object" }));
        let tools = ["open", "hidden"].map(|name| Tool::new(name, name, any.clone()));
        Box::pin(std::future::ready(Ok(tools.to_vec().into())))
    }

    fn call<'a>(&'a self, _: &'a Call, _: &'a Progress) -> BoxFuture<'a, Result<Outcome, SourceError>> {
        Box::pin(std::future::ready(Ok(Outcome::Returned(Output::value(raw_of(&Value::Null))))))
    }
}

struct Server {
    runtime: Runtime,
    gateway: Arc<Gateway>,
    caller: Caller,
}

impl Server {
    fn new() -> Self {
        let key =
            ApiKey { name: "fuzz".into(), sha256: Secret::new("key").sha256(), toolset: Some("some".into()) };
        let settings = Settings {
            admission: Admission { keys: vec![key], jwt: None },
            toolsets: vec![Toolset { name: "some".to_owned(), tools: vec![Pattern::new("Kit.open")] }],
            ..Settings::default()
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        let gateway = runtime.block_on(async {
            let gateway = Gateway::new(settings, Arc::new(MemoryStore::default()));
            gateway.sources().mount(Mount::new("Kit", "Kit", Naming::Prefixed, Arc::new(TwoTools)));
            gateway.sources().settled(Duration::from_mins(1)).await;
            gateway
        });
        let caller = gateway.admit(Credential::Key("key"), None).expect("the key is good");
        Server { runtime, gateway, caller }
    }
}

static SERVER: LazyLock<Mutex<Server>> = LazyLock::new(|| Mutex::new(Server::new()));

fn call_examples() -> Vec<Vec<u8>> {
    [
        r#"{"tool":"Kit.open","user":"bob","arguments":{"b":[1,2,{"d":1.50,"c":"x"}],"a":null}}"#,
        r#"{"tool":"Kit_hidden","arguments":{"a":1}}"#,
        r#"{"tool":"Kit_open@1.0.0","arguments":{"":{"b":"","a":""}}}"#,
        r#"{"tool":"Kit.hidden@1","user":"bob","arguments":{}}"#,
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec()
}

/// No name reaches a tool outside the toolset, and the digest of a call is that of its arguments whatever the order
/// of their members, and no other's.
fn call(data: &[u8]) {
    let Ok(Value::Object(said)) = serde_json::from_slice(data) else { return };
    let (Some(tool), Some(arguments)) = (said.get("tool").and_then(Value::as_str), said.get("arguments"))
    else {
        return;
    };
    let server = SERVER.lock().unwrap_or_else(PoisonError::into_inner);
    let user = said.get("user").and_then(Value::as_str);
    let checked = |arguments: &Value, user: Option<&str>| {
        let arguments = Arguments::read(Some(&raw_of(arguments))).ok()?;
        let mut request = Request::new(ToolRef::either(tool), arguments);
        request.grants.user_id = user.map(str::to_owned);
        let mut receipt = server.gateway.receipts().begin(ReceiptKind::Call, &server.caller);
        server.runtime.block_on(server.gateway.check(0, &server.caller, request, &mut receipt)).ok()
    };
    let Some(call) = checked(arguments, user) else { return };
    assert_eq!(call.tool_name(), "open", "`{tool}` is not in the toolset");
    assert_eq!(call.arguments().text().get(), raw_of(arguments).get(), "a tool gets another text");
    let same = checked(&reversed(arguments), user).expect("the same members in another order");
    assert_eq!(digest(&call), digest(&same), "the order of members changes the digest");
    let more = checked(&with_one_more(arguments), user).expect("one more member");
    assert_ne!(digest(&call), digest(&more), "other arguments have the same digest");
    let other = checked(arguments, Some("somebody else")).expect("another user");
    assert_eq!(digest(&call) == digest(&other), user == Some("somebody else"), "users share a digest");
}

fn reversed(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            members.iter().rev().map(|(name, value)| (name.clone(), reversed(value))).collect()
        }
        Value::Array(items) => items.iter().map(reversed).collect(),
        scalar => scalar.clone(),
    }
}

fn with_one_more(arguments: &Value) -> Value {
    let mut members = arguments.as_object().cloned().unwrap_or_default();
    let longest = members.keys().max_by_key(|name| name.len()).cloned().unwrap_or_default();
    members.insert(format!("{longest} more"), Value::Null);
    Value::Object(members)
}

#[cfg(test)]
mod tests {
    #[test]
    fn targets_hold() {
        toolmux_fuzzing::hold(super::TARGETS);
    }
}
