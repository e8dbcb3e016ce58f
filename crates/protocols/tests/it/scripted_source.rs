//! The one source whose tools do what their names say: every kind of value, every refusal, every failure. Tests of
//! whatever serves tools use it, so that one row of the answer grid means the same everywhere.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::Semaphore;
use toolmux_core::BoxFuture;
use toolmux_core::call::Call;
use toolmux_core::json_text::{RawJson, raw_of};
use toolmux_core::message::Message;
use toolmux_core::outcome::{Content, Outcome, Output, Retry, ToolError};
use toolmux_core::ports::source::{Listing, Source, SourceError};
use toolmux_core::progress::{Progress, Update};
use toolmux_core::refusal::{Challenge, ParameterError, Refusal};
use toolmux_core::requirements::{Authorization, Requirements};
use toolmux_core::schema::Schema;
use toolmux_core::tool::{Returns, Tool};
use toolmux_core::version::Version;

/// Longer than the gateway itself waits for a source that is busy, so that the refusal reaches the caller at once.
const BUSY: Duration = Duration::from_millis(2_500);

/// Tools that take any object and say nothing about what they return.
const PLAIN: [&str; 20] = [
    "Echo",
    "Text",
    "List",
    "Exact",
    "Pretty",
    "Blocks",
    "Steps",
    "Parts",
    "Slow",
    "Fail",
    "Stumble",
    "Panic",
    "Picky",
    "Challenge",
    "Busy",
    "Broken",
    "Down",
    "Closed",
    "Lost",
    "Again",
];

pub(crate) struct Scripted {
    runs: AtomicUsize,
    /// `Slow` waits for one of these.
    pub(crate) turns: Semaphore,
    name: fn(&str) -> String,
}

impl Scripted {
    /// With names such as `Add`.
    pub(crate) fn new() -> Arc<Self> {
        Scripted::named(str::to_owned)
    }

    /// With names such as `add`.
    pub(crate) fn lowercase() -> Arc<Self> {
        Scripted::named(str::to_ascii_lowercase)
    }

    fn named(name: fn(&str) -> String) -> Arc<Self> {
        Arc::new(Scripted { runs: AtomicUsize::new(0), turns: Semaphore::new(0), name })
    }

    /// How many calls reached a tool.
    pub(crate) fn runs(&self) -> usize {
        self.runs.load(Ordering::SeqCst)
    }

    fn tool(&self, name: &str, input: Value) -> Tool {
        Tool::new((self.name)(name), format!("Does {name}"), Schema::new(input))
    }

    fn every_tool(&self) -> Vec<Tool> {
        let number = json!({ "$ref": "#/$defs/n" });
        let numbers = json!({ "type": "object", "required": ["a", "b"],
            "properties": { "a": number, "b": number }, "$defs": { "n": { "type": "number" } } });
        let mut old = self.tool("Add", numbers);
        old.returns = Returns::Matching(Schema::new(json!({ "type": "number" })));
        let mut new = old.clone();
        new.version = Version { major: 1, minor: 2, patch: 0 };
        let mut nothing = self.tool("Nothing", json!({}));
        nothing.returns = Returns::Nothing;
        let mut needy = self.tool("Needy", json!({}));
        needy.requires = Requirements {
            authorization: vec![Authorization::new("github", vec!["repo".into()])],
            secrets: vec!["SHOP_TOKEN".into()],
            user_id: true,
            ..Requirements::default()
        };
        let plain = PLAIN.iter().map(|name| self.tool(name, json!({ "type": "object" })));
        [old, new, nothing, needy].into_iter().chain(plain).collect()
    }

