//! What came of a task, as its last document tells it.

use std::time::Duration;

use toolmux_core::json_text::{RawJson, raw_of};
use toolmux_core::outcome::{Outcome, Output, Retry, ToolError};
use toolmux_core::task::TaskStatus;

use super::wire::{TaskDocument, TaskError};

impl TaskDocument {
    /// True when nothing more happens to the task.
    pub fn has_ended(&self) -> bool {
        use TaskStatus::{Cancelled, Completed, Failed};
        matches!(TaskStatus::read(&self.status), Some(Completed | Cancelled | Failed))
    }

    /// What came of the task, when it has ended.
    pub fn outcome(self) -> Option<Outcome> {
        // Its code spells one of them `pendding`: whatever is not an end is not one.
        match TaskStatus::read(&self.status)? {
            TaskStatus::Pending | TaskStatus::Running => None,
            TaskStatus::Completed => Some(Outcome::Returned(output(self))),
            TaskStatus::Cancelled => Some(Outcome::Failed(ToolError::new("The task was cancelled"))),
            TaskStatus::Failed => Some(Outcome::Failed(match self.error_details.or(self.error) {
                Some(error) => tool_error(error),
                None => ToolError::new("The task failed"),
            })),
        }
    }
}

fn output(document: TaskDocument) -> Output {
    let content = document.result.unwrap_or_default();
    match (document.value, content.as_slice()) {
        (Some(value), _) => {
            let plain = Output::value(value);
            let same =
                plain.blocks().iter().map(|b| b.json().get()).eq(content.iter().map(|b| b.json().get()));
            if same { plain } else { Output { content, ..plain } }
        }
        (None, [only]) => {
            let value = only.as_text().map_or_else(|| only.json().to_owned(), |text| read(&text));
            Output { content, ..Output::value(value) }
        }
        (None, _) => {
            let value = serde_json::to_value(&content).unwrap_or_default();
            Output { content, ..Output::value(raw_of(&value)) }
        }
    }
}

/// A tool that writes JSON into its text meant the value.
fn read(text: &str) -> RawJson {
    serde_json::from_str(text).unwrap_or_else(|_| raw_of(&text.into()))
}

fn tool_error(error: TaskError) -> ToolError {
    let after = error.retry_after_ms.map(Duration::from_millis);
    let retry = if error.can_retry { Retry::allowed(after) } else { Retry::Never };
    ToolError { prompt: error.additional_prompt_content, ..ToolError::new(error.message).retry(retry) }
}
