//! All that an implementation of [`Source`] names: the trait, what it lists, what it is called with, and what it
//! answers. `examples/own_source.rs` is a whole one.
//!
//! Reach for it when the tools are known only at run time, such as the rows of a table or the routes of another
//! server. Functions that are known when the program is compiled are a [`Toolkit`](crate::Toolkit).

pub use toolmux_core::BoxFuture;
pub use toolmux_core::arguments::Arguments;
pub use toolmux_core::call::{Call, Caller};
pub use toolmux_core::catalog::Entry;
pub use toolmux_core::json_text::RawJson;
pub use toolmux_core::message::Message;
pub use toolmux_core::outcome::{Content, Outcome, Output, ToolError};
pub use toolmux_core::ports::source::{FailureScope, Listing, Relay, Relayed, Source, SourceError};
pub use toolmux_core::progress::Progress;
pub use toolmux_core::refusal::{Challenge, ParameterError, Refusal};
pub use toolmux_core::requirements::{Authorization, Grants, Requirements};
pub use toolmux_core::schema::Schema;
pub use toolmux_core::tool::{Hints, Passthrough, Returns, TaskSupport, Tool};
pub use toolmux_core::version::Version;
