//! The child-process side of C libraries: plans, the pipe protocol, the call engine and the worker. And the launcher,
//! which starts programs in a sandbox.
//! The only crate of the workspace with `unsafe`. Reads no documents and no JSON values: the OpenDyn
//! source checks and encodes, this crate only sees binary values.

mod call;
pub mod callback;
pub mod denial;
mod environment;
mod error_chain;
pub mod fault;
pub mod frame;
#[cfg(any(test, fuzzing))]
pub mod fuzz_targets;
pub mod hello;
pub mod launcher;
pub mod limits;
mod load;
pub mod plan;
mod sandbox;
pub mod scalar;
pub mod structure;
pub mod value;
pub mod worker;

pub use call::Library;
pub use environment::remove_variables;
pub use error_chain::error_chain;
pub use load::{LibraryError, loadable_names};
