//! An error and its causes in one line, for pipes and messages that carry a line and not a chain.

use std::error::Error;

/// The message and all its causes, with colons between.
pub fn error_chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
