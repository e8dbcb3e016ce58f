//! One Rust function as a tool: which functions can be one, and the schemas that their types give.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolmux_core::BoxFuture;
use toolmux_core::call::Call;
use toolmux_core::outcome::{Outcome, Output, ToolError};
use toolmux_core::ports::source::SourceError;
use toolmux_core::progress::Progress;
use toolmux_core::requirements::Grants;
use toolmux_core::schema::Schema;
use toolmux_core::tool::{Hints, Returns, Tool};
use toolmux_core::version::Version;

pub(crate) type Run =
    Box<dyn Fn(&Call, &Progress) -> BoxFuture<'static, Result<Outcome, SourceError>> + Send + Sync>;

/// A tool made of a Rust function by [`tool()`], to be added to a [`Toolkit`](crate::Toolkit).
#[must_use = "add it to a toolkit with `Toolkit::tool`"]
pub struct RustTool {
    pub(crate) tool: Tool,
    pub(crate) run: Run,
}

/// What a function may ask for after its input.
pub struct Context {
    /// The name of the caller.
    pub caller: String,
    /// Credentials that meet the tool's requirements.
    pub grants: Grants,
    /// Where to report progress.
    pub progress: Progress,
}

/// Makes a tool of an async function. The function takes nothing, an input, or an input and a [`Context`], and
/// returns a `Result` whose error is a [`ToolError`]. The schemas are derived from its types.
///
/// ```
/// use toolmux::{ToolError, Version, tool};
///
/// async fn now() -> Result<u64, ToolError> {
///     Ok(std::time::UNIX_EPOCH.elapsed()?.as_secs())
/// }
///
/// let clock = tool("now", "Seconds since 1970", now).version(Version::new(2, 0, 0)).read_only();
/// ```
pub fn tool<P, F: ToolFn<P>>(name: &str, description: &str, function: F) -> RustTool {
    let mut tool = Tool::new(name, description, input_schema::<F::Input>());
    tool.returns = returns::<F::Output>();
    let takes_nothing = is_null(&schemars::schema_for!(F::Input).to_value());
    let run: Run = Box::new(move |call, progress| {
        let input = if takes_nothing { &Value::Null } else { call.arguments().value() };
        match F::Input::deserialize(input) {
            Ok(input) => {
                let result = function.start(input, call, progress);
                Box::pin(async move { Ok(outcome(result.await)) })
            }
            Err(error) => Box::pin(std::future::ready(Ok(Outcome::Failed(error.into())))),
        }
    });
    RustTool { tool, run }
}

impl RustTool {
    /// The version, when it is not 1.0.0. Several versions of a tool may be in one toolkit.
    pub fn version(mut self, version: Version) -> Self {
        self.tool.version = version;
        self
    }

    /// Says that the tool changes nothing, so that a call may be repeated.
    pub fn read_only(self) -> Self {
        self.hints(Hints { read_only: Some(true), ..Hints::default() })
    }

    /// Says that calling the tool twice has the same effect as once, so that a call may be repeated.
    pub fn idempotent(self) -> Self {
        self.hints(Hints { idempotent: Some(true), ..Hints::default() })
    }

    /// Says that the tool may destroy what was there.
    pub fn destructive(self) -> Self {
        self.hints(Hints { destructive: Some(true), ..Hints::default() })
    }

    /// Any other hints about its behaviour. Hints given before stay, unless these contradict them.
    pub fn hints(mut self, hints: Hints) -> Self {
        self.tool.hints = self.tool.hints.overridden_by(hints);
        self
    }
}

/// A function that can be a tool; see [`tool()`]. `Parameters` tells the three forms apart and is always inferred.
#[diagnostic::on_unimplemented(
    message = "this function cannot be a tool",
    note = "a tool is an async function of nothing, of an input, or of an input and a `toolmux::Context`, and returns \
            a `Result<Output, toolmux::ToolError>`",
    note = "the input must implement `serde::Deserialize` and `schemars::JsonSchema`, the output `serde::Serialize` and \
            `schemars::JsonSchema`",
    note = "the parameters of a closure need their types: `|order: Order| …`"
)]
pub trait ToolFn<Parameters>: Send + Sync + 'static {
    /// What it takes; `()` for nothing.
    type Input: DeserializeOwned + JsonSchema;
    /// What it returns.
    type Output: Serialize + JsonSchema;
    /// The running function.
    type Running: Future<Output = Result<Self::Output, ToolError>> + Send + 'static;

    /// Starts the function on its input.
    fn start(&self, input: Self::Input, call: &Call, progress: &Progress) -> Self::Running;
}

impl<F, O, R> ToolFn<()> for F
where
    F: Fn() -> R + Send + Sync + 'static,
    R: Future<Output = Result<O, ToolError>> + Send + 'static,
    O: Serialize + JsonSchema,
{
    type Input = ();
    type Output = O;
    type Running = R;

    fn start(&self, (): (), _: &Call, _: &Progress) -> R {
        self()
    }
}

impl<F, I, O, R> ToolFn<(I,)> for F
where
    F: Fn(I) -> R + Send + Sync + 'static,
    R: Future<Output = Result<O, ToolError>> + Send + 'static,
    I: DeserializeOwned + JsonSchema,
    O: Serialize + JsonSchema,
{
    type Input = I;
    type Output = O;
    type Running = R;

    fn start(&self, input: I, _: &Call, _: &Progress) -> R {
        self(input)
    }
}

impl<F, I, O, R> ToolFn<(I, Context)> for F
where
    F: Fn(I, Context) -> R + Send + Sync + 'static,
    R: Future<Output = Result<O, ToolError>> + Send + 'static,
    I: DeserializeOwned + JsonSchema,
    O: Serialize + JsonSchema,
{
    type Input = I;
    type Output = O;
    type Running = R;

    fn start(&self, input: I, call: &Call, progress: &Progress) -> R {
        let context = Context {
            caller: call.caller().name().to_owned(),
            grants: call.grants().clone(),
            progress: progress.clone(),
        };
        self(input, context)
    }
}

fn outcome<O: Serialize>(result: Result<O, ToolError>) -> Outcome {
    match result.map(|value| Output::of(&value)) {
        Ok(Ok(output)) => Outcome::Returned(output),
        Ok(Err(error)) => Outcome::Failed(error.into()),
        Err(error) => Outcome::Failed(error),
    }
}

/// True for the schema of `()`.
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
