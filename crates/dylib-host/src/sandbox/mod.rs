//! What the worker gives up: files and network through landlock before the library is loaded, system
//! calls through seccomp and resources through rlimits after it. Linux only.

mod call_numbers;
mod calls;
mod files;
mod resources;

pub(crate) use calls::restrict_calls;
pub(crate) use files::restrict_files;
pub(crate) use resources::{addresses, restrict_resources};
