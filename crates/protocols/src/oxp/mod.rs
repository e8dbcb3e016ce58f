//! OXP 1.0, the Open eXecution Protocol: health, tools, calls, in both published body forms.

mod client;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzz_targets;
mod list;
mod serve;
mod source;
mod upstream;
mod version;
mod wire;

pub use self::client::{OxpClient, OxpError, Patience, Waited};
pub(crate) use self::serve::SERVED;
pub(crate) use self::source::SOURCE;
pub use self::upstream::{Answered, OxpTool, ToolCall, ToolList};
