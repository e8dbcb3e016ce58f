//! The specification's `Tool` interface (`call` and `load`), and what makes any implementation a source.

use serde_json::{Map, Value};
use toolmux_core::BoxFuture;
use toolmux_core::call::Call;
use toolmux_core::message::Message;
use toolmux_core::outcome::{Outcome, Output, ToolError};
use toolmux_core::ports::source::{Listing, Source, SourceError};
use toolmux_core::progress::Progress;
use toolmux_core::refusal::{ParameterError, Refusal};

use super::document::OpenTool;

/// Something with functions, as the OpenTool specification has it.
///
/// ```
/// use serde_json::{Map, Value};
/// use toolmux_protocols::opentool::{OpenTool, OpenToolInterface, ToolException};
///
/// struct Clock;
///
/// impl OpenToolInterface for Clock {
///     async fn call(&self, name: &str, _: Option<Map<String, Value>>) -> Result<Map<String, Value>, ToolException> {
///         match name {
///             "now" => Ok([("now".to_owned(), Value::from("12:00"))].into_iter().collect()),
///             other => Err(ToolException::FunctionNotSupported(other.to_owned())),
///         }
///     }
///
///     async fn load(&self) -> Option<OpenTool> {
///         OpenTool::from_json(r#"{"opentool": "1.1.0", "info": {"title": "Clock", "version": "1.0.0"},
///             "functions": [{"name": "now", "description": "Tells the time", "parameters": []}]}"#).ok()
///     }
/// }
/// ```
pub trait OpenToolInterface: Send + Sync {
    /// Runs a function. Dropping the future cancels it.
    fn call(
        &self,
        name: &str,
        arguments: Option<Map<String, Value>>,
    ) -> impl Future<Output = Result<Map<String, Value>, ToolException>> + Send;

    /// Describes the functions. Only functions that are described can be called.
    fn load(&self) -> impl Future<Output = Option<OpenTool>> + Send;
}

/// Why a function gave nothing: the specification's exceptions of the tool's side.
#[derive(Debug)]
pub enum ToolException {
    /// There is no such function.
    FunctionNotSupported(String),
    /// The arguments make no sense to it.
    InvalidArguments(String),
    /// It broke, and calling again is of no use.
    ToolBreak(String),
    /// It could not do what was asked.
    Failed(ToolError),
}

impl From<ToolError> for ToolException {
    fn from(error: ToolError) -> Self {
        ToolException::Failed(error)
    }
}

/// Any implementation of [`OpenToolInterface`] as a source.
#[derive(Debug)]
pub struct ToolSource<T>(pub T);

impl<T: OpenToolInterface> Source for ToolSource<T> {
    fn tools(&self) -> BoxFuture<'_, Result<Listing, SourceError>> {
        Box::pin(async move {
            match self.0.load().await {
                Some(document) => Ok(document.tools().into()),
                None => {
                    Err(SourceError::NotReached(Message::public("The tool does not describe its functions")))
                }
            }
        })
    }

    fn call<'a>(&'a self, call: &'a Call, _: &'a Progress) -> BoxFuture<'a, Result<Outcome, SourceError>> {
        Box::pin(async move {
            let arguments = Some(call.arguments().map().clone());
            match self.0.call(call.tool_name(), arguments).await {
                Ok(result) => Ok(Output::of(&result).map_or_else(
                    |error| Outcome::Failed(ToolError::new(error.to_string())),
                    Outcome::Returned,
                )),
                Err(exception) => failed(exception, call),
            }
        })
    }
}

fn failed(exception: ToolException, call: &Call) -> Result<Outcome, SourceError> {
    match exception {
        ToolException::FunctionNotSupported(name) => Err(SourceError::Refused(Refusal::UnknownTool {
            tool: call.entry().flat.to_string(),
            nearest: None,
            developer: Some(format!("Function Not Supported: {name}")),
        })),
        ToolException::InvalidArguments(message) => Err(SourceError::Refused(Refusal::Invalid {
            parameters: vec![ParameterError {
                parameter: String::new(),
                message: format!("were refused: {message}"),
            }],
        })),
        ToolException::ToolBreak(message) => Ok(Outcome::Failed(ToolError::new(message))),
        ToolException::Failed(error) => Ok(Outcome::Failed(error)),
    }
}
