//! Runs a workflow: every function is looked for before the first call, then step by step, each with its time.

use std::time::Duration;

use serde_json::{Map, Value, json};
use toolmux_core::arguments::Arguments;
use toolmux_core::call::{Call, Request};
use toolmux_core::json_text::raw_of;
use toolmux_core::message::Message;
use toolmux_core::names::ToolRef;
use toolmux_core::outcome::{Outcome, Output, ToolError};
use toolmux_core::ports::source::SourceError;
use toolmux_core::progress::{Progress, Update};
use toolmux_core::refusal::Refusal;

use super::document::{Step, Workflow};
use super::reference::Values;
use super::shape::misfit;

/// A function that workflows have of their own: it waits, and gives nothing.
pub(super) const SLEEP: &str = "sleep";

/// A workflow with its settings.
pub(super) struct Runner {
    pub(super) workflow: Workflow,
    pub(super) step_timeout: Duration,
}

impl Runner {
    /// Runs the workflow for whoever called it. Dropping the future cancels the step that is running.
    pub(super) async fn run(&self, call: &Call, progress: &Progress) -> Result<Outcome, SourceError> {
        self.functions_exist(call).await?;
        let (mut values, mut last) = (Values::default(), Output::value(raw_of(&Value::Null)));
        for (done, step) in self.workflow.steps.iter().enumerate() {
            progress.send(self.update(done, step)).await;
            let given = if done == 0 { call.arguments().map().clone() } else { Map::new() };
            match self.step(step, given, &mut values, call).await {
                Ok(output) => last = output,
                Err(Stopped::Refused(refusal)) if done == 0 => return Err(SourceError::Refused(refusal)),
                Err(stopped) => return Ok(Outcome::Failed(stopped.told(&self.workflow.steps[..done], step))),
            }
        }
        Ok(Outcome::Returned(last))
    }

    async fn functions_exist(&self, call: &Call) -> Result<(), SourceError> {
        for step in self.workflow.steps.iter().filter(|step| step.function != SLEEP) {
            call.wait_for_tool(&ToolRef::either(&step.function)).await;
        }
        let missing: Vec<String> = self
            .workflow
            .steps
            .iter()
            .filter(|step| step.function != SLEEP && !exists(call, &step.function))
            .map(|step| format!("`{}` of step `{}`", step.function, step.name))
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        let words = format!("The workflow needs functions that do not exist: {}", missing.join(", "));
        let message = Message::public(words);
        Err(SourceError::Refused(Refusal::Unavailable { message, retry_after: None }))
    }

    fn update(&self, done: usize, step: &Step) -> Update {
        let count = |number: usize| u32::try_from(number).map_or(f64::MAX, f64::from);
        let words = step.description.as_deref().unwrap_or(&step.function);
        Update::Progress {
            done: count(done),
            total: Some(count(self.workflow.steps.len())),
            message: Some(format!("{}: {words}", step.name)),
        }
    }

    async fn step(
        &self,
        step: &Step,
        given: Map<String, Value>,
        values: &mut Values,
        call: &Call,
    ) -> Result<Output, Stopped> {
        let mut arguments = values.fill_map(&step.arguments).map_err(Stopped::Misfit)?;
        arguments.extend(given);
        let output = if step.function == SLEEP && !exists(call, SLEEP) {
            self.sleep(&arguments).await?
        } else {
            self.call(step, arguments.clone(), call).await?
        };
        let results = results(&output);
        if let Some(what) = misfit(&step.results, &results) {
            return Err(Stopped::Misfit(format!("its result does not fit `results`: {what}")));
        }
        values.keep(&step.name, arguments, results);
        Ok(output)
    }

    async fn call(&self, step: &Step, arguments: Map<String, Value>, call: &Call) -> Result<Output, Stopped> {
        let request = Request {
            grants: call.grants().clone(),
            trace: call.trace().map(Box::from),
            patience: Some(self.step_timeout),
            ..Request::new(ToolRef::either(&step.function), Arguments::from_map(arguments))
        };
        match call.nested(request, &Progress::unheard()).await {
            Ok(Outcome::Returned(output)) => Ok(output),
            Ok(Outcome::Failed(error)) => Err(Stopped::Failed(Box::new(error))),
            Err(refusal) => Err(Stopped::Refused(refusal)),
        }
    }

    async fn sleep(&self, arguments: &Map<String, Value>) -> Result<Output, Stopped> {
        let wanted = arguments.get("milliseconds").and_then(Value::as_u64).map(Duration::from_millis);
        let wanted =
            wanted.ok_or_else(|| Stopped::Misfit("`milliseconds` must be a whole number".to_owned()))?;
        if wanted > self.step_timeout {
            let words = format!("it may not take longer than {:?}", self.step_timeout);
            return Err(Stopped::Misfit(words));
        }
        tokio::time::sleep(wanted).await;
        Ok(Output::value(raw_of(&json!({}))))
    }
}

fn exists(call: &Call, function: &str) -> bool {
    let catalog = call.catalog();
    catalog.find(&ToolRef::either(function)).is_some_and(|place| catalog.permits(call.caller(), place))
}

/// Results are an object; a value of another kind is its member `result`.
fn results(output: &Output) -> Value {
    match serde_json::from_str(output.value.get()) {
        Ok(Value::Object(members)) => Value::Object(members),
        Ok(Value::Null) | Err(_) => json!({}),
        Ok(other) => json!({ "result": other }),
    }
}

/// Why a workflow did not go on.
enum Stopped {
    /// The gateway did not let the step through.
    Refused(Refusal),
    /// The step's function ran and failed.
    Failed(Box<ToolError>),
    /// What the step needs or gives is not as the workflow says.
    Misfit(String),
}

impl Stopped {
    /// As the failure of the whole, which says what has run already.
    fn told(self, ran: &[Step], step: &Step) -> ToolError {
        let (message, prompt) = match self {
            Stopped::Refused(refusal) => (refusal.message(), None),
            Stopped::Failed(error) => (error.message, error.prompt),
            Stopped::Misfit(what) => (Message::public(what), None),
        };
        let names: Vec<&str> = ran.iter().map(|step| step.name.as_str()).collect();
        let ran =
            if names.is_empty() { String::new() } else { format!("; ran before: {}", names.join(", ")) };
        let public = format!("Step `{}` (`{}`) failed: {}{ran}", step.name, step.function, message.public);
        ToolError { prompt, ..ToolError::from(Message { public, developer: message.developer }) }
    }
}