    async fn run(&self, call: &Call, progress: &Progress) -> Result<Outcome, SourceError> {
        self.runs.fetch_add(1, Ordering::SeqCst);
        let number = |name: &str| call.arguments().value()[name].as_f64().unwrap_or_default();
        let value = match call.tool_name().to_ascii_lowercase().as_str() {
            "add" => raw_of(&json!(number("a") + number("b"))),
            "nothing" => raw("null"),
            "needy" => raw_of(&json!({
                "token": call.grants().token("github").map(|token| token.expose().len()),
                "secret": call.grants().secret("SHOP_TOKEN").map(|secret| secret.expose().len()),
                "user": call.grants().user_id,
            })),
            "echo" => call.arguments().text().to_owned(),
            "text" => raw(r#""plain""#),
            "list" => raw("[1, 2]"),
            "exact" => raw(r#"{"big":123456789012345678901234567890,"spaced" : [1.50, 1e400]}"#),
            "pretty" => raw("{\n  \"a\": [\r\n    1\n  ]\n}"),
            "blocks" => {
                let content = vec![Content::text("one"), Content::text("two")];
                return Ok(Outcome::Returned(Output { content, ..Output::value(raw("null")) }));
            }
            "slow" => {
                self.turns.acquire().await.expect("never closed").forget();
                raw_of(&json!(self.runs()))
            }
            "steps" => steps(progress).await,
            "parts" => {
                progress.send(Update::Data(raw(r#"{"n": 1}"#))).await;
                progress.send(Update::Data(raw("2"))).await;
                raw(r#"{"n": 3}"#)
            }
            failing => return fail(failing),
        };
        Ok(Outcome::Returned(Output::value(value)))
    }
}

impl Source for Scripted {
    fn tools(&self) -> BoxFuture<'_, Result<Listing, SourceError>> {
        Box::pin(std::future::ready(Ok(self.every_tool().into())))
    }

    fn call<'a>(&'a self, call: &'a Call, to: &'a Progress) -> BoxFuture<'a, Result<Outcome, SourceError>> {
        Box::pin(self.run(call, to))
    }
}

/// A value as it is written here.
pub(crate) fn raw(text: &str) -> RawJson {
    serde_json::from_str(text).expect("JSON")
}

async fn steps(progress: &Progress) -> RawJson {
    for done in [1.0, 2.5] {
        let message = (done > 2.0).then(|| "nearly".to_owned());
        progress.send(Update::Progress { done, total: Some(3.0), message }).await;
    }
    progress.send(Update::Log { level: "info".into(), data: raw(r#"{"x": 1}"#) }).await;
    raw(r#"{"done": true}"#)
}

/// What the tools give that give no value.
fn fail(tool: &str) -> Result<Outcome, SourceError> {
    let public = Message::public;
    let failed = |error: ToolError| Ok(Outcome::Failed(error));
    let refusal = match tool {
        "fail" => return failed(public("It is not there").developer("row 7 of table doors").into()),
        "stumble" => {
            let error = ToolError::new("Doorbell ID not found").prompt("ids: doorbell42,doorbell84");
            return failed(error.retry(Retry::After(Duration::from_millis(500))));
        }
        "again" => return failed(ToolError::new("Try once more").retry(Retry::Now)),
        "down" => return Err(SourceError::NotReached(public("Cannot reach it"))),
        "lost" => return Err(SourceError::Lost(public("The line went dead"))),
        "picky" => Refusal::Invalid {
            parameters: vec![ParameterError { parameter: "door".into(), message: "is locked".into() }],
        },
        "challenge" => Refusal::Challenged {
            authorization: vec![Challenge {
                id: "github".into(),
                url: Some("https://allow.example/1".into()),
                check_url: Some("https://allow.example/1/check".into()),
            }],
            secrets: Vec::new(),
            user_id: false,
        },
        "busy" => Refusal::Busy { message: public("Too many at once"), retry_after: BUSY },
        "closed" => Refusal::Unavailable { message: public("Closed until noon"), retry_after: Some(BUSY) },
        "broken" => Refusal::Internal(public("Something broke").developer("a null in row 7")),
        other => panic!("no tool {other}"),
    };
    Err(SourceError::Refused(refusal))
}
