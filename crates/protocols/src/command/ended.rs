//! What a command that has ended becomes: its value, or why it failed.

use std::process::ExitStatus;

use toolmux_core::json_text::{RawJson, to_raw};
use toolmux_core::outcome::{Outcome, Output, ToolError};
use toolmux_core::redact::redacted;

use super::settings::{CommandTool, Printed};
use crate::child::exit_status;

/// How many letters of what a command printed are told when it failed: the last ones say why.
const MOST_TOLD: usize = 4_000;

/// A command that has ended.
pub(super) struct Ended {
    pub(super) status: ExitStatus,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
}

/// What came of a command.
pub(super) fn outcome(program: &str, tool: &CommandTool, ended: &Ended) -> Outcome {
    if !tool.is_success(ended.status) {
        return Outcome::Failed(ToolError::new(failure(program, ended)));
    }
    let text = String::from_utf8_lossy(&ended.stdout);
    match tool.output {
        Printed::Text => {
            Outcome::Returned(Output::value(to_raw(text.trim_end()).expect("a text is writable")))
        }
        Printed::Json => match serde_json::from_str::<RawJson>(text.trim()) {
            Ok(value) => Outcome::Returned(Output::value(value)),
            Err(error) => Outcome::Failed(ToolError::new(format!("`{program}` did not print JSON: {error}"))),
        },
    }
}

/// The words for output that is not UTF-8, which is shown with U+FFFD for what cannot be read.
pub(super) fn not_utf8(program: &str, stdout: &[u8]) -> Option<String> {
    let error = std::str::from_utf8(stdout).err()?;
    Some(format!(
        "the output of `{program}` is not UTF-8 from byte {} on; what cannot be read is replaced by U+FFFD",
        error.valid_up_to()
    ))
}

/// How it ended, and the end of what it printed: on its standard error, or on its output when there is nothing.
fn failure(program: &str, ended: &Ended) -> String {
    let how = exit_status::sentence(ended.status);
    let printed = if ended.stderr.trim_ascii().is_empty() { &ended.stdout } else { &ended.stderr };
    let printed = String::from_utf8_lossy(printed.trim_ascii());
    let printed = redacted(&printed);
    let tail = printed.char_indices().rev().nth(MOST_TOLD - 1).map_or(0, |(start, _)| start);
    match (&printed[tail..], tail) {
        ("", _) => format!("`{program}` {how} and printed nothing"),
        (text, 0) => format!("`{program}` {how}: {text}"),
        (text, _) => format!("`{program}` {how}: …{text}"),
    }
}
