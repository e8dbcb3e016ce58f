//! Rust functions as tools.

use std::collections::HashMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use toolmux_core::BoxFuture;
use toolmux_core::call::Call;
use toolmux_core::message::Message;
use toolmux_core::outcome::{Outcome, Output, ToolError};
use toolmux_core::progress::Progress;
use toolmux_core::schema::Schema;
use toolmux_core::source::{FailureScope, Listing, Source, SourceError};
use toolmux_core::tool::{Hints, Returns, Tool};
use toolmux_core::version::Version;

type Ran = Result<Outcome, SourceError>;
type Run = Arc<dyn Fn(&Call, &Progress) -> BoxFuture<'static, Ran> + Send + Sync>;

/// A named group of Rust functions, served as tools.
///
/// ```
/// use schemars::JsonSchema;
/// use serde::Deserialize;
/// use toolmux::{ToolError, Toolkit};
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Numbers {
///     /// The first number.
///     a: f64,
///     /// The second number.
///     b: f64,
/// }
///
/// async fn divide(numbers: Numbers) -> Result<f64, ToolError> {
///     if numbers.b == 0.0 {
///         return Err(ToolError::new("cannot divide by zero"));
///     }
///     Ok(numbers.a / numbers.b)
/// }
///
/// let calculator = Toolkit::new("Calculator").tool("divide", "Divides two numbers", divide);
/// assert_eq!(calculator.len(), 1);
/// ```
#[derive(Default)]
pub struct Toolkit {
    name: String,
    version: Option<Version>,
    tools: Vec<Tool>,
    runs: HashMap<(Arc<str>, Version), Run>,
}

/// What a tool may want to know beside its input.
pub struct Context {
    /// Who asks.
    pub caller: String,
    /// Credentials that meet the tool's requirements.
    pub grants: toolmux_core::requirements::Grants,
    /// Where to tell how far it is.
    pub progress: Progress,
}

impl Toolkit {
    /// An empty toolkit. The name is part of the names of its tools.
    pub fn new(name: impl Into<String>) -> Self {
        Toolkit { name: name.into(), ..Toolkit::default() }
    }

    /// The version of the tools added from here on.
    pub fn version(mut self, version: Version) -> Self {
        self.version = Some(version);
        self
    }

    /// Adds an async function of one input, from whose types the schemas are derived.
    pub fn tool<I, O, F, R>(self, name: &str, description: &str, function: F) -> Self
    where
        I: DeserializeOwned + JsonSchema + Send + 'static,
        O: Serialize + JsonSchema,
        F: Fn(I) -> R + Send + Sync + 'static,
        R: Future<Output = Result<O, ToolError>> + Send + 'static,
    {
        self.add(name, description, move |input, _, _| function(input))
    }

    /// Adds an async function that also wants to know who asks, or tells how far it is.
    pub fn tool_with_context<I, O, F, R>(self, name: &str, description: &str, function: F) -> Self
    where
        I: DeserializeOwned + JsonSchema + Send + 'static,
        O: Serialize + JsonSchema,
        F: Fn(I, Context) -> R + Send + Sync + 'static,
        R: Future<Output = Result<O, ToolError>> + Send + 'static,
    {
        self.add(name, description, move |input, call, progress| function(input, Context::of(call, progress)))
    }

    fn add<I, O, F, R>(mut self, name: &str, description: &str, start: F) -> Self
    where
        I: DeserializeOwned + JsonSchema + Send + 'static,
        O: Serialize + JsonSchema,
        F: Fn(I, &Call, &Progress) -> R + Send + Sync + 'static,
        R: Future<Output = Result<O, ToolError>> + Send + 'static,
    {
        let mut tool = Tool::new(name, description, input_schema::<I>());
        tool.version = self.version.unwrap_or(Version::FIRST);
        tool.returns = returns::<O>();
        let takes_nothing = is_null(&schemars::schema_for!(I).to_value());
        let run = move |call: &Call, progress: &Progress| -> BoxFuture<'static, Ran> {
            let input = if takes_nothing { &Value::Null } else { call.arguments().value() };
            match I::deserialize(input) {
                Ok(input) => {
                    let result = start(input, call, progress);
                    Box::pin(async move { Ok(outcome(result.await)) })
                }
                Err(error) => Box::pin(std::future::ready(Ok(Outcome::Failed(error.into())))),
            }
        };
        self.runs.insert((Arc::clone(&tool.name), tool.version), Arc::new(run));
        self.tools.push(tool);
        self
    }

    /// Says how the tool added last behaves.
    pub fn hints(mut self, hints: Hints) -> Self {
        if let Some(tool) = self.tools.last_mut() {
            tool.hints = hints;
        }
        self
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many tools it has.
    pub fn len(&self) -> usize {
        self.tools.len()
    }

    /// True when it has none.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }
}

impl Context {
    fn of(call: &Call, progress: &Progress) -> Self {
        Context {
            caller: call.caller().name().to_owned(),
            grants: call.grants().clone(),
            progress: progress.clone(),
        }
    }
}

impl Source for Toolkit {
    fn tools(&self) -> BoxFuture<'_, Result<Listing, SourceError>> {
        Box::pin(std::future::ready(Ok(self.tools.clone().into())))
    }

    fn call<'a>(
        &'a self,
        call: &'a Call,
        progress: &'a Progress,
    ) -> BoxFuture<'a, Result<Outcome, SourceError>> {
        match self.runs.get(&(Arc::clone(&call.entry().tool.name), call.entry().tool.version)) {
            Some(run) => run(call, progress),
            None => {
                let gone = SourceError::NotReached(Message::public("The tool is gone"));
                Box::pin(std::future::ready(Err(gone)))
            }
        }
    }

    fn failure_scope(&self) -> FailureScope {
        FailureScope::Tool
    }
}

fn outcome<O: Serialize>(result: Result<O, ToolError>) -> Outcome {
    match result.map(|value| Output::of(&value)) {
        Ok(Ok(output)) => Outcome::Returned(output),
        Ok(Err(error)) => Outcome::Failed(error.into()),
        Err(error) => Outcome::Failed(error),
    }
}

/// The schema of `()`.
fn is_null(schema: &Value) -> bool {
    schema.get("type").and_then(Value::as_str) == Some("null")
}

fn input_schema<I: JsonSchema>() -> Schema {
    let mut schema = schemars::schema_for!(I).to_value();
    if is_null(&schema) {
        return Schema::no_parameters();
    }
    if let Some(members) = schema.as_object_mut() {
        members.entry("type").or_insert_with(|| json!("object"));
    }
    Schema::new(schema)
}

fn returns<O: JsonSchema>() -> Returns {
    let schema = schemars::schema_for!(O).to_value();
    match schema {
        schema if is_null(&schema) => Returns::Nothing,
        Value::Bool(true) => Returns::Anything,
        schema => Returns::Matching(Schema::new(schema)),
    }
}
