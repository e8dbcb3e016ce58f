//! A named group of Rust functions as one source.

use std::collections::HashMap;
use std::sync::Arc;

use toolmux_core::BoxFuture;
use toolmux_core::call::Call;
use toolmux_core::message::Message;
use toolmux_core::outcome::Outcome;
use toolmux_core::ports::source::{FailureScope, Listing, Source, SourceError};
use toolmux_core::progress::Progress;
use toolmux_core::tool::Tool;
use toolmux_core::version::Version;

use crate::rust_tool::{Run, RustTool};

/// A named group of Rust functions, served as tools.
///
/// ```
/// use schemars::JsonSchema;
/// use serde::Deserialize;
/// use toolmux::{ToolError, Toolkit, tool};
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
/// let calculator = Toolkit::new("Calculator").tool(tool("divide", "Divides two numbers", divide).read_only());
/// assert_eq!(calculator.len(), 1);
/// ```
#[derive(Default)]
pub struct Toolkit {
    name: String,
    tools: Vec<Tool>,
    runs: HashMap<(Arc<str>, Version), Run>,
}

impl Toolkit {
    /// An empty toolkit. The name is part of the names of its tools.
    pub fn new(name: impl Into<String>) -> Self {
        Toolkit { name: name.into(), ..Toolkit::default() }
    }

    /// Adds a function, which [`tool()`](crate::tool()) made a tool.
    pub fn tool(mut self, RustTool { tool, run }: RustTool) -> Self {
        self.runs.insert((Arc::clone(&tool.name), tool.version), run);
        self.tools.push(tool);
        self
    }

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
                let gone = SourceError::NotReached(Message::public("The tool no longer exists"));
                Box::pin(std::future::ready(Err(gone)))
            }
        }
    }

    fn failure_scope(&self) -> FailureScope {
        FailureScope::Tool
    }
}
