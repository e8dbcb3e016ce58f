//! The model bridge: the catalogue as each model vendor wants its tools, and a model's answer as calls.

mod adapt;
mod anthropic;
mod bridge;
mod client;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzz_targets;
mod gemini;
mod openai;
mod plain;
mod responses;
mod serve;
mod shown;
mod stream;

pub use self::bridge::{CallForm, NotAnAnswer, ToolResult, ToolUse, Turn, Vendor, run, tools, vendor};
pub use self::client::{ModelClient, ModelError};
pub(crate) use self::serve::SERVED;

/// The vendors, by the word in addresses and on the command line.
pub const VENDORS: &[Vendor] =
    &[anthropic::ANTHROPIC, openai::OPENAI, responses::RESPONSES, gemini::GEMINI, plain::PLAIN];
